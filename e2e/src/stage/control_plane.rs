//! The stage's control plane: started when it does not run, replaced when it runs an older build or with other flags.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

use super::Stage;
use crate::{
    command,
    daemon::signal,
    program::Program,
    wait::{self, found_if},
};

/// How long a first start may take: it makes its certificates and its database.
const PATIENCE: Duration = Duration::from_secs(90);

impl Stage {
    /// Runs the newest build with the flags of this stage; returns when it answers.
    pub fn start_control_plane(&self) -> Result<()> {
        let stamp = format!("{} {}", Program::ControlPlane.stamp()?, self.spec.flags.join(" "));
        let stamp_file = self.spec.folder().join("control-plane.stamp");
        let runs_newest = fs::read_to_string(&stamp_file).is_ok_and(|running| running == stamp);
        if !runs_newest {
            self.control_plane().stop()?;
        }
        if self.control_plane().pid().is_none() {
            self.launch()?;
            fs::write(stamp_file, stamp)?;
        }
        self.wait_for_answer()
    }

    fn launch(&self) -> Result<()> {
        let mut serve = command::new(Program::ControlPlane.path());
        serve
            .arg("serve")
            .arg("--data")
            .arg(self.data())
            .args(["--listen", &format!("127.0.0.1:{}", self.spec.port)])
            .args(["--agent-listen", &format!("0.0.0.0:{}", self.spec.agent_port)])
            .args([
                "--agent-address",
                &format!("https://control-plane.squadron.internal:{}", self.spec.agent_port),
            ])
            .args(&self.spec.flags);
        self.control_plane().start(&mut serve, "serve")
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

    /// Stops it, and the Postgres that it ran, also when it was killed and could not do that itself.
    pub fn stop_control_plane(&self) -> Result<()> {
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
