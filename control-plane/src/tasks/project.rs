//! The projector: facts become rows of nodes and pods, and steps of jobs.
//!
//! Invariant: a batch's effects and its cursor are one transaction, so a fact takes effect exactly once, in order. A fact
//! whose own values the database cannot take is put aside with its reason, and those behind it go on; while the database
//! itself cannot work, every fact waits.

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Event, advance as decide},
    fact::{Fact, InventoryFact, ListedKind, PodFact},
    id::{AttemptId, ClusterId, JobId},
    resources::Resources,
};
use squadron_store::{
    PgConnection, Result, StoreError, attempt,
    cursor::{self, Batch, FactRow},
    job::advance,
    node, pod,
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, arrival, duty, troubles::Troubles};
use crate::{clock, http::error::chain, state::AppState, wake::Topic};

/// Name of the cursor; the correlator follows it.
pub const CONSUMER: &str = "project";
/// Facts of a transaction at most.
const BATCH: i64 = 200;
/// No pod asks for more than this of anything; greater numbers are lies that would break sums.
const MOST: i64 = 1 << 50;

/// What a batch changed, told after its commit.
#[derive(Default)]
pub(super) struct News {
    pub(super) jobs: BTreeMap<JobId, i64>,
    room: bool,
    pub(super) desired: bool,
}

/// Consumes the next facts of every cluster.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, CONSUMER, holder).await? else { return Ok(Left::NotOurs) };
    let batches = app.store.next_facts(CONSUMER, None, BATCH).await?;
    let left = if batches.is_empty() { Left::Nothing } else { Left::More };
    let mut troubles = Troubles::default();
    for batch in &batches {
        troubles.bear(consume(app, &term, batch).await)?;
    }
    troubles.end(left)
}

async fn consume(app: &AppState, term: &Term, batch: &Batch) -> Result<()> {
    match commit(app, term, batch).await {
        Err(error) if error.is_of_the_data() => one_by_one(app, term, batch).await,
        Err(error) => Err(error),
        Ok(news) => {
            tell(app, &news);
            Ok(())
        }
    }
}

/// The same facts in batches of one, so that only those at fault are put aside.
async fn one_by_one(app: &AppState, term: &Term, batch: &Batch) -> Result<()> {
    for one in batch.singles() {
        match commit(app, term, &one).await {
            Ok(news) => tell(app, &news),
            Err(error) if error.is_of_the_data() => {
                put_aside(app, term, CONSUMER, &one, &error).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Moves the cursor of `consumer` over a batch of one and keeps the reason at its fact.
pub(super) async fn put_aside(
    app: &AppState,
    term: &Term,
    consumer: &str,
    one: &Batch,
    error: &StoreError,
) -> Result<()> {
    let Some(position) = one.facts.first().map(|row| row.position) else { return Ok(()) };
    let reason = format!("it could not take effect ({consumer}): {}", chain(error));
    tracing::error!(consumer, cluster = %one.cluster, ?position, reason, "a fact was put aside");
    let input = (term, consumer, one, position, reason);
    app.store
        .txn("put_aside", &input, |db, (term, consumer, one, position, reason)| {
            Box::pin(async move {
                term::check(db, term).await?;
                cursor::put_aside(db, one.cluster, *position, reason, clock::now()).await?;
                cursor::advance(db, consumer, one).await.map(|_moved| ())
            })
        })
        .await
}

async fn commit(app: &AppState, term: &Term, batch: &Batch) -> Result<News> {
    app.store
        .txn("project", &(term, batch), |db, (term, batch)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let mut news = News::default();
                if cursor::advance(db, CONSUMER, batch).await? {
                    for row in &batch.facts {
                        apply(db, batch.cluster, row, &mut news).await?;
                    }
                }
                Ok(news)
            })
        })
        .await
}

pub(super) fn tell(app: &AppState, news: &News) {
    for (job, version) in &news.jobs {
        app.wake.changed("job", job, *version);
    }
    if news.room || !news.jobs.is_empty() {
        app.wake.notify(Topic::Dispatch);
    }
    if news.desired {
        app.wake.notify(Topic::Desired);
    }
    // The correlator follows our cursor.
    app.wake.notify(Topic::Facts);
}

async fn apply(db: &mut PgConnection, cluster: ClusterId, row: &FactRow, news: &mut News) -> Result<()> {
    match &row.fact {
        None => Ok(()),
        Some(Fact::Node(fact)) => {
            let fact = squadron_core::fact::NodeFact {
                capacity: bounded(fact.capacity),
                allocatable: bounded(fact.allocatable),
                ..fact.clone()
            };
            news.room |= node::show(db, cluster, &fact, row.position, row.at).await?;
            Ok(())
        }
        Some(Fact::Pod(fact)) => apply_pod(db, cluster, fact, row, news).await,
        Some(Fact::Inventory(fact)) => apply_inventory(db, cluster, fact, row, news).await,
        Some(Fact::Listed(fact)) => {
            let within = (fact.from.as_str(), fact.until.as_str());
            let ended = match fact.of {
                ListedKind::Pod => {
                    pod::keep_only(db, cluster, within, &fact.uids, row.position, row.at).await?
                }
                ListedKind::Node => {
                    node::keep_only(db, cluster, within, &fact.uids, row.position, row.at).await?
                }
            };
            news.room |= ended > 0;
            Ok(())
        }
        Some(Fact::Arrival(fact)) => arrival::apply(db, cluster, fact, row.at, news).await,
        Some(fact) => match fact.attempt() {
            Some(attempt) => advance_job(db, cluster, attempt, fact, row, news).await,
            None => Ok(()),
        },
    }
}

async fn apply_pod(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &PodFact,
    row: &FactRow,
    news: &mut News,
) -> Result<()> {
    let attempt = match fact.attempt {
        Some(attempt) if attempt::is_held_by(db, attempt, cluster).await? => Some(attempt),
        _ => None,
    };
    let shown = PodFact { attempt, requests: bounded(fact.requests), ..fact.clone() };
    if !pod::show(db, cluster, &shown, row.position, row.at).await? {
        return Ok(());
    }
    news.room = true;
    match attempt {
        Some(attempt) => advance_job(db, cluster, attempt, &Fact::Pod(Box::new(shown)), row, news).await,
        None => Ok(()),
    }
}

/// Every uid.
const ALL: (&str, &str) = ("", "");

async fn apply_inventory(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &InventoryFact,
    row: &FactRow,
    news: &mut News,
) -> Result<()> {
    let nodes = node::keep_only(db, cluster, ALL, &fact.node_uids, row.position, row.at).await?;
    let pods = pod::keep_only(db, cluster, ALL, &fact.pod_uids, row.position, row.at).await?;
    news.room |= nodes + pods > 0;
    Ok(())
}

fn bounded(resources: Resources) -> Resources {
    Resources {
        cpu_milli: resources.cpu_milli.clamp(0, MOST),
        memory_bytes: resources.memory_bytes.clamp(0, MOST),
        gpus: resources.gpus.clamp(0, MOST),
    }
}

async fn advance_job(
    db: &mut PgConnection,
    cluster: ClusterId,
    attempt: AttemptId,
    fact: &Fact,
    row: &FactRow,
    news: &mut News,
) -> Result<()> {
    let Some(job) = advance::lock(db, attempt.job).await? else { return Ok(()) };
    let pods = pod::of_attempt(db, attempt).await?;
    match decide(&job, Event::Fact { from: cluster, fact, pods: &pods }, row.at) {
        Ok(step) => {
            let version = advance::save(db, &step).await?;
            if step.job.attempt.as_ref().is_some_and(|newest| newest.ended_at.is_some()) {
                attempt::note_end(db, attempt, clock::now()).await?;
            }
            news.desired |= step.desired_changed.is_some();
            news.jobs.insert(attempt.job, version);
        }
        Err(refused) => {
            tracing::debug!(%attempt, position = ?row.position, %refused, "a fact changes no job");
        }
    }
    Ok(())
}
