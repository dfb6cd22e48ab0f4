//! The correlator's loop: facts behind the projector's cursor become changes of incidents.
//!
//! Invariant: changes and cursor are one transaction. It follows the projector, so pods and attempts that a fact speaks
//! of are known when it is judged. What a person changed while it was being judged is judged again.

use squadron_core::{
    id::ClusterId,
    incident::{Change, Seen, concerns, correlate},
};
use squadron_store::{
    Result, StoreError,
    cursor::{self, Batch, Position},
    incident,
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty, project};
use crate::{clock, http::error::chain, state::AppState};

const CONSUMER: &str = "correlate";
/// Facts of a transaction at most.
const BATCH: i64 = 500;
/// What ended longer before the oldest fact does not bear on it, in milliseconds.
const LOOK_BACK_MS: i64 = 3_600_000;

/// Judges the next facts of every cluster.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, CONSUMER, holder).await? else { return Ok(Left::Nothing) };
    let batches = app.store.next_facts(CONSUMER, Some(project::CONSUMER), BATCH).await?;
    for batch in &batches {
        let facts = relevant(batch);
        let changes = if facts.is_empty() { Vec::new() } else { judge(app, batch.cluster, &facts).await? };
        match consume(app, &term, batch, &changes).await {
            Err(StoreError::Changed { .. }) => {}
            done => done?,
        }
    }
    Ok(if batches.is_empty() { Left::Nothing } else { Left::More })
}

/// Looks whether open incidents are over, which time and other rows decide as much as facts.
pub async fn sweep(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, CONSUMER, holder).await? else { return Ok(Left::Nothing) };
    for cluster in app.store.clusters_with_incidents().await? {
        let changes = judge(app, cluster, &[]).await?;
        if !changes.is_empty() {
            commit(app, &term, cluster, None, &changes).await?;
        }
    }
    Ok(Left::Nothing)
}

/// Commits what a batch changes. Changes that the database cannot take are put aside, so that later facts go on.
async fn consume(app: &AppState, term: &Term, batch: &Batch, changes: &[Change]) -> Result<()> {
    match commit(app, term, batch.cluster, Some(batch), changes).await {
        Err(error) if project::is_the_facts_fault(&error) => {
            let first = Position { epoch: batch.epoch, seq: batch.from + 1 };
            let reason = format!("facts up to {} could not be judged: {}", batch.to, chain(&error));
            project::put_aside(app, term, CONSUMER, batch, first, &reason).await
        }
        done => done,
    }
}

fn relevant(batch: &Batch) -> Vec<Seen> {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let read =
        batch.facts.iter().filter_map(|row| Some((row, row.fact.as_ref().filter(|fact| concerns(fact))?)));
    read.map(|(row, fact)| Seen {
        epoch: number(row.position.epoch),
        seq: number(row.position.seq),
        at: row.at,
        fact: fact.clone(),
    })
    .collect()
}

async fn judge(app: &AppState, cluster: ClusterId, facts: &[Seen]) -> Result<Vec<Change>> {
    let now = clock::now();
    let known = app.store.known_incidents(cluster, now).await?;
    let oldest = facts.iter().map(|seen| seen.at).min().unwrap_or(now);
    let topology = app.store.topology(cluster, oldest.plus_millis(-LOOK_BACK_MS)).await?;
    Ok(correlate(&known, facts, &topology, now))
}

async fn commit(
    app: &AppState,
    term: &Term,
    cluster: ClusterId,
    batch: Option<&Batch>,
    changes: &[Change],
) -> Result<()> {
    let changed = app
        .store
        .txn("correlate", &(term, cluster, batch, changes), |db, (term, cluster, batch, changes)| {
            Box::pin(async move {
                term::check(db, term).await?;
                if let Some(batch) = batch
                    && !cursor::advance(db, CONSUMER, batch).await?
                {
                    return Ok(Vec::new());
                }
                let (mut changed, now) = (Vec::new(), clock::now());
                for change in *changes {
                    changed.extend(incident::apply(db, *cluster, change, Uuid::now_v7(), now).await?);
                }
                Ok(changed)
            })
        })
        .await?;
    for (incident, version) in changed {
        app.wake.changed("incident", incident, version);
    }
    Ok(())
}
