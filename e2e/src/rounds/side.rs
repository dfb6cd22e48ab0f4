//! Sides of the rounds: who brings jobs to the two clusters, and what can be broken of it.
//!
//! Invariant: a side decides nothing about what counts. What ran when is read from containers and kubelets, the same way for
//! every side, so two sides can stand in one table.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use serde_json::Value;

use super::{draw::Draw, fault::Fault};
use crate::stage::Stage;

/// The side that is ours; records that name none are of it.
pub const OURS: &str = "squadron";

/// What a job of the fleet is to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: String,
    /// Whether it has to start elsewhere when its cluster is lost.
    pub is_fenced: bool,
    /// Whether it ends when it is asked to, and not only when it is killed.
    pub is_obedient: bool,
    /// The one cluster where it may run.
    pub pinned: Option<String>,
}

/// One way to get jobs to two clusters.
pub trait Side: Sync {
    /// Its word in records.
    fn name(&self) -> &'static str;

    /// The clusters where jobs run, and the folder that their containers write to.
    fn stage(&self) -> &Stage;

    /// What can go wrong with it.
    fn faults(&self) -> Vec<Fault>;

    /// Whether the fault has to move the jobs of the cluster.
    fn loses(&self, fault: Fault) -> bool {
        fault.loses()
    }

    /// How long a loss lasts at most when not all jobs that have to move do so.
    fn moves_within(&self) -> Duration;

    fn wanted(&self, fenced: u32) -> Vec<Wanted>;

    /// Ids of the jobs of rounds that have not ended, by name.
    fn known(&self) -> Result<BTreeMap<String, String>>;

    /// Submits a job whose head is the stand-in; its id.
    fn submit(&self, wanted: &Wanted) -> Result<String>;

    /// Ends jobs by id.
    fn cancel(&self, ids: &[&str]) -> Result<()>;

    /// Removes what the last round left, if a round that begins with it could not be compared with others.
    fn clear(&self) -> Result<()>;

    /// Waits until both clusters are heard.
    fn wait_heard(&self) -> Result<()>;

    /// What a fault needs before it begins.
    fn prepare(&self, fault: Fault, victim: &str) -> Result<()>;

    /// Begins the fault. What it breaks is mended when the trouble goes.
    fn begin<'a>(&'a self, cluster: &'a str, fault: Fault, draw: &mut Draw) -> Result<Box<dyn Trouble + 'a>>;

    /// Submits a job that is never run, to one cluster or to any; its id.
    fn probe(&self, manifest: Value, cluster: Option<&str>) -> Result<String>;

    /// Ends it.
    fn end_probe(&self, id: &str) -> Result<()>;
}

/// A fault that was inflicted on a cluster.
pub trait Trouble {
    /// What happens in the middle of it; `lease` is the time for which a cluster must be lost before its jobs may move.
    fn go_on(&mut self, draw: &mut Draw, lease: Duration) -> Result<()>;

    /// Mends what is broken. What was killed comes up by itself or is started.
    fn mend(&mut self) -> Result<()>;
}
