//! What is broken of MultiKueue in a round: the link of a worker, its controllers, or the manager.
//!
//! Invariant: what was broken is mended when it goes, however the round ends.

use std::{thread, time::Duration};

use anyhow::{Context, Result};
use squadron_e2e::{
    daemon::signal,
    rounds::{Draw, Fault, Trouble},
};

use super::link::Link;
use crate::{acceptance::operator, multikueue::MultiKueue};

/// Faults that have a meaning here: the manager takes the place of our control plane, Kueue and KubeRay's operator in the
/// lost cluster that of our agent.
pub const FAULTS: [Fault; 10] = [
    Fault::Cut,
    Fault::BlackHole,
    Fault::AgentDead,
    Fault::AgentKilled,
    Fault::ControlPlaneKilled,
    Fault::LeaderStopped,
    Fault::BriefCut,
    Fault::BriefBlackHole,
    Fault::AgentKill,
    Fault::ControlPlaneKill,
];

pub struct Broken<'a> {
    rival: &'a MultiKueue,
    cluster: &'a str,
    fault: Fault,
    is_cut: bool,
    is_dead: bool,
    /// The manager's process that stands still.
    stopped: Option<u32>,
}

impl<'a> Broken<'a> {
    pub fn begin(
        rival: &'a MultiKueue,
        cluster: &'a str,
        fault: Fault,
        draw: &mut Draw,
    ) -> Result<Broken<'a>> {
        let mut broken = Broken { rival, cluster, fault, is_cut: false, is_dead: false, stopped: None };
        match fault {
            Fault::Cut | Fault::BriefCut => broken.cut(Link::Refused)?,
            Fault::BlackHole | Fault::BriefBlackHole => broken.cut(Link::Swallowed)?,
            Fault::LeaderStopped => broken.stop_manager()?,
            _ if fault.loses() => broken.cut(if draw.coin() { Link::Refused } else { Link::Swallowed })?,
            _ => {}
        }
        Ok(broken)
    }

    fn cut(&mut self, link: Link) -> Result<()> {
        self.is_cut = true;
        link.apply(&self.rival.worker(self.cluster))
    }

    fn stop_manager(&mut self) -> Result<()> {
        let pid = self.rival.manager().daemon()?.pid().context("the manager does not run")?;
        self.stopped = Some(pid);
        signal("STOP", pid)
    }

    /// Kueue and KubeRay's operator of the cluster.
    fn kill_controllers(&mut self) -> Result<()> {
        self.is_dead = true;
        self.rival.worker(self.cluster).daemon()?.kill()?;
        operator::kuberay(self.cluster)?.kill()
    }

    fn start_controllers(&mut self) -> Result<()> {
        self.rival.worker(self.cluster).run()?;
        operator::start_kuberay(self.cluster)?;
        self.is_dead = false;
        Ok(())
    }
}

impl Trouble for Broken<'_> {
    fn go_on(&mut self, draw: &mut Draw, lease: Duration) -> Result<()> {
        let whole = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        if [Fault::AgentKilled, Fault::ControlPlaneKilled].contains(&self.fault) {
            thread::sleep(draw.millis(500, whole));
        }
        match self.fault {
            Fault::BriefCut | Fault::BriefBlackHole => thread::sleep(draw.millis(2_000, whole * 3 / 10)),
            Fault::AgentDead => self.kill_controllers()?,
            Fault::AgentKilled | Fault::AgentKill => {
                self.kill_controllers()?;
                self.start_controllers()?;
            }
            Fault::ControlPlaneKilled | Fault::ControlPlaneKill => {
                self.rival.manager().daemon()?.kill()?;
                self.rival.manager().run()?;
            }
            // No other manager takes over and no worker is lost, so this ends by itself.
            Fault::LeaderStopped => thread::sleep(lease * 2),
            _ => {}
        }
        Ok(())
    }

    fn mend(&mut self) -> Result<()> {
        if let Some(pid) = self.stopped.take() {
            signal("CONT", pid)?;
        }
        if self.is_dead {
            self.start_controllers()?;
        }
        if std::mem::take(&mut self.is_cut) {
            Link::Open.apply(&self.rival.worker(self.cluster))?;
        }
        Ok(())
    }
}

impl Drop for Broken<'_> {
    fn drop(&mut self) {
        if let Err(problem) = self.mend() {
            eprintln!("MultiKueue on {} could not be mended: {problem:#}", self.cluster);
        }
    }
}
