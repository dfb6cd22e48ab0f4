//! Ends processes: asks first, insists after a while.
//!
//! Invariant: when it returns, none of the processes lives. Fails when the kernel does not let one end (stuck in I/O);
//! running the command again repairs it.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::error::Result;
use crate::process::Process;
use crate::wait;

/// How long SIGKILL may take: a process in the kernel ends when its system call does.
const KILLED_WITHIN: Duration = Duration::from_secs(30);

/// Sends SIGTERM to all, waits `patience`, sends SIGKILL to the rest and waits for them.
pub fn end_all(processes: &[Process], patience: Duration) -> Result<()> {
    for process in processes {
        process.signal(Signal::SIGTERM);
    }
    // Being late is no error here: the rest is killed.
    let _patient = wait::until("ending", patience, "", || Ok(gone(processes)));
    kill_all(processes)
}

/// Sends SIGKILL to all and waits until they are gone.
pub fn kill_all(processes: &[Process]) -> Result<()> {
    for process in processes {
        process.signal(Signal::SIGKILL);
    }
    let pids: Vec<String> = processes.iter().filter(|p| p.lives()).map(|p| p.pid.to_string()).collect();
    let hint = format!("processes {} do not end; run the command again", pids.join(", "));
    wait::until("the end of all processes", KILLED_WITHIN, &hint, || Ok(gone(processes))).map(|_| ())
}

fn gone(processes: &[Process]) -> bool {
    !processes.iter().any(Process::lives)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    fn start(script: &str) -> (std::process::Child, Process) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let process = Process::look(i32::try_from(child.id()).unwrap()).unwrap();
        (child, process)
    }

    #[test]
    fn stubborn_process_is_killed() {
        let (mut child, process) = start("trap '' TERM; while :; do sleep 0.05; done");
        end_all(&[process], Duration::from_millis(200)).unwrap();
        assert!(!process.lives());
        child.wait().unwrap();
    }

    #[test]
    fn polite_process_is_not_waited_for_longer_than_needed() {
        let (mut child, process) = start("exec sleep 60");
        let start = std::time::Instant::now();
        end_all(&[process], Duration::from_secs(30)).unwrap();
        assert!(start.elapsed() < Duration::from_secs(20));
        child.wait().unwrap();
    }
}
