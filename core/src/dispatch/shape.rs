//! Shapes: what makes waiting jobs of a queue equal to the dispatcher, which is all that it looks at but their age.
//!
//! Owns the question which jobs may be judged as one, and how many of them a pass has to see. Invariant: jobs of one shape
//! differ for [`super::plan`] in name, id and age alone; a field that is added to [`Waiting`] does not compile until
//! somebody said here whether it counts. [`Vacancy::most`] is never smaller than what a pass can place. Fails safe: a bound that
//! is too generous costs reading, and nothing else.

use serde::{Deserialize, Serialize};

use crate::{
    desired,
    dispatch::{Cluster, GangPart, Standing, Waiting, gang_total, room::Room, site::is_allowed},
    id::{ClusterId, JobId},
    resources::Resources,
    time::Timestamp,
};

/// What makes waiting jobs of one queue equal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shape {
    pub priority: i32,
    pub pinned: Option<ClusterId>,
    /// Bytes, by [`desired::rounded`].
    pub manifest: u64,
    pub gang: Vec<GangPart>,
}

impl Shape {
    /// The shape of a job.
    pub fn of(job: &Waiting) -> Shape {
        let Waiting { gang, pinned, priority, manifest, .. } = job;
        // Everything else is who it is and how old.
        let Waiting { job: _, name: _, queue: _, submitted_at: _, overtaken: _, more: _, .. } = job;
        Shape { priority: *priority, pinned: *pinned, manifest: *manifest, gang: gang.clone() }
    }

    /// A job of this shape.
    pub fn waiting(&self, job: JobId, name: String, queue: String, submitted_at: Timestamp) -> Waiting {
        let Shape { priority, pinned, manifest, gang } = self.clone();
        Waiting {
            job,
            name,
            queue,
            submitted_at,
            gang,
            pinned,
            overtaken: 0,
            priority,
            manifest,
            more: false,
        }
    }
}

/// What clusters have left, as far as it bounds how many jobs can start.
#[derive(Clone, Debug)]
pub struct Vacancy(Vec<(ClusterId, Resources, desired::Size)>);

impl Vacancy {
    /// Of the clusters that are given jobs.
    pub fn of(clusters: &[Cluster]) -> Vacancy {
        let heard = clusters.iter().filter(|cluster| cluster.standing == Standing::Heard);
        Vacancy(heard.map(|cluster| (cluster.id, Room::free(cluster).total(), cluster.set)).collect())
    }

    /// How many jobs of the shape can start now, at most.
    pub fn most(&self, shape: &Shape) -> u64 {
        let asked = gang_total(&shape.gang);
        let sites = self.0.iter().filter(|(id, ..)| is_allowed(shape.pinned, *id));
        sites.map(|(_, free, set)| times(*free, asked).min(set.room_for(shape.manifest))).sum()
    }
}

/// How often `asked` is in `free`.
fn times(free: Resources, asked: Resources) -> u64 {
    let of = |free: i64, asked: i64| if asked <= 0 { i64::MAX } else { free.max(0) / asked };
    let most = of(free.cpu_milli, asked.cpu_milli)
        .min(of(free.memory_bytes, asked.memory_bytes))
        .min(of(free.gpus, asked.gpus));
    u64::try_from(most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::{plan, tests::any_input};

    /// What a reader of classes hands over: of each class the oldest jobs, one more than can start, and whether more follow.
    fn read(all: &[Waiting], vacancy: &Vacancy, extra: usize) -> Vec<Waiting> {
        let mut classes: BTreeMap<String, Vec<Waiting>> = BTreeMap::new();
        for job in all {
            let key = format!("{} {:?}", job.queue, Shape::of(job));
            classes.entry(key).or_default().push(job.clone());
        }
        let cut = |mut jobs: Vec<Waiting>| {
            jobs.sort_by_key(|job| (job.submitted_at, job.job));
            let most = usize::try_from(vacancy.most(&Shape::of(&jobs[0]))).unwrap() + extra;
            let more = jobs.len() > most;
            jobs.truncate(most);
            if let Some(last) = jobs.last_mut() {
                last.more = more;
            }
            jobs
        };
        classes.into_values().flat_map(cut).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn the_oldest_of_each_class_are_enough_for_the_whole_plan(input in any_input(), copies in 1_u128..6) {
            let mut whole = input;
            let originals = std::mem::take(&mut whole.waiting);
            for copy in 0..copies {
                whole.waiting.extend(originals.iter().map(|job| {
                    let job_id = JobId(uuid::Uuid::from_u128(job.job.0.as_u128() + 100 * copy));
                    Waiting { job: job_id, ..job.clone() }
                }));
            }
            let vacancy = Vacancy::of(&whole.clusters);
            let part = crate::dispatch::Input { waiting: read(&whole.waiting, &vacancy, 1), ..whole.clone() };
            let (all, some) = (plan(&whole), plan(&part));
            prop_assert!(!some.cut);
            prop_assert_eq!(&all.assign, &some.assign);
            for blocked in &some.blocked {
                let same = all.blocked.iter().find(|other| other.job == blocked.job).unwrap();
                prop_assert_eq!(&same.blockers, &blocked.blockers);
            }
        }

        #[test]
        fn a_class_that_was_not_read_far_enough_lets_nobody_pass(input in any_input()) {
            let mut whole = input;
            for job in &mut whole.waiting {
                job.more = true;
            }
            let plan = plan(&whole);
            if plan.cut {
                prop_assert!(plan.blocked.is_empty());
                let mut all = whole.clone();
                all.waiting.iter_mut().for_each(|job| job.more = false);
                let undisturbed = super::super::plan(&all).assign;
                prop_assert_eq!(&plan.assign[..], &undisturbed[..plan.assign.len()], "the same order up to the cut");
            } else {
                prop_assert_eq!(plan.assign.len() + plan.blocked.len(), whole.waiting.len());
            }
        }
    }
}
