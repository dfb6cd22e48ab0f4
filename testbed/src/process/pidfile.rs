//! Pid files: one line `PID START BOOT` for every process that the testbed started.
//!
//! Invariant: a pid file names a process only as long as its start time and the machine's boot still agree; any other
//! content reads as "nothing runs". A stale or damaged file is repaired by the next start, which replaces it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;
use crate::process::Process;

/// The pid file of one component.
#[derive(Clone, Debug)]
pub struct PidFile(PathBuf);

impl PidFile {
    /// The file of this component in the folder of pid files.
    pub fn new(folder: &Path, component: &str) -> Self {
        Self(folder.join(format!("{component}.pid")))
    }

    /// All pid files of a folder with the names of their components.
    pub fn all(folder: &Path) -> Result<Vec<(String, Self)>> {
        let named = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.strip_suffix(".pid")?.to_owned();
            Some((name, Self(path)))
        };
        Ok(files::entries(folder)?.into_iter().filter_map(named).collect())
    }

    /// Records the process that has this pid now. A process that has already ended leaves no file.
    pub fn record(&self, pid: i32) -> Result<()> {
        match Process::look(pid) {
            Some(process) => files::replace(&self.0, render(process, &boot())),
            None => self.remove(),
        }
    }

    /// The recorded process, if it is this boot's and still lives.
    pub fn process(&self) -> Option<Process> {
        let text = fs::read_to_string(&self.0).ok()?;
        parse(&text, &boot()).filter(Process::lives)
    }

    /// Forgets the process.
    pub fn remove(&self) -> Result<()> {
        files::remove(&self.0)
    }
}

fn render(process: Process, boot: &str) -> String {
    format!("{} {} {boot}\n", process.pid, process.started)
}

fn parse(text: &str, boot: &str) -> Option<Process> {
    let mut words = text.split_whitespace();
    let process = Process { pid: words.next()?.parse().ok()?, started: words.next()?.parse().ok()? };
    let same_boot = words.next()? == boot && words.next().is_none();
    (same_boot && process.pid > 1).then_some(process)
}

/// Changes with every boot of the machine.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let process = Process { pid: 42, started: 4711 };
        assert_eq!(parse(&render(process, "b1"), "b1"), Some(process));
    }

    #[test]
    fn other_boot_and_damage_read_as_nothing() {
        for text in [
            "42 4711 b2\n",
            "42 4711",
            "42",
            "",
            "x 4711 b1",
            "42 -1 b1",
            "42 4711 b1 more",
            "-1 1 b1",
            "0 1 b1",
            "1 1 b1",
        ] {
            assert_eq!(parse(text, "b1"), None, "{text:?}");
        }
    }

    #[test]
    fn recycled_pid_is_not_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let file = PidFile::new(folder.path(), "x");
        let own = i32::try_from(std::process::id()).unwrap();
        file.record(own).unwrap();
        assert_eq!(file.process().unwrap().pid, own);
        let started = Process::look(own).unwrap().started;
        std::fs::write(folder.path().join("x.pid"), format!("{own} {} {}\n", started + 1, boot())).unwrap();
        assert_eq!(file.process(), None);
    }

    #[test]
    fn recording_a_process_that_is_gone_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = PidFile::new(folder.path(), "x");
        file.record(i32::MAX).unwrap();
        assert!(PidFile::all(folder.path()).unwrap().is_empty());
    }
}
