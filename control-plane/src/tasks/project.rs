//! The projector: facts become rows of nodes and pods, and steps of jobs.
//!
//! Invariant: the effects of batches and their cursors are one transaction, so a fact takes effect exactly once, in order.
//! Batches of several clusters share a transaction as long as all is well, but for those that tell of an arrival: what becomes
//! of it is written beside others who submit, so nobody waits there for other clusters. What fails is tried again cluster by
//! cluster. A fact whose own values the database cannot take is put aside with its reason, and those behind it go on; while the database
//! itself cannot work, every fact waits.

mod apply;
mod holdings;
mod scene;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, slice};

use squadron_core::{fact::Fact, id::JobId};
use squadron_store::{
    Result, StoreError,
    cursor::{self, Batch},
    term::{self, Term},
};
use uuid::Uuid;

use super::{
    Left, duty,
    troubles::{Troubles, concerns_all},
};
use crate::{clock, http::error::chain, state::AppState, wake::Topic};

/// Name of the cursor; the correlator follows it.
pub const CONSUMER: &str = "project";
/// Facts of a transaction at most.
const BATCH: usize = 500;

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
    let batches = app.store.next_facts(CONSUMER, None, i64::try_from(BATCH).unwrap_or(i64::MAX)).await?;
    let left = if batches.is_empty() { Left::Nothing } else { Left::More };
    let (mut troubles, mut rest) = (Troubles::default(), batches.as_slice());
    while !rest.is_empty() {
        let (group, behind) = rest.split_at(together(rest));
        duty::still_ours(app, &term).await?;
        consume(app, &term, group, &mut troubles).await?;
        rest = behind;
    }
    troubles.end(left)
}

/// How many of the first batches share a transaction.
fn together(batches: &[Batch]) -> usize {
    let mut facts = 0;
    let fits = |batch: &&Batch| {
        facts += batch.facts.len();
        facts <= BATCH && !tells_of_arrivals(batch)
    };
    batches.iter().take_while(fits).count().max(1)
}

fn tells_of_arrivals(batch: &Batch) -> bool {
    batch.facts.iter().any(|row| matches!(row.fact, Some(Fact::Arrival(_))))
}

async fn consume(app: &AppState, term: &Term, group: &[Batch], troubles: &mut Troubles) -> Result<()> {
    match commit(app, term, group).await {
        Ok(news) => tell(app, &news),
        Err(error) if concerns_all(&error) => return Err(error),
        Err(error) => {
            tracing::debug!(batches = group.len(), error = chain(&error), "batches are taken one by one");
            for batch in group {
                duty::still_ours(app, term).await?;
                troubles.bear(consume_alone(app, term, batch).await)?;
            }
        }
    }
    Ok(())
}

async fn consume_alone(app: &AppState, term: &Term, batch: &Batch) -> Result<()> {
    match commit(app, term, slice::from_ref(batch)).await {
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
        duty::still_ours(app, term).await?;
        match commit(app, term, slice::from_ref(&one)).await {
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
                cursor::advance(db, consumer, slice::from_ref(one)).await.map(|_moved| ())
            })
        })
        .await
}

async fn commit(app: &AppState, term: &Term, group: &[Batch]) -> Result<News> {
    app.store
        .txn("project", &(term, group), |db, (term, group)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let moved = cursor::advance(db, CONSUMER, group).await?;
                let (ours, mut news) =
                    (group.iter().filter(|batch| moved.contains(&batch.cluster)), News::default());
                apply::apply(db, ours, &mut news).await?;
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
