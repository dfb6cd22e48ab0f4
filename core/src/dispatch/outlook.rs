//! Outlook: what the dispatcher would do with a job now, told without doing it.
//!
//! Owns nothing: the answer is the plan of the whole snapshot, read for one job, so it can never differ from what a pass
//! would decide. For a job that would wait it adds which clusters have room for it and what every other one lacks. Fails
//! by being old: the next pass looks at a newer snapshot.

use std::{borrow::Cow, collections::BTreeSet};

use crate::{
    dispatch::{
        Blocked, Choice, Input, Waiting,
        choose::{Candidate, best},
        plan::plan_of_read,
        price::Prices,
        quota::Quotas,
        refused::refusal,
        site::open,
    },
    id::{ClusterId, JobId},
};

/// What would become of a waiting job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outlook {
    pub verdict: Verdict,
    pub choice: Choice,
    /// Jobs of its queue that go before it and could start were not read, so what they leave is not known.
    pub behind_unread: bool,
}

/// Placed or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Placed { cluster: ClusterId, because: String },
    Waits(Blocked),
}

/// The outlook of one of the snapshot's waiting jobs. `None` when it is not among them. What waits and is not part of the
/// snapshot changes nothing for this one, but where [`Outlook::behind_unread`] says so.
pub fn outlook(input: &Input, job: JobId) -> Option<Outlook> {
    let asked = input.waiting.iter().find(|waiting| waiting.job == job)?;
    let plan = plan_of_read(input);
    let placed: BTreeSet<JobId> = plan.assign.iter().map(|assign| assign.job).collect();
    let behind_unread = input.waiting.iter().any(|last| {
        let goes_before = last.queue == asked.queue && last.turn(input.now) < asked.turn(input.now);
        last.behind > 0 && goes_before && placed.contains(&last.job)
    });
    if let Some(assign) = plan.assign.into_iter().find(|assign| assign.job == job) {
        let verdict = Verdict::Placed { cluster: assign.cluster, because: assign.because };
        return Some(Outlook { verdict, choice: assign.choice, behind_unread });
    }
    let blocked = plan.blocked.into_iter().find(|blocked| blocked.job == job)?;
    Some(Outlook { verdict: Verdict::Waits(blocked), choice: as_it_stands(asked, input), behind_unread })
}

/// Clusters with room for the job and quota left, were it the next, and what the others lack.
fn as_it_stands(job: &Waiting, input: &Input) -> Choice {
    let quotas = Quotas::new(&input.policy, &input.clusters);
    let place = quotas.limited(&job.queue);
    let limits = quotas.limits(place);
    let prices = Prices { sheet: input.sheet.as_ref(), now: input.now };
    let (mut candidates, mut refused) = (Vec::new(), Vec::new());
    let sites = open(&input.clusters, &quotas.flavors);
    for site in sites.iter().filter(|site| site.is_accepted()) {
        let packed = site.pack(&site.free, job, &limits, prices).ok().filter(|_| site.takes(job));
        match packed {
            Some(packing) => {
                let borrows = place.is_some_and(|place| !quotas.is_guaranteed(place, &packing.charge));
                candidates.push(Candidate::new(site, job, Cow::Owned(packing), borrows));
            }
            None => refused.push(refusal(job, site, false, prices)),
        }
    }
    let all = candidates.len() + refused.len();
    let ranked = best(candidates, job).map_or_else(Vec::new, |best| best.ranked);
    Choice::new(ranked, refused, all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::{
        Standing, plan,
        tests::{any_input, cluster, gang, res, waiting},
    };

    fn names(choice: &Choice) -> (Vec<&str>, Vec<&str>) {
        let candidates = choice.candidates.iter().map(|one| one.cluster.as_str()).collect();
        (candidates, choice.refused.iter().map(|one| one.blocker.code.word()).collect())
    }

    #[test]
    fn a_job_that_fits_is_told_the_terms_that_decided() {
        let clusters = vec![cluster(1, "east", &[res(8, 16, 8)]), cluster(2, "west", &[res(8, 16, 0)])];
        let job = waiting(1, gang(res(1, 1, 0), 0, res(0, 0, 0)));
        let found =
            outlook(&Input { clusters, waiting: vec![job.clone()], ..Input::default() }, job.job).unwrap();
        assert_eq!(names(&found.choice), (vec!["west", "east"], vec![]));
        let decided = |at: usize| {
            let terms = &found.choice.candidates[at].terms;
            terms.iter().find(|term| term.decided).map(|term| (term.name.as_str(), term.value)).unwrap()
        };
        assert_eq!((decided(0), decided(1)), (("idle_gpus", 0), ("idle_gpus", 8)));
    }

    #[test]
    fn a_pinned_job_that_waits_sees_its_cluster_and_why_the_others_are_out() {
        let clusters = vec![cluster(1, "east", &[res(1, 1, 0)]), cluster(2, "west", &[res(8, 16, 0)])];
        let mut job = waiting(1, gang(res(2, 1, 0), 0, res(0, 0, 0)));
        job.pinned = Some(clusters[0].id);
        let found =
            outlook(&Input { clusters, waiting: vec![job.clone()], ..Input::default() }, job.job).unwrap();
        assert_eq!(names(&found.choice), (vec![], vec!["CLUSTER_FULL", "PINNED"]));
        assert!(matches!(found.verdict, Verdict::Waits(_)));
        assert_eq!(found.choice.refused[0].total, res(1, 1, 0));
    }

    /// Of the equal jobs 1 and 2 so many were read, and more wait; job 9 came last.
    fn behind(cores: i64, asks: i64) -> (bool, bool) {
        let clusters = vec![cluster(1, "east", &[res(cores, 64, 0)])];
        let mut jobs = [1, 2, 9].map(|number| waiting(number, gang(res(4, 1, 0), 0, res(0, 0, 0))));
        (jobs[1].behind, jobs[2].gang) = (1, gang(res(asks, 1, 0), 0, res(0, 0, 0)));
        let job = jobs[2].job;
        let found = outlook(&Input { clusters, waiting: jobs.into(), ..Input::default() }, job).unwrap();
        (matches!(found.verdict, Verdict::Placed { .. }), found.behind_unread)
    }

    #[test]
    fn whoever_comes_behind_unread_jobs_that_could_start_is_told_so() {
        assert_eq!(behind(12, 1), (true, true), "a third of the equal ones may fit as well");
        assert_eq!(behind(6, 1), (true, false), "the second does not fit, so nobody who is equal to it does");
        assert_eq!(behind(6, 4), (false, false));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_outlook_is_what_a_pass_decides(input in any_input()) {
            let plan = plan(&input);
            for job in &input.waiting {
                let found = outlook(&input, job.job).unwrap();
                match &found.verdict {
                    Verdict::Placed { cluster, because } => {
                        let same = plan.assign.iter().find(|assign| assign.job == job.job).unwrap();
                        prop_assert_eq!((cluster, because), (&same.cluster, &same.because));
                        let name = &input.clusters.iter().find(|one| one.id == *cluster).unwrap().name;
                        prop_assert_eq!(&found.choice.candidates[0].cluster, name);
                    }
                    Verdict::Waits(blocked) => {
                        prop_assert!(plan.blocked.contains(blocked));
                    }
                }
                let told = found.choice.candidates.len() + found.choice.refused.len();
                let accepted = input.clusters.iter().filter(|one| one.standing != Standing::NotAccepted).count();
                prop_assert_eq!(told, accepted, "every accepted cluster is told once");
            }
        }
    }
}
