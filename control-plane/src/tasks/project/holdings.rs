//! Holdings: attempts that a cluster holds and the database forgot in a failover are taken back (R4, T10).
//!
//! Owns no rule: who is taken back is judged by [`squadron_core::attempt::take_back`]. Invariant: only what the cluster told under
//! the timeline that asks counts, and of a job only its newest attempt there. The last part ends the asking in the transaction that
//! took it. What is not taken back is left out of the next desired set, and its agent stops it.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    attempt::{Found, Step, let_go, take_back},
    fact::{Fact, HoldingsFact, MOST_HELD},
    id::{AttemptId, ClusterId, JobId},
    lease::ProofKind,
    time::Timestamp,
};
use squadron_store::{PgConnection, Result, attempt, failover, job::advance, loss};

use super::{News, apply::Told};

/// Facts that are to take effect.
pub(super) struct Asked<'a> {
    pub(super) facts: Vec<Told<'a>>,
    /// Jobs with an attempt that is to stop on a cluster which tells the last of what it holds.
    stopping: BTreeMap<ClusterId, Vec<JobId>>,
}

/// The facts without those that tell holdings which nobody asked for, or too many: no job is locked for them.
pub(super) async fn asked<'a>(db: &mut PgConnection, mut facts: Vec<Told<'a>>) -> Result<Asked<'a>> {
    let telling: BTreeSet<ClusterId> =
        facts.iter().filter(|told| holdings(told).is_some()).map(|told| told.cluster).collect();
    if telling.is_empty() {
        return Ok(Asked { facts, stopping: BTreeMap::new() });
    }
    let untold = failover::untold(db, &telling).await?;
    facts.retain(|told| {
        let answers = |fact: &HoldingsFact| untold.get(&told.cluster) == Some(&fact.timeline);
        let few = |fact: &HoldingsFact| fact.held.len() + fact.accepted.len() <= MOST_HELD;
        holdings(told).is_none_or(|fact| answers(fact) && few(fact))
    });
    let last = |told: &&Told<'_>| holdings(told).is_some_and(|fact| !fact.more);
    let done: Vec<ClusterId> = facts.iter().filter(last).map(|told| told.cluster).collect();
    let stopping = failover::stopping(db, &done).await?;
    Ok(Asked { facts, stopping })
}

impl Asked<'_> {
    /// The jobs that what is told of holdings can change.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> {
        let told = self.facts.iter().filter_map(holdings);
        let named = told.flat_map(|told| told.held.iter().chain(&told.accepted)).map(|attempt| attempt.job);
        named.chain(self.stopping.values().flatten().copied())
    }
}

fn holdings<'a>(told: &Told<'a>) -> Option<&'a HoldingsFact> {
    if let Fact::Holdings(told) = told.fact { Some(told) } else { None }
}

/// Takes back what is not known. The jobs are locked.
pub(super) async fn apply(
    db: &mut PgConnection,
    (cluster, told): (ClusterId, &HoldingsFact),
    asked: &Asked<'_>,
    now: Timestamp,
    news: &mut News,
) -> Result<()> {
    let Some(name) = failover::awaited(db, cluster, told.timeline).await? else { return Ok(()) };
    let judged = judge(db, (cluster, &name), told, now).await?;
    give_up(db, &judged.closed, now).await?;
    let mut versions = advance::save_all(db, &judged.taken).await?;
    failover::name(db, cluster, told).await?;
    if !told.more {
        let stopping = asked.stopping.get(&cluster).map_or(&[][..], Vec::as_slice);
        versions.extend(let_go_of(db, cluster, told.timeline, stopping, now).await?);
        failover::settled(db, cluster).await?;
    }
    (news.desired, news.room) = (true, true);
    news.jobs.extend(versions);
    Ok(())
}

/// What a fact comes to.
#[derive(Default)]
struct Judged {
    /// Ends of older attempts, to be written first.
    closed: Vec<Step>,
    /// Attempts that were found, or found to be made.
    taken: Vec<Step>,
}

async fn judge(
    db: &mut PgConnection,
    (cluster, cluster_name): (ClusterId, &str),
    told: &HoldingsFact,
    now: Timestamp,
) -> Result<Judged> {
    let found = newest(told);
    let ids: Vec<JobId> = found.keys().copied().collect();
    let known = advance::locked(db, &ids).await?;
    let named = failover::named(db, &ids, told.timeline).await?;
    let mut judged = Judged::default();
    for (id, (number, exists)) in found {
        let attempt = AttemptId { job: id, number };
        let Some(job) = known.get(&id) else {
            let message = "a cluster holds an attempt of a job that the database lost";
            tracing::warn!(%attempt, cluster = cluster_name, message);
            continue;
        };
        let found = Found { cluster, cluster_name, attempt, exists };
        let taken = take_back(job, &found, named.contains(&id), now);
        if taken.adopted.is_some() {
            let message = "an attempt that the database had lost was taken back";
            tracing::warn!(%attempt, cluster = cluster_name, message);
        }
        judged.closed.extend(taken.closed);
        judged.taken.extend(taken.adopted.or(taken.made));
    }
    Ok(judged)
}

/// Those of the stopping attempts that the cluster did not name are gone. Their jobs are locked.
async fn let_go_of(
    db: &mut PgConnection,
    cluster: ClusterId,
    timeline: u64,
    stopping: &[JobId],
    now: Timestamp,
) -> Result<BTreeMap<JobId, i64>> {
    let named = failover::named(db, stopping, timeline).await?;
    let unnamed: Vec<JobId> = stopping.iter().filter(|job| !named.contains(job)).copied().collect();
    let jobs = advance::locked(db, &unnamed).await?;
    let gone: Vec<Step> = jobs.values().filter_map(|job| let_go(job, cluster, now)).collect();
    let versions = advance::save_all(db, &gone).await?;
    let ended: Vec<AttemptId> = gone.iter().filter_map(|step| step.job.attempt_id()).collect();
    attempt::note_ends(db, &ended, now).await?;
    Ok(versions)
}

/// The newest attempt of each job, and whether something of it exists.
fn newest(told: &HoldingsFact) -> BTreeMap<JobId, (u32, bool)> {
    let mut newest = BTreeMap::new();
    let all = told.held.iter().map(|id| (id, true)).chain(told.accepted.iter().map(|id| (id, false)));
    for (id, exists) in all {
        let known = newest.entry(id.job).or_insert((id.number, exists));
        *known = (id.number, exists).max(*known);
    }
    newest
}

async fn give_up(db: &mut PgConnection, closed: &[Step], now: Timestamp) -> Result<()> {
    advance::save_all(db, closed).await?;
    let ended: Vec<AttemptId> = closed.iter().filter_map(|step| step.job.attempt_id()).collect();
    let proofs: Vec<_> = ended.iter().map(|attempt| (*attempt, ProofKind::Superseded)).collect();
    loss::note_proofs(db, &proofs, now).await?;
    attempt::note_ends(db, &ended, now).await
}
