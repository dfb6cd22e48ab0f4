//! One process as the kernel knows it: its pid together with its start time.
//!
//! Owns the reading of `/proc/PID/stat`. Invariant: two processes that had the same pid in one boot differ in their
//! start time. A zombie counts as gone, since process 1 may reap late.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process that was alive when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
}

impl Process {
    /// The process that has this pid now, unless it is a zombie.
    pub fn look(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        parse_stat(&stat).map(|started| Self { pid, started })
    }

    /// True while this very process lives.
    pub fn lives(&self) -> bool {
        Self::look(self.pid) == Some(*self)
    }

    /// Sends the signal if this very process still lives.
    pub fn signal(&self, signal: Signal) {
        if self.lives() {
            // It may end between the look and the signal; then there is nobody to tell.
            let _ended = kill(Pid::from_raw(self.pid), signal);
        }
    }

    /// The program's arguments, the program first.
    pub fn arguments(&self) -> Vec<String> {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }
}

/// All processes of the machine, without zombies.
pub fn all() -> Vec<Process> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Process::look).collect()
}

/// Memory that the process holds, in KiB.
pub fn resident_kib(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The start time in `/proc/PID/stat`, or nothing for a zombie. The name in it may hold spaces and parentheses.
fn parse_stat(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const REST: &str = "1 9 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 200";

    #[test]
    fn start_time_is_found_behind_a_hostile_name() {
        assert_eq!(parse_stat(&format!("9 (a) S 1) S {REST}")), Some(4711));
    }

    #[test]
    fn zombie_counts_as_gone() {
        assert_eq!(parse_stat(&format!("9 (a) Z {REST}")), None);
    }

    #[test]
    fn half_a_line_is_no_process() {
        assert_eq!(parse_stat("9 (a) S 1 2"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn this_process_lives_and_holds_memory() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(Process::look(pid).unwrap().lives());
        assert!(resident_kib(pid).unwrap() > 100);
        assert!(all().iter().any(|process| process.pid == pid));
    }

    #[test]
    fn same_pid_with_another_start_is_not_the_process() {
        let mut process = Process::look(i32::try_from(std::process::id()).unwrap()).unwrap();
        process.started += 1;
        assert!(!process.lives());
    }
}
