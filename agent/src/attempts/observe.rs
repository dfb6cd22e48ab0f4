//! Observe: the caches as the planner sees them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use squadron_core::id::AttemptId;
use squadron_ray::{caps, view::Object};

use crate::{
    logs::Logs,
    plan::{Desired, Memory, Observed, SeenJob},
    watch::{Cache, Kind, object},
};

pub fn observe(cache: &Cache, logs: &Logs, desired: Option<&Desired>, memory: &Memory) -> Observed {
    let jobs = cache.all(Kind::RayJob).iter().map(|job| seen(job, cache.attempt(job))).collect();
    let mut remains = BTreeSet::new();
    let mut capped = BTreeMap::<AttemptId, Vec<Object>>::new();
    for cluster in cache.all(Kind::RayCluster) {
        let Some(attempt) = cache.attempt_or_remains(&cluster) else { continue };
        remains.insert(attempt);
        let wanted = desired.and_then(|desired| desired.attempts.get(&attempt));
        if caps::is_capped(&cluster) || wanted.is_some_and(|wanted| !wanted.caps.is_empty()) {
            capped.entry(attempt).or_default().push(cluster);
        }
    }
    remains.extend(cache.all(Kind::Pod).iter().filter_map(|found| cache.attempt_or_remains(found)));
    let wanted = desired.into_iter().flat_map(|desired| desired.attempts.keys().copied());
    let known: BTreeSet<AttemptId> = wanted.chain(memory.attempts().map(|(attempt, _)| attempt)).collect();
    let unsettled = logs.unsettled();
    let log_ended = known.into_iter().filter(|attempt| !unsettled.contains(attempt)).collect();
    Observed { jobs, capped, remains, log_ended, ..Observed::default() }
}

fn seen(job: &Value, ours: Option<AttemptId>) -> ((String, String), SeenJob) {
    let seen = SeenJob {
        uid: object::uid(job).to_owned(),
        ours,
        deleting: object::is_deleting(job),
        ended: object::has_ended(job),
    };
    ((object::namespace(job).to_owned(), object::name(job).to_owned()), seen)
}
