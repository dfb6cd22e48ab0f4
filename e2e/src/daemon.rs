//! Daemons: programs that outlive us, each found again by its pid file.
//!
//! Invariant: a pid file is believed only while the process it names runs the program it names, so a pid that was
//! given to something else is never touched.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};

use crate::{
    command,
    wait::{self, found_if},
};

/// How long a program may take to stop when asked.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program with a pid file and a log file in one folder.
#[derive(Clone, Debug)]
pub struct Daemon {
    folder: PathBuf,
    name: String,
}

impl Daemon {
    pub fn new(folder: &Path, name: &str) -> Daemon {
        Daemon { folder: folder.to_path_buf(), name: name.to_owned() }
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.join(format!("{}.pid", self.name))
    }

    pub fn log_file(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// The pid, if the process runs.
    pub fn pid(&self) -> Option<u32> {
        let text = fs::read_to_string(self.pid_file()).ok()?;
        let (pid, known_by) = text.trim().split_once(' ')?;
        let pid: u32 = pid.parse().ok()?;
        let cmdline = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let is_zombie = state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        let is_known = cmdline.split(|byte| *byte == 0).any(|word| word == known_by.as_bytes());
        (is_known && !is_zombie).then_some(pid)
    }

    /// Starts a program in a process group of its own; its output goes to the log file. `known_by` is one word of
    /// its command line, by which it is told from another process that got its pid.
    pub fn start(&self, command: &mut Command, known_by: &str) -> Result<()> {
        fs::create_dir_all(&self.folder).with_context(|| format!("making {}", self.folder.display()))?;
        let log = File::options().create(true).append(true).open(self.log_file())?;
        let child = command
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting `{}`", command::shown(command)))?;
        fs::write(self.pid_file(), format!("{} {known_by}\n", child.id()))?;
        reap(child);
        Ok(())
    }

    /// Asks it to stop, insists after a while, and forgets it. Nothing happens if it does not run.
    pub fn stop(&self) -> Result<()> {
        if let Some(pid) = self.pid() {
            signal("TERM", pid)?;
            let stopped = self.wait_gone(PATIENCE);
            if stopped.is_err() {
                signal("KILL", pid)?;
                self.wait_gone(PATIENCE)?;
            }
        }
        match fs::remove_file(self.pid_file()) {
            Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => Err(problem.into()),
            _ => Ok(()),
        }
    }

    /// Ends it as a power cut would. An error if it does not run.
    pub fn kill(&self) -> Result<()> {
        let pid = self.pid().with_context(|| format!("{} does not run", self.name))?;
        signal("KILL", pid)?;
        self.wait_gone(PATIENCE)
    }

    fn wait_gone(&self, limit: Duration) -> Result<()> {
        let what = format!("{} to be gone", self.name);
        wait::until(&what, limit, || Ok(found_if(self.pid().is_none(), "it runs")))
    }

    /// The end of its log, for a message.
    pub fn last_words(&self) -> String {
        let log = fs::read_to_string(self.log_file()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

/// Sends a signal to one process.
pub fn signal(name: &str, pid: u32) -> Result<()> {
    command::output(command::new("kill").args([format!("-{name}"), pid.to_string()])).map(drop)
}

/// Collects the exit of a child of ours in the background, so that it does not stay as a zombie while we run.
fn reap(mut child: std::process::Child) {
    std::thread::spawn(move || child.wait());
}

/// The process of a program inside a pod of this machine's clusters.
pub fn process_of_pod(uid: &str, program: &str) -> Option<u32> {
    if uid.is_empty() {
        return None;
    }
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let runs_it = |pid: &u32| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let cgroup = read("cgroup");
        let in_pod = cgroup.contains(uid) || cgroup.contains(&uid.replace('-', "_"));
        in_pod && read("cmdline").contains(program)
    };
    pids.into_iter().find(runs_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemon_is_found_again_and_stopped() {
        let folder = std::env::temp_dir().join(format!("squadron-daemon-{}", std::process::id()));
        let daemon = Daemon::new(&folder, "sleeper");
        daemon.start(command::new("sleep").arg("300"), "sleep").unwrap();
        wait::until("it to run", PATIENCE, || {
            Ok(found_if(Daemon::new(&folder, "sleeper").pid().is_some(), "not"))
        })
        .unwrap();
        daemon.stop().unwrap();
        assert_eq!(daemon.pid(), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn pid_of_another_program_is_not_believed() {
        let folder = std::env::temp_dir().join(format!("squadron-stale-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ghost.pid"), format!("{} no-such-program\n", std::process::id())).unwrap();
        let ghost = Daemon::new(&folder, "ghost");
        assert_eq!(ghost.pid(), None);
        ghost.stop().unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
