//! The stage's control plane: started when it does not run, replaced when it runs an older build.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

use super::Stage;
use crate::{
    command,
    program::Program,
    wait::{self, found_if},
};

/// How long a first start may take: it makes its certificates and its database.
const PATIENCE: Duration = Duration::from_secs(90);

impl Stage {
    /// Runs the newest build; returns when it answers.
    pub fn start_control_plane(&self) -> Result<()> {
        let stamp = Program::ControlPlane.stamp()?;
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
            .args(self.spec.flags);
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

    /// Stops it, and with it the Postgres it runs.
    pub fn stop_control_plane(&self) -> Result<()> {
        self.control_plane().stop()
    }
}
