//! The correlator's loop: facts behind the projector's cursor become changes of incidents.
//!
//! Invariant: changes and cursor are one transaction. It follows the projector, so pods and attempts that a fact speaks
//! of are known when it is judged. New facts and the sweep over open incidents take turns in one loop, so neither judges
//! what the other is about to write; what a person changed meanwhile is judged again. A cluster that cannot be judged keeps
//! no other one waiting.

use std::slice;

use squadron_core::{
    id::ClusterId,
    incident::{Change, KINDS, Seen, concerns, correlate},
};
use squadron_store::{
    Result, StoreError,
    cursor::{self, Batch},
    incident,
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty, project, troubles::Troubles};
use crate::{clock, state::AppState};

const CONSUMER: &str = "correlate";
/// Facts of a transaction at most.
const BATCH: i64 = 500;
/// What ended longer before the oldest fact does not bear on it, in milliseconds.
const LOOK_BACK_MS: i64 = 3_600_000;

/// Judges the next facts of every cluster.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, CONSUMER, holder).await? else { return Ok(Left::NotOurs) };
    let batches = app.store.next_facts(CONSUMER, Some((project::CONSUMER, &KINDS)), BATCH).await?;
    let left = if batches.is_empty() { Left::Nothing } else { Left::More };
    let mut troubles = Troubles::default();
    let (idle, busy): (Vec<_>, Vec<_>) = batches.into_iter().partition(|batch| relevant(batch).is_empty());
    troubles.bear(pass_over(app, &term, &idle).await)?;
    for batch in &busy {
        duty::still_ours(app, &term).await?;
        troubles.bear(consume(app, &term, batch).await)?;
    }
    troubles.end(left)
}

/// Moves the cursors over batches that bear on no incident.
async fn pass_over(app: &AppState, term: &Term, idle: &[Batch]) -> Result<()> {
    if idle.is_empty() {
        return Ok(());
    }
    app.store
        .txn("correlate.idle", &(term, idle), |db, (term, idle)| {
            Box::pin(async move {
                term::check(db, term).await?;
                cursor::advance(db, CONSUMER, idle).await.map(|_moved| ())
            })
        })
        .await
}

/// Looks whether open incidents are over, which time and other rows decide as much as facts.
pub async fn sweep(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, CONSUMER, holder).await? else { return Ok(Left::NotOurs) };
    let mut troubles = Troubles::default();
    for cluster in app.store.clusters_with_incidents().await? {
        troubles.bear(sweep_one(app, &term, cluster).await)?;
    }
    troubles.end(Left::Nothing)
}

async fn sweep_one(app: &AppState, term: &Term, cluster: ClusterId) -> Result<()> {
    let changes = look(app, cluster, &[]).await?;
    if changes.is_empty() { Ok(()) } else { commit(app, term, cluster, None, &changes).await }
}

/// Judges a batch and commits what it changes. What somebody else changed meanwhile is judged again at the next pass. A
/// fact whose change the database cannot take is put aside alone.
async fn consume(app: &AppState, term: &Term, batch: &Batch) -> Result<()> {
    let changes = judge(app, batch.cluster, &relevant(batch)).await?;
    match commit(app, term, batch.cluster, Some(batch), &changes).await {
        Err(StoreError::Changed { .. }) => Ok(()),
        Err(error) if error.is_of_the_data() => one_by_one(app, term, batch).await,
        done => done,
    }
}

async fn one_by_one(app: &AppState, term: &Term, batch: &Batch) -> Result<()> {
    for one in batch.singles() {
        duty::still_ours(app, term).await?;
        let changes = judge(app, one.cluster, &relevant(&one)).await?;
        match commit(app, term, one.cluster, Some(&one), &changes).await {
            Err(error) if error.is_of_the_data() => {
                project::put_aside(app, term, CONSUMER, &one, &error).await?;
            }
            done => done?,
        }
    }
    Ok(())
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

/// What new facts change; without any, nothing. The sweep asks with no facts of its own: see [`look`].
async fn judge(app: &AppState, cluster: ClusterId, facts: &[Seen]) -> Result<Vec<Change>> {
    if facts.is_empty() { Ok(Vec::new()) } else { look(app, cluster, facts).await }
}

async fn look(app: &AppState, cluster: ClusterId, facts: &[Seen]) -> Result<Vec<Change>> {
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
                    && cursor::advance(db, CONSUMER, slice::from_ref(*batch)).await?.is_empty()
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
