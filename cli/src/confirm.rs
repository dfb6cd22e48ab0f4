//! Confirm: asks once before something that cannot be taken back.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::Failure;

/// Goes on when `yes` is set or the person answers y. Without a terminal it refuses and names `--yes`.
pub fn confirm(question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!("{question} needs a yes, and there is no terminal to ask at"))
            .next("add --yes to go ahead without being asked"));
    }
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::usage("cannot read the answer").because(error))?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(crate::exit::Exit::General, "nothing was changed: you did not say yes")),
    }
}
