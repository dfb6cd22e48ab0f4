//! Observe: the caches as the planner sees them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use squadron_core::id::{AttemptId, ClusterId};

use crate::{
    logs::Logs,
    plan::{CLUSTER_ANNOTATION, Desired, Memory, Observed, SeenJob},
    watch::{Cache, Kind, object},
};

pub fn observe(
    cache: &Cache,
    logs: &Logs,
    desired: Option<&Desired>,
    memory: &Memory,
    cluster: ClusterId,
) -> Observed {
    let cluster = cluster.to_string();
    let jobs: BTreeMap<_, _> = cache.shelf(Kind::RayJob).all().map(|job| seen(job, &cluster)).collect();
    let mut remains = BTreeSet::new();
    for kind in [Kind::RayCluster, Kind::Pod] {
        remains.extend(cache.shelf(kind).all().filter_map(|found| object::attempt(found)));
    }
    let wanted = desired.into_iter().flat_map(|desired| desired.attempts.iter().map(|attempt| attempt.id));
    let known: BTreeSet<AttemptId> = wanted.chain(memory.attempts().map(|(attempt, _)| attempt)).collect();
    let log_ended = known.into_iter().filter(|attempt| logs.is_settled(*attempt)).collect();
    Observed { jobs, remains, log_ended }
}

/// A RayJob is ours if it carries our labels and the annotation of this cluster; labels alone may be copied by anyone.
fn seen(job: &Value, cluster: &str) -> ((String, String), SeenJob) {
    let state = job["status"]["jobDeploymentStatus"].as_str().unwrap_or_default();
    let seen = SeenJob {
        uid: object::uid(job).to_owned(),
        ours: object::attempt(job).filter(|_| object::annotation(job, CLUSTER_ANNOTATION) == cluster),
        deleting: object::is_deleting(job),
        ended: matches!(state, "Complete" | "Failed" | "ValidationFailed"),
    };
    ((object::namespace(job).to_owned(), object::name(job).to_owned()), seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn copied_labels_do_not_make_a_job_ours() {
        let labels = json!({"squadron.dev/job-id": "0196f0a0-0000-7000-8000-000000000001", "squadron.dev/attempt": "1"});
        let job = |annotations: Value| json!({"metadata": {"name": "j", "namespace": "ml", "labels": labels, "annotations": annotations}});
        assert!(seen(&job(json!({CLUSTER_ANNOTATION: "c1"})), "c1").1.ours.is_some());
        assert!(seen(&job(json!({CLUSTER_ANNOTATION: "c2"})), "c1").1.ours.is_none());
        assert!(seen(&job(json!({})), "c1").1.ours.is_none());
    }
}
