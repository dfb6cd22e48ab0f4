//! Running other programs: every failure names the command that failed and ends with what it said.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// The top folder of the checkout.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// `program`, to be run at the top of the checkout with nothing to read.
pub fn new(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// How a program ended and what it said.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The command as people would type it.
    pub command: String,
    /// The exit code; absent when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// What it wrote to its standard output, if it ended with 0.
    pub fn ok(self) -> Result<String> {
        if self.code != Some(0) {
            let code = self.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            bail!("`{}` ended with {code}\n{}{}", self.command, tail(&self.stdout), tail(&self.stderr));
        }
        Ok(self.stdout)
    }
}

/// The last lines of an output, enough to see what went wrong.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].iter().map(|line| format!("  {line}\n")).collect()
}

/// As people would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs to the end, whatever the end is.
pub fn capture(command: &mut Command) -> Result<Ran> {
    let done = command.output().with_context(|| format!("starting `{}`", shown(command)))?;
    Ok(Ran {
        command: shown(command),
        code: done.status.code(),
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    })
}

/// Runs to the end and returns what it wrote to its standard output; any exit code but 0 is an error.
pub fn output(command: &mut Command) -> Result<String> {
    capture(command)?.ok()
}

/// Runs to the end with our own output; any exit code but 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end, passes each line of its standard output on and hands it to `see`.
pub fn watched(command: &mut Command, mut see: impl FnMut(&str)) -> Result<()> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("starting `{}`", shown(command)))?;
    let lines = child.stdout.take().context("its standard output is not ours")?;
    for line in BufReader::new(lines).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_names_the_command_and_what_it_said() {
        let refused = output(new("sh").args(["-c", "echo no such ray >&2; exit 3"])).unwrap_err().to_string();
        assert!(refused.contains("sh -c") && refused.contains("exit code 3"), "{refused}");
        assert!(refused.contains("no such ray"), "{refused}");
    }

    #[test]
    fn watched_lines_arrive_in_order() {
        let mut seen = Vec::new();
        watched(new("printf").arg("a\\nb\\n"), |line| seen.push(line.to_owned())).unwrap();
        assert_eq!(seen, ["a", "b"]);
    }
}
