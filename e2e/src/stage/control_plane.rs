//! The stage's control plane: started when it does not run, replaced when it runs an older build or with other flags.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result};

use super::Stage;
use crate::{
    command,
    daemon::{Daemon, signal},
    program::Program,
    wait::{self, found_if},
};

/// How long a first start may take: it makes its certificates and its database.
const PATIENCE: Duration = Duration::from_secs(90);

/// One of a stage's control planes.
pub(super) struct Replica {
    pub daemon: Daemon,
    pub data: PathBuf,
    /// For people.
    pub port: u16,
    pub agent_port: u16,
    /// None: it runs the Postgres in its data folder.
    pub database: Option<String>,
}

impl Stage {
    /// Runs the newest build with the flags of this stage; returns when it answers.
    pub fn start_control_plane(&self) -> Result<()> {
        self.start(&Replica {
            daemon: self.control_plane(),
            data: self.data(),
            port: self.spec.port,
            agent_port: self.spec.agent_port,
            database: None,
        })?;
        self.wait_for_answer()
    }

    /// Starts it unless the newest build runs with the same flags.
    pub(super) fn start(&self, replica: &Replica) -> Result<()> {
        let stamp = format!("{} {}", Program::ControlPlane.stamp()?, self.spec.flags.join(" "));
        let stamp_file = replica.daemon.log_file().with_extension("stamp");
        let runs_newest = fs::read_to_string(&stamp_file).is_ok_and(|running| running == stamp);
        if !runs_newest {
            replica.daemon.stop()?;
        }
        if replica.daemon.pid().is_none() {
            self.launch(replica)?;
            fs::write(stamp_file, stamp)?;
        }
        Ok(())
    }

    fn launch(&self, replica: &Replica) -> Result<()> {
        let mut serve = command::new(Program::ControlPlane.path());
        serve
            .arg("serve")
            .arg("--data")
            .arg(&replica.data)
            .args(["--listen", &format!("127.0.0.1:{}", replica.port)])
            .args(["--agent-listen", &format!("0.0.0.0:{}", replica.agent_port)])
            .args([
                "--agent-address",
                &format!("https://control-plane.squadron.internal:{}", replica.agent_port),
            ])
            .args(&self.spec.flags);
        if let Some(database) = &replica.database {
            serve.args(["--database-url", database]);
        }
        replica.daemon.start(&mut serve, "serve")
    }

    fn wait_for_answer(&self) -> Result<()> {
        let answer = wait::until("the control plane to answer", PATIENCE, || {
            let asked = self.squadron(&["cluster", "list"])?;
            Ok(found_if(asked.code == Some(0), asked.stderr))
        });
        answer.with_context(|| {
            let log = self.control_plane().log_file();
            format!("the last words in {}:\n{}", log.display(), self.control_plane().last_words())
        })
    }

    /// Stops it, the second one if there is one, and the Postgres that it ran, also when it was killed and could not do that
    /// itself.
    pub fn stop_control_plane(&self) -> Result<()> {
        self.second().stop()?;
        self.control_plane().stop()?;
        let Ok(pid) = self.postgres_pid() else { return Ok(()) };
        if !self.is_our_postgres(pid) {
            return Ok(());
        }
        signal("INT", pid)?;
        wait::until("Postgres to be gone", PATIENCE, || Ok(found_if(!self.is_our_postgres(pid), "it runs")))
    }

    /// Whether the process serves this stage's data, and is not another one that got the pid.
    fn is_our_postgres(&self, pid: u32) -> bool {
        let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let folder = self.data().join("postgres");
        command_line.split(|byte| *byte == 0).any(|word| word == folder.as_os_str().as_encoded_bytes())
    }
}
