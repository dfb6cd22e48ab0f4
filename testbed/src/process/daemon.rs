//! Starts a daemon inside a cluster's network namespace, detached, with a log and a pid file.
//!
//! Invariant: a daemon runs in its own session, so a Ctrl-C for the testbed does not reach it, and its pid file is
//! written right after it starts. If the testbed dies in between, `in_space` still finds the process.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::{AtPath, Error, Result};
use crate::files;
use crate::process::PidFile;

/// One daemon, ready to be started.
#[derive(Debug)]
pub struct Daemon {
    /// The component's name, such as `kubelet`.
    pub component: &'static str,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The network namespace to start it in.
    pub space: PathBuf,
    /// Where its output is appended.
    pub log: PathBuf,
    /// Where its pid is recorded.
    pub pid_file: PidFile,
}

impl Daemon {
    /// Starts it. `nsenter` keeps `/sys` as it is, where `ip netns exec` would hide the cgroups from the kubelet.
    pub fn start(&self) -> Result<()> {
        let log = self.open_log()?;
        let errors = log.try_clone().at("open the log", &self.log)?;
        let child = Command::new("setsid")
            .arg("nsenter")
            .arg(format!("--net={}", self.space.display()))
            .arg("--")
            .args(&self.words)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|source| self.not_started(source))?;
        let pid =
            i32::try_from(child.id()).map_err(|error| self.not_started(std::io::Error::other(error)))?;
        self.pid_file.record(pid)
    }

    fn open_log(&self) -> Result<File> {
        if let Some(folder) = self.log.parent() {
            files::folder(folder)?;
        }
        File::options().create(true).append(true).open(&self.log).at("open the log", &self.log)
    }

    fn not_started(&self, source: std::io::Error) -> Error {
        Error::Start { program: "setsid".into(), step: format!("start {}", self.component), source }
    }
}
