//! Fence: stops everything of fenced attempts from what the caches hold, many attempts at a time.
//!
//! Invariant: the RayJob of an attempt goes first, so that our own reconciler makes nothing anew; the submitter's Job leaves
//! its pods behind, because the garbage collector would give them a longer grace; the RayCluster goes after its pods for
//! the same reason. What is being deleted with a grace that is short enough is not asked for again. What fails is tried
//! again by the next pass.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::id::AttemptId;
use squadron_ray::plan::ObjectRef;

use crate::{
    controller::{Writer, reference},
    fencer::{Lanes, TOGETHER, by_groups},
    watch::{Cache, Kind, object},
};

/// The order in which the objects of an attempt go.
const ORDER: [Kind; 4] = [Kind::RayJob, Kind::BatchJob, Kind::Pod, Kind::RayCluster];

/// What is left of one attempt, by kind.
type Left = BTreeMap<Kind, Vec<ObjectRef>>;

/// Deletes everything of these attempts; their containers get `grace` milliseconds. Answers how many calls failed.
pub async fn fence(writer: &Writer, cache: &Cache, attempts: &BTreeSet<AttemptId>, grace: u64) -> usize {
    let left: Vec<Left> = left(cache, attempts, grace).into_values().collect();
    let groups: Vec<Vec<Left>> = left.chunks(TOGETHER).map(<[Left]>::to_vec).collect();
    let lanes = Lanes::default();
    by_groups(groups, |group| stop(writer, &lanes, group, grace)).await.into_iter().sum()
}

async fn stop(writer: &Writer, lanes: &Lanes, mut group: Vec<Left>, grace: u64) -> usize {
    let mut failed = 0;
    for kind in ORDER {
        let targets: Vec<ObjectRef> =
            group.iter_mut().filter_map(|left| left.remove(&kind)).flatten().collect();
        let answers = lanes.all(&targets, |target| writer.delete_within(target, kind, grace)).await;
        for error in answers.into_iter().filter_map(Result::err) {
            failed += 1;
            tracing::warn!(error = format!("{error:#}"), "a fenced attempt cannot be stopped yet");
        }
    }
    failed
}

fn left(cache: &Cache, attempts: &BTreeSet<AttemptId>, grace: u64) -> BTreeMap<AttemptId, Left> {
    let mut found = BTreeMap::<AttemptId, Left>::new();
    for kind in ORDER {
        for object in cache.all(kind) {
            if object::is_deleted_within(&object, grace) {
                continue;
            }
            let whose = cache.attempt_or_remains(&object).filter(|attempt| attempts.contains(attempt));
            if let Some(attempt) = whose {
                found.entry(attempt).or_default().entry(kind).or_default().push(reference(&object));
            }
        }
    }
    found
}
