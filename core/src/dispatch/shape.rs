//! Shapes: what makes waiting jobs of a queue equal to the dispatcher, which is all that it looks at but their age.
//!
//! Owns the question which jobs may be judged as one, and how many of them a pass has to see. Invariant: jobs of one shape
//! differ for [`super::plan`] in name, id and age alone, as those of one group of [`super::group`] do; a field that is added to
//! [`Waiting`] does not compile until somebody said here whether it counts.
//! [`Vacancy::most`] is never smaller than what a pass can place. Fails safe: a bound that is too generous costs reading, and
//! nothing else.

use serde::{Deserialize, Serialize};

use crate::{
    desired,
    dispatch::{Cluster, GangPart, Standing, Waiting, gang_total, room::Room, site::is_allowed},
    id::{ClusterId, JobId},
    preference::Preferences,
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
    #[serde(default)]
    pub preferences: Preferences,
    /// As in [`Waiting::program`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
}

impl Shape {
    /// The shape of a job.
    pub fn of(job: &Waiting) -> Shape {
        // What is not named in the shape is who it is and how old. How long it is expected to run follows from what is named.
        let Waiting {
            gang,
            pinned,
            preferences,
            priority,
            manifest,
            program,
            job: _,
            name: _,
            queue: _,
            submitted_at: _,
            expected_ms: _,
            behind: _,
        } = job;
        let (gang, preferences, program) = (gang.clone(), preferences.clone(), program.clone());
        Shape { priority: *priority, pinned: *pinned, manifest: *manifest, gang, preferences, program }
    }

    /// A job of this shape.
    pub fn waiting(&self, job: JobId, name: String, queue: String, submitted_at: Timestamp) -> Waiting {
        let Shape { priority, pinned, manifest, gang, preferences, program } = self.clone();
        Waiting {
            job,
            name,
            queue,
            submitted_at,
            gang,
            pinned,
            preferences,
            priority,
            program,
            expected_ms: None,
            manifest,
            behind: 0,
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
        let most = sites.map(|(_, free, set)| times(*free, asked).min(set.room_for(shape.manifest)));
        most.fold(0, u64::saturating_add)
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
pub(in crate::dispatch) mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::{Input, Plan, plan, policy_properties::any_fleet, tests::any_input};

    /// The fleet with so many jobs of each kind.
    pub(in crate::dispatch) fn copied(input: &Input, copies: u128) -> Input {
        let copy = |copy: u128| {
            input.waiting.iter().map(move |job| {
                let id = JobId(uuid::Uuid::from_u128(job.job.0.as_u128() + 1_000_000 * copy));
                Waiting { job: id, ..job.clone() }
            })
        };
        Input { waiting: (0..copies).flat_map(copy).collect(), ..input.clone() }
    }

    fn class(job: &Waiting) -> String {
        format!("{} {:?}", job.queue, Shape::of(job))
    }

    /// What a reader of classes hands over: of each class the oldest jobs, so many more than can start, and whether more follow.
    pub(in crate::dispatch) fn oldest(whole: &Input, extra: usize) -> Input {
        let vacancy = Vacancy::of(&whole.clusters);
        let mut classes: BTreeMap<String, Vec<Waiting>> = BTreeMap::new();
        for job in &whole.waiting {
            classes.entry(class(job)).or_default().push(job.clone());
        }
        let cut = |mut jobs: Vec<Waiting>| {
            jobs.sort_by_key(|job| (job.submitted_at, job.job));
            let most = usize::try_from(vacancy.most(&Shape::of(&jobs[0]))).unwrap() + extra;
            let behind = u32::try_from(jobs.len().saturating_sub(most)).unwrap();
            jobs.truncate(most);
            if let Some(last) = jobs.last_mut() {
                last.behind = behind;
            }
            jobs
        };
        Input { waiting: classes.into_values().flat_map(cut).collect(), ..whole.clone() }
    }

    /// The part decided the same, and tells every job of the whole what it waits for, by one that is equal to it.
    pub(in crate::dispatch) fn is_enough(
        whole: (&Input, &Plan),
        part: (&Input, &Plan),
    ) -> Result<(), TestCaseError> {
        let told = |(input, plan): (&Input, &Plan)| {
            let class_of = |id| input.waiting.iter().find(|job| job.job == id).map(class).unwrap();
            let shared = plan.blocked.iter().filter(|one| !one.is_alone());
            shared.map(|one| (class_of(one.job), one.blockers.to_vec(), one.borrows)).collect::<Vec<_>>()
        };
        prop_assert!(!part.1.cut);
        prop_assert_eq!((&whole.1.assign, &whole.1.making), (&part.1.assign, &part.1.making));
        let heard = told(part);
        for one in told(whole) {
            prop_assert!(heard.contains(&one), "{:?} of {:?}", one, heard);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn the_oldest_of_each_class_are_enough_for_the_whole_plan(
            input in prop_oneof![any_input(), any_fleet()], copies in 1_u128..6
        ) {
            let whole = copied(&input, copies);
            let part = oldest(&whole, 1);
            is_enough((&whole, &plan(&whole)), (&part, &plan(&part)))?;
        }

        #[test]
        fn a_class_that_was_not_read_far_enough_lets_nobody_pass(input in any_input()) {
            let mut whole = input;
            for job in &mut whole.waiting {
                job.behind = 1;
            }
            let plan = plan(&whole);
            if plan.cut {
                prop_assert!(plan.blocked.is_empty() && plan.making.is_empty());
                let mut all = whole.clone();
                all.waiting.iter_mut().for_each(|job| job.behind = 0);
                let undisturbed = super::super::plan(&all).assign;
                prop_assert_eq!(&plan.assign[..], &undisturbed[..plan.assign.len()], "the same order up to the cut");
            } else {
                prop_assert_eq!(plan.assign.len() + plan.blocked.len(), whole.waiting.len());
            }
        }
    }
}
