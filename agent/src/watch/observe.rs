//! Observe: from a watched object to what it says, by kind.

use serde_json::Value;
use squadron_core::fact::Fact;

use super::{Cache, Kind, object};
use crate::facts::{Observed, node_fact, pod_fact, ray_cluster_fact, ray_job_fact};

/// What an object says, if its kind has a fact and it concerns us.
pub fn observe(kind: Kind, raw: &Value, cache: &Cache) -> Option<Observed> {
    let whose = || cache.attempt(raw);
    let fact = match kind {
        Kind::Node => Fact::Node(node_fact(&typed(raw)?)),
        Kind::Pod => Fact::Pod(Box::new(pod_fact(&typed(raw)?, squadron_ray::pod_requests(raw), whose()))),
        Kind::RayCluster => Fact::RayCluster(ray_cluster_fact(raw, whose())),
        Kind::RayJob => Fact::RayJob(ray_job_fact(raw, whose())),
        Kind::Service | Kind::BatchJob | Kind::Event => return None,
    };
    let ours = kind != Kind::RayJob || fact.attempt().is_some();
    ours.then(|| Observed { uid: object::uid(raw).to_owned(), fact })
}

/// Why a RayCluster is gone, in a sentence.
pub fn gone_why(kind: Kind, raw: &Value, cache: &Cache) -> &'static str {
    if kind != Kind::RayCluster {
        return "";
    }
    let owner = super::owning_job(raw);
    let owner_stands = owner.is_some_and(|job| {
        let job = cache.get(Kind::RayJob, object::namespace(raw), job);
        job.is_some_and(|job| !object::is_deleting(&job))
    });
    if cache.take_deletion(object::uid(raw)) {
        "the agent removed the RayCluster as its RayJob asked"
    } else if owner.is_some() && !owner_stands {
        "the RayCluster went with its RayJob"
    } else {
        "someone other than Squadron deleted the RayCluster"
    }
}

fn typed<T: serde::de::DeserializeOwned>(raw: &Value) -> Option<T> {
    T::deserialize(raw)
        .inspect_err(|error| {
            tracing::warn!(name = object::name(raw), %error, "an object could not be read; it is skipped");
        })
        .ok()
}
