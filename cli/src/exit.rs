//! Exit codes: the contract that scripts and CI rely on.
//!
//! Invariant: a number never changes its meaning; `squadron --help` prints this table.

use squadron_api::error::Code;

/// How the process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Ok = 0,
    /// Anything that has no code of its own.
    General = 1,
    /// The command line, the manifest or the price sheet is wrong.
    Usage = 2,
    /// A named thing does not exist.
    NotFound = 3,
    /// No or no sufficient credentials.
    Denied = 4,
    /// The thing is in a state that forbids this.
    Conflict = 5,
    /// The server cannot be reached or did not answer in time.
    Unavailable = 6,
    /// `wait`, `submit --wait`: the job failed.
    JobFailed = 10,
    /// `wait`, `submit --wait`: the job was cancelled.
    JobCancelled = 11,
    /// Ctrl-C, as shells count it.
    Interrupted = 130,
}

impl Exit {
    /// What an HTTP status of 400 and above means for a script.
    pub fn of_status(status: u16) -> Exit {
        match status {
            400 | 413 | 422 => Exit::Usage,
            401 | 403 => Exit::Denied,
            404 => Exit::NotFound,
            409 | 412 => Exit::Conflict,
            408 | 429 | 502..=504 => Exit::Unavailable,
            _ => Exit::General,
        }
    }

    /// The server's error code says more than its status where a named thing is missing.
    pub fn of_problem(code: &str, status: u16) -> Exit {
        if code == Code::UnknownQueue.text() || code == Code::UnknownPriorityClass.text() {
            Exit::NotFound
        } else {
            Exit::of_status(status)
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_code_of_the_server_has_its_exit() {
        let exits: Vec<(&str, u8)> = Code::ALL
            .iter()
            .map(|code| (code.text(), Exit::of_problem(code.text(), code.status()) as u8))
            .collect();
        for (code, exit) in [
            ("SQD-1000", 2),
            ("SQD-1001", 4),
            ("SQD-1002", 4),
            ("SQD-1003", 3),
            ("SQD-1004", 5),
            ("SQD-1006", 6),
            ("SQD-1007", 1),
            ("SQD-1008", 6),
            ("SQD-1201", 2),
            ("SQD-1203", 3),
            ("SQD-1204", 5),
            ("SQD-1301", 2),
        ] {
            assert!(exits.contains(&(code, exit)), "{code} should exit {exit}: {exits:?}");
        }
    }
}
