//! Runs other programs to their end and turns what they say into a result.
//!
//! Invariant: a program that fails never passes silently; its own last words are in the error.
//! Fails with the step in the error; who called decides whether to repeat.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::error::{Error, Result};

/// How much of a failing program's output an error carries, in bytes.
const LAST_WORDS: usize = 2_000;

/// Runs the program and gives its standard output.
pub fn run(step: &str, command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|source| not_started(step, command, source))?;
    judge(step, command, &output)
}

/// Runs the program with `input` on its standard input.
pub fn feed(step: &str, command: &mut Command, input: &str) -> Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| not_started(step, command, source))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends early closes the pipe; its exit status tells the story.
        let _closed_early = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|source| not_started(step, command, source))?;
    judge(step, command, &output)
}

/// Runs the program with this process's own input and output.
pub fn pass_through(step: &str, command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|source| not_started(step, command, source))?;
    if status.success() {
        return Ok(());
    }
    let said = "see its words above".to_owned();
    Err(Error::Failed { program: name(command), step: step.to_owned(), status: status.to_string(), said })
}

/// True when the program starts and succeeds. For questions whose "no" is an ordinary answer.
pub fn holds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A command from its words.
pub fn command<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn judge(step: &str, command: &Command, output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said =
        String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    Err(Error::Failed {
        program: name(command),
        step: step.to_owned(),
        status: output.status.to_string(),
        said: last_words(said.trim()),
    })
}

fn last_words(said: &str) -> String {
    let mut from = said.len().saturating_sub(LAST_WORDS);
    while !said.is_char_boundary(from) {
        from += 1;
    }
    said[from..].to_owned()
}

fn not_started(step: &str, command: &Command, source: std::io::Error) -> Error {
    Error::Start { program: name(command), step: step.to_owned(), source }
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn failing_program_gives_its_own_words() {
        let error = run("try it", &mut command("sh", ["-c", "echo the disk is full >&2; exit 3"]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("try it") && error.contains("the disk is full") && error.contains("3"),
            "{error}"
        );
    }

    #[test]
    fn missing_program_names_the_install_step() {
        let error = run("try it", &mut command("no-such-program-here", [""; 0])).unwrap_err().to_string();
        assert!(error.contains("squadron-testbed install"), "{error}");
    }

    #[test]
    fn last_words_never_split_a_character() {
        let long = "é".repeat(LAST_WORDS);
        assert!(last_words(&long).len() <= LAST_WORDS);
    }

    #[test]
    fn input_reaches_the_program() {
        assert_eq!(feed("echo", &mut command("cat", [""; 0]), "hello").unwrap(), "hello");
    }
}
