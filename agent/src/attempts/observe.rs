//! Observe: the caches as the planner sees them.

use std::collections::BTreeSet;

use serde_json::Value;
use squadron_core::id::AttemptId;

use crate::{
    logs::Logs,
    plan::{Desired, Memory, Observed, SeenJob},
    watch::{Cache, Kind, object},
};

pub fn observe(cache: &Cache, logs: &Logs, desired: Option<&Desired>, memory: &Memory) -> Observed {
    let jobs = cache.all(Kind::RayJob).iter().map(|job| seen(job, cache.attempt(job))).collect();
    let mut remains = BTreeSet::new();
    for kind in [Kind::RayCluster, Kind::Pod] {
        remains.extend(cache.all(kind).iter().filter_map(|found| cache.attempt_or_remains(found)));
    }
    let wanted = desired.into_iter().flat_map(|desired| desired.attempts.keys().copied());
    let known: BTreeSet<AttemptId> = wanted.chain(memory.attempts().map(|(attempt, _)| attempt)).collect();
    let log_ended = known.into_iter().filter(|attempt| logs.is_settled(*attempt)).collect();
    Observed { jobs, remains, log_ended, ..Observed::default() }
}

fn seen(job: &Value, ours: Option<AttemptId>) -> ((String, String), SeenJob) {
    let state = job["status"]["jobDeploymentStatus"].as_str().unwrap_or_default();
    let seen = SeenJob {
        uid: object::uid(job).to_owned(),
        ours,
        deleting: object::is_deleting(job),
        ended: matches!(state, "Complete" | "Failed" | "ValidationFailed"),
    };
    ((object::namespace(job).to_owned(), object::name(job).to_owned()), seen)
}
