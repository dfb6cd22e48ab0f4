//! The judgement of a round, from what containers wrote and what the kubelets of both clusters say.
//!
//! Invariant: a job that may not stop has the same container at the end as at the begin; a job that had to move has one more
//! attempt. Everything that differs is called by its job's name.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{
    fleet::Fleet,
    life::{self, Life},
    record::Found,
};
use crate::{
    clock,
    runs::{Run, Witness},
    stage::Stage,
};

/// Names of jobs whose container was replaced after the round before was judged: a stop that came late.
pub fn replaced(fleet: &Fleet, last: &[Life], now: &[Life]) -> Vec<String> {
    let gone = |old: &&Life| {
        now.iter().any(|life| life.job == old.job && (&life.pod, life.from) != (&old.pod, old.from))
    };
    let members = last.iter().filter(gone).filter_map(|old| fleet.member(&old.job));
    members.map(|member| format!("{} after the round before", member.name)).collect()
}

/// What is watched during a round.
pub struct Watched {
    /// The container of each job at the begin.
    before: BTreeMap<String, Life>,
    victim: String,
    witnesses: Vec<(String, Witness)>,
}

impl Watched {
    pub fn begin(stage: &Stage, before: Vec<Life>, victim: &str) -> Result<Watched> {
        let clusters = stage.spec.clusters.iter();
        let witnesses = clusters.map(|cluster| Ok((cluster.clone(), stage.witness_all(cluster)?)));
        Ok(Watched {
            before: before.into_iter().map(|life| (life.job.clone(), life)).collect(),
            victim: victim.to_owned(),
            witnesses: witnesses.collect::<Result<_>>()?,
        })
    }

    /// Whether a job of the lost cluster has to start elsewhere.
    fn must_move(&self, fleet: &Fleet, job: &str) -> bool {
        let is_there = self.before.get(job).is_some_and(|life| life.cluster == self.victim);
        is_there && fleet.member(job).is_some_and(|member| member.is_fenced)
    }

    /// Names of the jobs that have to start elsewhere and have not.
    pub fn unmoved(&self, fleet: &Fleet, alive: &[Life]) -> Vec<String> {
        let members = fleet.0.values().filter(|member| self.must_move(fleet, &member.id));
        let is_next = |life: &&Life| self.before.get(&life.job).is_some_and(|old| life.attempt > old.attempt);
        let moved = |job: &str| alive.iter().filter(is_next).any(|life| life.job == job);
        members.filter(|member| !moved(&member.id)).map(|member| member.name.clone()).collect()
    }

    /// What came of a fault that began at `begun` and, if it `loses` the cluster, moves its fenced jobs.
    pub fn judge(&self, stage: &Stage, fleet: &Fleet, loses: bool, begun: f64) -> Result<Found> {
        let lives = life::all(&stage.lives())?;
        let recent: Vec<Life> = lives.into_iter().filter(|life| life.to > begun).collect();
        let jobs = life::by_job(&recent);
        let of_fleet: Vec<(&str, &Vec<&Life>)> = jobs
            .iter()
            .map(|(job, lives)| (*job, lives))
            .filter(|(job, _)| fleet.member(job).is_some())
            .collect();
        let told = self.told(&recent)?;
        let of_kubelets = life::by_job(&told);
        let overlaps = of_fleet.iter().filter(|(job, lives)| {
            life::overlap(lives) > 0.0 || of_kubelets.get(job).is_some_and(|lives| life::overlap(lives) > 0.0)
        });
        let is_due = |job: &str| loses && self.must_move(fleet, job);
        let due: Vec<&&Vec<&Life>> =
            of_fleet.iter().filter(|(job, _)| is_due(job)).map(|(_, lives)| lives).collect();
        Ok(Found {
            jobs: of_fleet.len(),
            moved: due.iter().filter(|lives| lives.len() > 1).count(),
            overlaps: overlaps.count(),
            overlap_s: of_fleet.iter().map(|(_, lives)| life::overlap(lives)).sum(),
            kubelet_overlap_s: of_kubelets.values().map(|lives| life::overlap(lives)).sum(),
            gaps_s: due.iter().flat_map(|lives| life::gaps(lives)).collect(),
            reverted: due.iter().filter(|lives| self.is_reverted(lives)).count(),
            restarts_s: due.iter().filter_map(|lives| Some(lives.get(1)?.from - begun)).collect(),
            needless: self.needless(fleet, &recent, is_due),
        })
    }

    /// Whether a job moved and its old container outlived the next one: what the next one did is lost.
    fn is_reverted(&self, lives: &[&Life]) -> bool {
        let now = clock::now();
        let is_old = |life: &Life| {
            let old = self.before.get(&life.job);
            old.is_some_and(|old| (&old.pod, old.from) == (&life.pod, life.from))
        };
        lives.len() > 1
            && lives.iter().any(|life| is_old(life) && !life.is_over(now))
            && lives.iter().all(|life| is_old(life) || life.is_over(now))
    }

    /// Jobs that should have gone on in the container that they had, and those that had to move and moved twice.
    fn needless(&self, fleet: &Fleet, recent: &[Life], is_due: impl Fn(&str) -> bool) -> Vec<String> {
        let now = clock::now();
        let members = fleet.0.values();
        let stopped = members.filter(|member| {
            let lives = recent.iter().filter(|life| life.job == member.id).count();
            let goes_on = self.before.get(&member.id).is_some_and(|old| {
                recent.iter().any(|life| life.pod == old.pod && life.from == old.from && !life.is_over(now))
            });
            if is_due(&member.id) { lives > 2 } else { lives != 1 || !goes_on }
        });
        stopped.map(|member| member.name.clone()).collect()
    }

    /// Lives of containers as the kubelets tell them, to the second. Where an end was never told, what the container wrote
    /// itself counts, and that it lives if it wrote nothing.
    fn told(&self, written: &[Life]) -> Result<Vec<Life>> {
        let mut told = Vec::new();
        for (cluster, witness) in &self.witnesses {
            told.extend(witness.runs()?.iter().filter_map(|run| as_life(run, cluster, written)));
        }
        told.sort_by(|a, b| a.from.total_cmp(&b.from));
        Ok(told)
    }
}

fn as_life(run: &Run, cluster: &str, written: &[Life]) -> Option<Life> {
    let pod = run.container.split('/').next().unwrap_or_default();
    let wrote_last = || written.iter().filter(|life| life.pod == pod).map(|life| life.to).reduce(f64::max);
    let to =
        if run.to.is_empty() { wrote_last().unwrap_or_else(clock::now) } else { clock::seconds(&run.to)? };
    let attempt = run.attempt.parse().ok()?;
    let (job, cluster, pod) = (run.job.clone(), cluster.to_owned(), pod.to_owned());
    Some(Life { job, attempt, cluster, pod, from: clock::seconds(&run.from)?, to })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rounds::fleet::Member;

    #[test]
    fn a_container_that_was_replaced_between_two_rounds_is_told() {
        let life = |pod: &str, from: f64| Life {
            job: "j".into(),
            attempt: 1,
            cluster: "a".into(),
            pod: pod.into(),
            from,
            to: 99.0,
        };
        let member = Member { id: "j".into(), name: "round-wait-a".into(), is_fenced: false };
        let fleet = Fleet([(member.name.clone(), member)].into());
        let replaced = |last: Life, now: Life| replaced(&fleet, &[last], &[now]);
        assert!(replaced(life("p", 1.0), life("p", 1.0)).is_empty());
        assert_eq!(replaced(life("p", 1.0), life("q", 5.0)), ["round-wait-a after the round before"]);
        assert_eq!(
            replaced(life("p", 1.0), life("p", 5.0)).len(),
            1,
            "the container started anew in its pod"
        );
    }

    #[test]
    fn a_job_whose_old_container_outlives_the_next_one_went_back() {
        let now = clock::now();
        let life = |pod: &str, from: f64, to: f64| Life {
            job: "j".into(),
            attempt: 0,
            cluster: "a".into(),
            pod: pod.into(),
            from,
            to,
        };
        let (old, ended) = (life("p", now - 90.0, now), life("p", now - 90.0, now - 40.0));
        let (next, stopped) = (life("q", now - 50.0, now), life("q", now - 50.0, now - 20.0));
        let before = [("j".to_owned(), old.clone())].into();
        let watched = Watched { before, victim: "a".into(), witnesses: Vec::new() };
        assert!(watched.is_reverted(&[&old, &stopped]));
        assert!(!watched.is_reverted(&[&ended, &next]), "the next one goes on");
        assert!(!watched.is_reverted(&[&old, &next]), "both go on");
        assert!(!watched.is_reverted(&[&old]), "it never moved");
    }

    #[test]
    fn an_end_that_no_kubelet_told_is_the_last_that_the_container_wrote() {
        let run = Run {
            container: "head-1/ray-head".into(),
            job: "j".into(),
            attempt: "1".into(),
            from: "1970-01-01T00:00:10Z".into(),
            to: String::new(),
        };
        let wrote = as_life(&run, "a", &[]).map(|life| Life { from: 10.2, to: 12.0, ..life }).unwrap();
        let told = as_life(&run, "a", &[wrote]).unwrap();
        assert_eq!((told.from, told.to, told.attempt), (10.0, 12.0, 1));
        let ended = Run { to: "1970-01-01T00:00:11Z".into(), ..run };
        assert_eq!(as_life(&ended, "a", &[]).unwrap().to, 11.0);
    }
}
