//! The desk: submissions that come at the same time are looked at together and stored in one transaction.
//!
//! Invariants: a job, its key, its audit row and, if it came by Ray's API, its submission are committed together or not at all;
//! what one of many does wrong harms the others only by a second try. Fails submission by submission: a turn that fails is
//! taken apart, and each then hears what became of it alone.

use std::{collections::BTreeMap, sync::Arc};

use squadron_core::{
    dispatch::{Blocker, Cause, Input, Waiting, plan},
    id::JobId,
};
use squadron_store::{
    PgConnection, Result, audit,
    idempotency::{self, Found, Key},
    job::{self, NewJob, waiting},
    ray_submission::{self, NewSubmission},
};

use crate::{http::page, state::AppState, together::Together, wake::Topic};

/// A submission that was checked.
pub struct Ask {
    pub new: NewJob,
    pub key: Option<Key>,
    pub submission: Option<NewSubmission>,
    pub entry: audit::Entry,
}

/// Submissions in one transaction.
const BATCH: usize = 100;

/// Those who submit now.
pub struct Desk {
    looks: Arc<Together<Waiting, Vec<Blocker>>>,
    commits: Arc<Together<Arc<Ask>, Found>>,
}

impl Default for Desk {
    fn default() -> Self {
        Desk { looks: Arc::new(Together::new(BATCH)), commits: Arc::new(Together::new(BATCH)) }
    }
}

/// What would keep the job waiting for ever, as the fleet and its quotas are now.
pub async fn lasting(app: &AppState, job: Waiting) -> Result<Vec<Blocker>> {
    let work = {
        let app = app.clone();
        move |jobs| {
            let app = app.clone();
            async move { alone_instead(look(&app, jobs).await) }
        }
    };
    match app.desk().looks.ask(job.clone(), work).await {
        Some(blockers) => Ok(blockers),
        None => Ok(look(app, vec![job]).await?.pop().unwrap_or_default()),
    }
}

/// Stores the job, or finds the one that the key stands for.
pub async fn commit(app: &AppState, ask: Ask) -> Result<Found> {
    let ask = Arc::new(ask);
    let work = {
        let app = app.clone();
        move |asks: Vec<Arc<Ask>>| {
            let app = app.clone();
            async move { alone_instead(store(&app, &asks, All::ThatCan).await) }
        }
    };
    if let Some(found) = app.desk().commits.ask(ask.clone(), work).await {
        return Ok(found);
    }
    match alone(app, &ask).await {
        // The same request came twice at once; the other one was first.
        Err(error) if error.violates(idempotency::KEY_TAKEN) => alone(app, &ask).await,
        done => done,
    }
}

/// Stores all of these jobs or finds those that their keys stand for, in one transaction. Where a key stands for another
/// submission, nothing is stored.
pub async fn commit_all(app: &AppState, asks: Vec<Ask>) -> Result<Vec<Found>> {
    let asks: Vec<Arc<Ask>> = asks.into_iter().map(Arc::new).collect();
    match store(app, &asks, All::OrNone).await {
        // The same request came twice at once; the other one was first.
        Err(error) if error.violates(idempotency::KEY_TAKEN) => store(app, &asks, All::OrNone).await,
        done => done,
    }
}

/// What many asked for together; after a failure each asks alone and hears its own error.
fn alone_instead<T>(together: Result<T>) -> Option<T> {
    together.inspect_err(|error| tracing::debug!(%error, "submissions are taken one by one")).ok()
}

async fn alone(app: &AppState, ask: &Arc<Ask>) -> Result<Found> {
    Ok(store(app, std::slice::from_ref(ask), All::ThatCan).await?.pop().unwrap_or(Found::Nothing))
}

/// What lasts of what each job would hear if nothing ran and these were the only ones.
pub async fn look(app: &AppState, jobs: Vec<Waiting>) -> Result<Vec<Vec<Blocker>>> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.job).collect();
    let asked = (page::silence(app), jobs);
    let input = app.store.txn("job.clusters", &asked, |db, (silence, jobs)| {
        Box::pin(async move {
            let mut input = Input { waiting: jobs.clone(), ..waiting::ground(db, *silence).await? };
            waiting::add_prices(db, &mut input).await?;
            Ok(input)
        })
    });
    let input = input.await?;
    let work = tokio::task::spawn_blocking(move || plan(&input).blocked);
    let blocked = work.await.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()));
    let told: BTreeMap<JobId, Vec<Blocker>> =
        blocked.iter().map(|blocked| (blocked.job, lasting_of(&blocked.blockers))).collect();
    Ok(ids.iter().map(|id| told.get(id).cloned().unwrap_or_default()).collect())
}

fn lasting_of(blockers: &[Blocker]) -> Vec<Blocker> {
    blockers.iter().filter(|blocker| lasts(blocker.code)).cloned().collect()
}

fn lasts(code: Cause) -> bool {
    matches!(
        code,
        Cause::TooBig
            | Cause::QuotaNever
            | Cause::Residency
            | Cause::MaxPrice
            | Cause::NoMatchingNode
            | Cause::NoFlavor
            | Cause::NoCluster
    )
}

/// Which submissions are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum All {
    /// Each whose key does not stand for another one.
    ThatCan,
    OrNone,
}

/// Stores submissions in one transaction; then tells.
async fn store(app: &AppState, asks: &[Arc<Ask>], which: All) -> Result<Vec<Found>> {
    let asked = (asks, which);
    let found =
        app.store.txn("job.submit", &asked, |db, (asks, which)| Box::pin(insert(db, asks, *which))).await?;
    if which == All::OrNone && found.iter().any(is_another) {
        return Ok(found);
    }
    for ask in new(asks, &found) {
        app.wake.changed("job", ask.new.id, 1);
        app.wake.notify(Topic::Dispatch);
    }
    Ok(found)
}

fn is_another(found: &Found) -> bool {
    matches!(found, Found::Other(_))
}

async fn insert(db: &mut PgConnection, asks: &[Arc<Ask>], which: All) -> Result<Vec<Found>> {
    let keys: Vec<&Key> = asks.iter().filter_map(|ask| ask.key.as_ref()).collect();
    let mut known = idempotency::find_all(db, &keys).await?.into_iter();
    let mut find = |ask: &Arc<Ask>| ask.key.as_ref().and_then(|_| known.next()).unwrap_or(Found::Nothing);
    let found: Vec<Found> = asks.iter().map(&mut find).collect();
    if which == All::OrNone && found.iter().any(is_another) {
        return Ok(found);
    }
    let new: Vec<&Ask> = new(asks, &found).collect();
    job::insert_all(db, &new.iter().map(|ask| &ask.new).collect::<Vec<_>>()).await?;
    for (ask, submission) in new.iter().filter_map(|ask| Some((ask, ask.submission.as_ref()?))) {
        ray_submission::insert(db, ask.new.id, submission, ask.new.submitted_at).await?;
    }
    let keys = new.iter().filter_map(|ask| Some((ask.key.as_ref()?, ask.new.id, ask.new.submitted_at)));
    idempotency::insert_all(db, &keys.collect::<Vec<_>>()).await?;
    audit::insert_all(db, &new.iter().map(|ask| &ask.entry).collect::<Vec<_>>()).await?;
    Ok(found)
}

/// Those that were not there before.
fn new<'a>(asks: &'a [Arc<Ask>], found: &'a [Found]) -> impl Iterator<Item = &'a Ask> {
    asks.iter().zip(found).filter(|(_, found)| **found == Found::Nothing).map(|(ask, _)| ask.as_ref())
}
