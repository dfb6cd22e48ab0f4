//! A second control plane on the database of the first, with the agents of every cluster but the first of the stage.
//!
//! Invariant: it shares the first one's authority, so an agent trusts both, and lives no longer than the first one's database.

use std::fs;

use anyhow::{Context, Result, bail};

use super::{NAMESPACE, Stage, control_plane::Replica};
use crate::daemon::Daemon;

impl Stage {
    /// Starts it in its newest build.
    pub fn start_second(&self) -> Result<()> {
        let data = self.spec.folder().join("second");
        let (from, to) = (self.data().join("tls"), data.join("tls"));
        fs::create_dir_all(&to).with_context(|| format!("making {}", to.display()))?;
        for file in ["ca.crt", "ca.key"] {
            fs::copy(from.join(file), to.join(file)).with_context(|| format!("copying {file}"))?;
        }
        let socket = self.data().join("socket");
        let database = format!("postgres:///squadron?host={}&user=postgres", socket.display());
        self.start(&Replica {
            daemon: self.second(),
            data,
            port: self.spec.port + 1,
            agent_port: self.spec.agent_port + 1,
            database: Some(database),
        })
    }

    /// Has the agents of all clusters but the first dial it.
    pub fn share_agents(&self) -> Result<()> {
        for cluster in self.spec.clusters.iter().skip(1) {
            self.point_agent(cluster)?;
        }
        Ok(())
    }

    pub fn second(&self) -> Daemon {
        Daemon::new(&self.spec.folder(), "second-control-plane")
    }

    /// The control plane that the agent of a cluster dials, once both run, and its port for agents.
    pub fn control_plane_of(&self, cluster: &str) -> (Daemon, u16) {
        let is_first = self.spec.clusters.first().is_some_and(|first| first == cluster);
        if is_first {
            (self.control_plane(), self.spec.agent_port)
        } else {
            (self.second(), self.spec.agent_port + 1)
        }
    }

    /// Has the agent dial the second one; nothing happens if it does.
    fn point_agent(&self, cluster: &str) -> Result<()> {
        let address = format!("https://control-plane.squadron.internal:{}", self.spec.agent_port + 1);
        let variable = format!("SQUADRON_CONTROL_PLANE={address}");
        let deployment = "deployment/squadron-agent";
        self.kubectl(cluster, &["-n", NAMESPACE, "set", "env", deployment, &variable])?;
        let status = ["-n", NAMESPACE, "rollout", "status", "--timeout=90s", deployment];
        self.kubectl(cluster, &status)?;
        self.wait_for_state(cluster, &["active"])
    }

    /// Lets the control plane of a cluster lead: the other one stands still for longer than its terms last.
    pub fn let_lead(&self, cluster: &str, pause: std::time::Duration) -> Result<()> {
        let leader = self.control_plane_of(cluster).0.pid();
        let both = [self.control_plane().pid(), self.second().pid()];
        let Some(other) = both.into_iter().flatten().find(|pid| Some(*pid) != leader) else {
            bail!("there are no two control planes")
        };
        crate::daemon::signal("STOP", other)?;
        std::thread::sleep(pause);
        crate::daemon::signal("CONT", other)
    }
}
