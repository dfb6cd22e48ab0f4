//! Out: the two streams. Data goes to stdout, everything said to a person goes to stderr.
//!
//! Invariant: no colour and no prompt where nobody looks (not a terminal, `NO_COLOR`, `TERM=dumb`); a reader that goes
//! away ends the command in silence.

use std::io::{self, IsTerminal, Write};

use crate::failure::Failure;

/// What the two streams are connected to.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    /// Whether tables and sentences on stdout may carry colour.
    pub colour: bool,
    /// Whether stdout is a terminal.
    pub terminal: bool,
    /// Says nothing to the person; data still goes out.
    hushed: bool,
}

impl Out {
    pub fn detect() -> Self {
        let terminal = io::stdout().is_terminal();
        Out { colour: colour_wanted(terminal, |name| std::env::var(name).ok()), terminal, hushed: false }
    }

    /// Columns of the terminal that stdout is.
    pub fn width(self) -> Option<usize> {
        let size = terminal_size::terminal_size_of(io::stdout()).filter(|_| self.terminal);
        size.map(|(width, _)| usize::from(width.0))
    }

    /// Writes data to stdout.
    pub fn data(self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Writes raw bytes to stdout and flushes, so that a reader sees each chunk at once.
    pub fn bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(write_failure)
    }

    /// The same streams for work beside which somebody else speaks.
    pub fn hushed(self) -> Self {
        Out { hushed: true, ..self }
    }

    /// Says one line to the person. A closed stderr is no reason to stop.
    pub fn note(self, line: &str) {
        if self.hushed {
            return;
        }
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

fn write_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::closed_pipe(),
        _ => Failure::new(crate::exit::Exit::General, "cannot write to stdout").because(error),
    }
}

/// The usual switches, strongest first: `NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`, terminal or not.
fn colour_wanted(terminal: bool, env: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        false
    } else if env("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") {
        true
    } else {
        terminal && env("TERM").as_deref() != Some("dumb")
    }
}

#[cfg(test)]
mod tests {
    use super::colour_wanted;

    #[test]
    fn colour_follows_the_usual_switches() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        assert!(colour_wanted(true, with(&[("TERM", "xterm")])));
        assert!(!colour_wanted(false, with(&[("TERM", "xterm")])));
        assert!(!colour_wanted(true, with(&[("TERM", "dumb")])));
        assert!(colour_wanted(false, with(&[("CLICOLOR_FORCE", "1")])));
        assert!(!colour_wanted(true, with(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")])));
        assert!(colour_wanted(true, with(&[("NO_COLOR", "")])));
    }
}
