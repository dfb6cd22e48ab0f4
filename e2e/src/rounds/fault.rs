//! Faults: what goes wrong in a round. How, each side knows for itself.
//!
//! Invariant: the words are those of records, so a word is never given to another fault.

use std::str::FromStr;

use anyhow::{Result, bail};

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

/// Faults by name, separated by commas; `lost` and `brief` name all `possible` ones of a kind.
pub fn named(names: &str, possible: &[Fault]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let of_kind = |kind: &[Fault]| kind.iter().copied().filter(|fault| possible.contains(fault)).collect();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let more: Vec<Fault> = match name {
            "lost" => of_kind(&LOST),
            "brief" => of_kind(&BRIEF),
            one => vec![one.parse()?],
        };
        faults.extend(more);
    }
    if let Some(other) = faults.iter().find(|fault| !possible.contains(fault)) {
        bail!("{} cannot happen to this side; name some of {}", other.word(), shown(possible));
    }
    if faults.is_empty() {
        bail!("no fault is named; name some of {}", words());
    }
    Ok(faults)
}

fn shown(faults: &[Fault]) -> String {
    let words: Vec<&str> = faults.iter().map(|fault| fault.word()).collect();
    words.join(", ")
}

fn words() -> String {
    let all: Vec<Fault> = LOST.into_iter().chain(BRIEF).chain(CONTROL).collect();
    format!("lost, brief, {}", shown(&all))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn faults_are_named_one_by_one_or_by_kind() {
        let all: Vec<Fault> = LOST.into_iter().chain(BRIEF).collect();
        assert_eq!(named("cut, agent-kill", &all).unwrap(), [Fault::Cut, Fault::AgentKill]);
        assert_eq!(named("lost,brief", &all).unwrap().len(), 16);
        assert!(named("cutt", &all).unwrap_err().to_string().contains("black-hole"));
        assert!(named(" ", &all).is_err());
    }

    #[test]
    fn a_kind_names_what_can_happen_to_a_side_and_nothing_else_may_be_named() {
        let possible = [Fault::Cut, Fault::BriefCut];
        assert_eq!(named("lost", &possible).unwrap(), [Fault::Cut]);
        let refused = named("postgres-kill", &possible).unwrap_err().to_string();
        assert!(refused.contains("postgres-kill") && refused.contains("brief-cut"), "{refused}");
    }
}
