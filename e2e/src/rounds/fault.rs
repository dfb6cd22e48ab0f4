//! Faults: what goes wrong in a round, and how it is mended.
//!
//! Invariant: [`Trouble`] mends what it broke when it goes, however the round ends. What is killed is killed by process,
//! as a power cut would do it.

use std::{str::FromStr, thread, time::Duration};

use anyhow::{Result, bail};

use super::draw::Draw;
use crate::{daemon::signal, stage::Stage, testbed};

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The cluster is lost: its connections are refused.
    Cut,
    /// The cluster is lost: its packets are swallowed.
    BlackHole,
    /// The cluster is lost and its agent dead.
    AgentDead,
    /// The cluster is lost, and meanwhile its agent is killed and comes up again.
    AgentKilled,
    /// The cluster is lost, and meanwhile the control plane is killed and started.
    ControlPlaneKilled,
    /// The cluster is lost, and meanwhile Postgres is killed.
    PostgresKilled,
    /// The leading control plane, to which the cluster's agent is connected, stands still; the other one takes over, and
    /// the first goes on when the jobs run elsewhere.
    LeaderStopped,
    /// The cluster is lost, and an operator says that it is dead although it is not: two copies must be seen, or the counting
    /// is wrong.
    FalseWord,
    BriefCut,
    BriefBlackHole,
    /// The agent is asked to end, and comes up again.
    AgentRestart,
    AgentKill,
    /// Agent and fencer are replaced by another build.
    AgentUpgrade,
    ControlPlaneRestart,
    ControlPlaneKill,
    /// Postgres ends at once but in order, and is started again.
    PostgresRestart,
    PostgresKill,
}

/// Losses for longer than a lease: fenced jobs start elsewhere.
pub const LOST: [Fault; 7] = [
    Fault::Cut,
    Fault::BlackHole,
    Fault::AgentDead,
    Fault::AgentKilled,
    Fault::ControlPlaneKilled,
    Fault::PostgresKilled,
    Fault::LeaderStopped,
];
/// What must be caught: it is drawn only when it is named.
pub const CONTROL: [Fault; 1] = [Fault::FalseWord];
/// Troubles shorter than a lease: nothing may stop.
pub const BRIEF: [Fault; 9] = [
    Fault::BriefCut,
    Fault::BriefBlackHole,
    Fault::AgentRestart,
    Fault::AgentKill,
    Fault::AgentUpgrade,
    Fault::ControlPlaneRestart,
    Fault::ControlPlaneKill,
    Fault::PostgresRestart,
    Fault::PostgresKill,
];

impl Fault {
    pub fn word(self) -> &'static str {
        match self {
            Fault::Cut => "cut",
            Fault::BlackHole => "black-hole",
            Fault::AgentDead => "agent-dead",
            Fault::AgentKilled => "agent-killed",
            Fault::ControlPlaneKilled => "control-plane-killed",
            Fault::PostgresKilled => "postgres-killed",
            Fault::LeaderStopped => "leader-stopped",
            Fault::FalseWord => "false-word",
            Fault::BriefCut => "brief-cut",
            Fault::BriefBlackHole => "brief-black-hole",
            Fault::AgentRestart => "agent-restart",
            Fault::AgentKill => "agent-kill",
            Fault::AgentUpgrade => "agent-upgrade",
            Fault::ControlPlaneRestart => "control-plane-restart",
            Fault::ControlPlaneKill => "control-plane-kill",
            Fault::PostgresRestart => "postgres-restart",
            Fault::PostgresKill => "postgres-kill",
        }
    }

    /// Whether the cluster is lost for longer than its lease.
    pub fn loses(self) -> bool {
        LOST.contains(&self) || CONTROL.contains(&self)
    }

    /// Whether it has to make two copies run at once.
    pub fn is_control(self) -> bool {
        CONTROL.contains(&self)
    }

    /// Whether the control plane answers while the cluster is lost, so that dispatch to the other one can be measured.
    pub fn leaves_dispatch(self) -> bool {
        matches!(self, Fault::Cut | Fault::BlackHole | Fault::AgentDead | Fault::AgentKilled)
    }
}

/// Faults by name, separated by commas; `lost` and `brief` name all of a kind.
pub fn named(names: &str) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "lost" => faults.extend(LOST),
            "brief" => faults.extend(BRIEF),
            one => faults.push(one.parse()?),
        }
    }
    if faults.is_empty() {
        bail!("no fault is named; name some of {}", words());
    }
    Ok(faults)
}

fn words() -> String {
    let all: Vec<&str> = LOST.iter().chain(&BRIEF).chain(&CONTROL).map(|fault| fault.word()).collect();
    format!("lost, brief, {}", all.join(", "))
}

impl FromStr for Fault {
    type Err = anyhow::Error;
    fn from_str(word: &str) -> Result<Fault> {
        match LOST.iter().chain(&BRIEF).chain(&CONTROL).find(|fault| fault.word() == word) {
            Some(fault) => Ok(*fault),
            None => bail!("there is no fault {word:?}; there are {}", words()),
        }
    }
}

/// A fault that was inflicted on a cluster. Mended when it goes.
pub struct Trouble<'a> {
    stage: &'a Stage,
    cluster: &'a str,
    is_cut: bool,
    agent_is_off: bool,
    /// A process that stands still.
    stopped: Option<u32>,
}

impl<'a> Trouble<'a> {
    /// Begins the fault: the cluster is cut at once if it is to be lost, the rest follows in [`Trouble::go_on`].
    pub fn begin(stage: &'a Stage, cluster: &'a str, fault: Fault, draw: &mut Draw) -> Result<Trouble<'a>> {
        let mut trouble = Trouble { stage, cluster, is_cut: false, agent_is_off: false, stopped: None };
        match fault {
            Fault::Cut | Fault::BriefCut => trouble.cut(true)?,
            Fault::BlackHole | Fault::BriefBlackHole => trouble.cut(false)?,
            Fault::LeaderStopped => trouble.stop_leader()?,
            _ if fault.loses() => trouble.cut(draw.coin())?,
            _ => {}
        }
        Ok(trouble)
    }

    /// What happens in the middle of it; `lease` is the length of the lease.
    pub fn go_on(&mut self, fault: Fault, draw: &mut Draw, lease: Duration) -> Result<()> {
        let whole = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let stage = self.stage;
        if fault.loses() && ![Fault::AgentDead, Fault::LeaderStopped, Fault::FalseWord].contains(&fault) {
            thread::sleep(draw.millis(500, whole));
        }
        match fault {
            Fault::Cut | Fault::BlackHole | Fault::LeaderStopped => {}
            Fault::BriefCut | Fault::BriefBlackHole => thread::sleep(draw.millis(2_000, whole * 3 / 10)),
            Fault::AgentDead => self.kill_agent_for_good()?,
            Fault::FalseWord => {
                stage.wait_for_state(self.cluster, &["silent"])?;
                let word = ["cluster", "declare-dead", self.cluster, "--reason", "a lie", "--yes"];
                stage.squadron(&word)?.ok()?;
            }
            Fault::AgentKilled | Fault::AgentKill => stage.signal_agent(self.cluster, "KILL")?,
            Fault::AgentRestart => stage.signal_agent(self.cluster, "TERM")?,
            Fault::AgentUpgrade => stage.roll_agent(self.cluster)?,
            Fault::ControlPlaneKilled | Fault::ControlPlaneKill => self.restart_control_plane(draw, true)?,
            Fault::ControlPlaneRestart => self.restart_control_plane(draw, false)?,
            Fault::PostgresKilled | Fault::PostgresKill => signal("KILL", stage.postgres_pid()?)?,
            Fault::PostgresRestart => signal("INT", stage.postgres_pid()?)?,
        }
        Ok(())
    }

    fn cut(&mut self, refuse: bool) -> Result<()> {
        self.is_cut = true;
        let port = self.stage.control_plane_of(self.cluster).1;
        if refuse { testbed::refuse(self.cluster, port) } else { testbed::cut(self.cluster, port) }
    }

    /// Ends one of the two control planes and starts it again.
    fn restart_control_plane(&self, draw: &mut Draw, kill: bool) -> Result<()> {
        let (stage, first) = (self.stage, draw.coin());
        let one = if first { stage.control_plane() } else { stage.second() };
        let ended = if kill { one.kill() } else { one.stop() };
        ended?;
        if first { stage.start_control_plane() } else { stage.start_second() }
    }

    fn kill_agent_for_good(&mut self) -> Result<()> {
        self.agent_is_off = true;
        self.stage.signal_agent(self.cluster, "KILL")?;
        self.stage.scale_agent(self.cluster, 0)
    }

    /// It stands still like a machine that is suspended: connections stay open and nobody answers.
    fn stop_leader(&mut self) -> Result<()> {
        let Some(pid) = self.stage.control_plane_of(self.cluster).0.pid() else {
            bail!("the control plane of {} does not run", self.cluster)
        };
        self.stopped = Some(pid);
        signal("STOP", pid)
    }

    /// Mends what is broken. What was killed comes up by itself.
    pub fn mend(&mut self) -> Result<()> {
        if let Some(pid) = self.stopped.take() {
            signal("CONT", pid)?;
        }
        if std::mem::take(&mut self.agent_is_off) {
            self.stage.scale_agent(self.cluster, 1)?;
        }
        if std::mem::take(&mut self.is_cut) {
            testbed::heal(self.cluster)?;
        }
        Ok(())
    }
}

impl Drop for Trouble<'_> {
    fn drop(&mut self) {
        if let Err(problem) = self.mend() {
            eprintln!("{} could not be mended: {problem:#}", self.cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn faults_are_named_one_by_one_or_by_kind() {
        assert_eq!(named("cut, agent-kill").unwrap(), [Fault::Cut, Fault::AgentKill]);
        assert_eq!(named("lost,brief").unwrap().len(), 16);
        assert!(named("cutt").unwrap_err().to_string().contains("black-hole"));
        assert!(named(" ").is_err());
    }
}
