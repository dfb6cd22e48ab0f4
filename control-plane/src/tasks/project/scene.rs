//! Scene: the jobs, pods and nodes that a stretch of facts is about, between one read and one write.
//!
//! Invariant: after each fact it holds what the database would hold; the jobs are locked, and only the projector writes nodes
//! and pods. Several steps of a job are written as the one that they come to, with one new generation if any of them changed
//! the desired set. Lost with its transaction, which changes nothing then.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    attempt::{Event, Job, Step, advance as decide},
    fact::{Fact, NodeFact, PodFact},
    id::{AttemptId, ClusterId, JobId},
    resources::Resources,
};
use squadron_store::{
    PgConnection, Result,
    attempt::{self, Named},
    job::advance,
    node::Nodes,
    pod::Pods,
};

use super::{News, apply::Told};
use crate::clock;

/// No pod asks for more than this of anything; greater numbers are lies that would break sums.
const MOST: i64 = 1 << 50;

pub(super) struct Scene<'a> {
    held: &'a BTreeSet<Named>,
    jobs: BTreeMap<JobId, Job>,
    /// Jobs that changed, with the cluster whose desired set changed by that.
    changed: BTreeMap<JobId, Option<ClusterId>>,
    nodes: Nodes,
    pods: Pods,
}

impl<'a> Scene<'a> {
    /// What these facts are about.
    pub(super) async fn read(
        db: &mut PgConnection,
        facts: &[Told<'_>],
        held: &'a BTreeSet<Named>,
    ) -> Result<Scene<'a>> {
        let (mut nodes, mut pods, mut attempts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for told in facts {
            match told.fact {
                Fact::Node(fact) => _ = nodes.insert((told.cluster, fact.uid.as_str())),
                Fact::Pod(fact) => _ = pods.insert((told.cluster, fact.uid.as_str())),
                _ => {}
            }
            attempts.extend(told.fact.attempt().filter(|attempt| held.contains(&(told.cluster, *attempt))));
        }
        let jobs: BTreeSet<JobId> = attempts.iter().map(|attempt| attempt.job).collect();
        Ok(Scene {
            held,
            jobs: advance::locked(db, &jobs.into_iter().collect::<Vec<_>>()).await?,
            changed: BTreeMap::new(),
            nodes: Nodes::read(db, &nodes).await?,
            pods: Pods::read(db, &pods, &attempts).await?,
        })
    }

    /// Every fact takes effect, and what came of all is written.
    pub(super) async fn play(
        mut self,
        db: &mut PgConnection,
        facts: &[Told<'_>],
        news: &mut News,
    ) -> Result<()> {
        for told in facts {
            match told.fact {
                Fact::Node(fact) => news.room |= self.show_node(told, fact),
                Fact::Pod(fact) => news.room |= self.show_pod(told, fact),
                fact => self.advance(told, fact),
            }
        }
        self.nodes.save(db).await?;
        self.pods.save(db).await?;
        self.save_jobs(db, news).await
    }

    fn show_node(&mut self, told: &Told<'_>, fact: &NodeFact) -> bool {
        let shown = NodeFact {
            capacity: bounded(fact.capacity),
            allocatable: bounded(fact.allocatable),
            ..fact.clone()
        };
        self.nodes.show(told.cluster, &shown, told.row.position, told.row.at)
    }

    fn show_pod(&mut self, told: &Told<'_>, fact: &PodFact) -> bool {
        let attempt = fact.attempt.filter(|attempt| self.held.contains(&(told.cluster, *attempt)));
        let shown = PodFact { attempt, requests: bounded(fact.requests), ..fact.clone() };
        let news = self.pods.show(told.cluster, &shown, told.row.position, told.row.at);
        if news {
            self.advance(told, &Fact::Pod(Box::new(shown)));
        }
        news
    }

    fn advance(&mut self, told: &Told<'_>, fact: &Fact) {
        let Some(attempt) = fact.attempt() else { return };
        let Some(job) = self.jobs.get_mut(&attempt.job) else { return };
        let event = Event::Fact { from: told.cluster, fact, pods: self.pods.of_attempt(attempt) };
        match decide(job, event, told.row.at) {
            Ok(step) => {
                let desired = self.changed.entry(attempt.job).or_default();
                *desired = desired.or(step.desired_changed);
                *job = step.job;
            }
            Err(refused) => {
                tracing::debug!(%attempt, position = ?told.row.position, %refused, "a fact changes no job");
            }
        }
    }

    async fn save_jobs(&self, db: &mut PgConnection, news: &mut News) -> Result<()> {
        let step = |(job, desired): (&JobId, &Option<ClusterId>)| {
            Some(Step { job: self.jobs.get(job)?.clone(), desired_changed: *desired })
        };
        let steps: Vec<Step> = self.changed.iter().filter_map(step).collect();
        let versions = advance::save_all(db, &steps).await?;
        let over = |step: &&Step| step.job.attempt.as_ref().is_some_and(|newest| newest.ended_at.is_some());
        let ended: Vec<AttemptId> =
            steps.iter().filter(over).filter_map(|step| step.job.attempt_id()).collect();
        attempt::note_ends(db, &ended, clock::now()).await?;
        news.desired |= steps.iter().any(|step| step.desired_changed.is_some());
        news.jobs.extend(versions);
        Ok(())
    }
}

fn bounded(resources: Resources) -> Resources {
    Resources {
        cpu_milli: resources.cpu_milli.clamp(0, MOST),
        memory_bytes: resources.memory_bytes.clamp(0, MOST),
        gpus: resources.gpus.clamp(0, MOST),
    }
}
