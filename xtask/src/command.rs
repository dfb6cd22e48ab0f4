//! Running other programs: each failure names the command that failed.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::repo;

/// `program`, to be run at the top of the checkout.
pub fn new(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(repo::root());
    command
}

/// As people would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs to the end with our own output; any exit code but 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns what it wrote to its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let done = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("starting `{}`", shown(command)))?;
    if !done.status.success() {
        bail!("`{}` ended with {}", shown(command), done.status);
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs to the end, passes each line of its standard output on and hands it to `see`.
pub fn watched(command: &mut Command, mut see: impl FnMut(&str)) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting `{}`", shown(command)))?;
    let lines = child.stdout.take().context("its standard output is not ours")?;
    let mut terminal = std::io::stdout();
    for line in BufReader::new(lines).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(terminal, "{line}")?;
        see(&line);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

/// Whether `program` can be found in PATH.
pub fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
