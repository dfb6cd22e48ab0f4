//! Duties: of several control planes, one does a task.
//!
//! Owns what this process saw of each duty's row. Invariant: a duty is taken only when its row stood still for a while on
//! this process's own clock, so wall clocks neither steal nor keep one, or when its holder left it. Lost with the process; the next one waits
//! that long.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use squadron_core::lease::{Duty, Race, Row, Tick};
use squadron_store::{
    Result, StoreError,
    term::{self, Term},
};
use uuid::Uuid;

use crate::{clock, state::AppState};

/// A row that nobody touched for this long is free, in milliseconds. After a crash nobody does the task until then.
const PATIENCE: u64 = 4_000;

/// Leaving takes no longer.
const LEAVING: Duration = Duration::from_secs(2);

/// What was seen of duties, by each holder that this process has been.
#[derive(Default)]
pub struct Races(Mutex<BTreeMap<(Uuid, &'static str), Race>>);

impl Races {
    fn look(&self, duty: &'static str, holder: Uuid, (row, history): (Row, u64), now: Tick) -> Duty {
        let mut races = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let race = races.entry((holder, duty)).or_default();
        race.look(row, term::name(holder), history, PATIENCE, now)
    }
}

/// The term of the duty, or None while another process holds it.
pub(super) async fn hold(app: &AppState, duty: &'static str, holder: Uuid) -> Result<Option<Term>> {
    if let Some(term) = app.store.keep_duty(duty, holder).await? {
        return Ok(Some(term));
    }
    let seen = app.store.duty(duty).await?;
    match app.races().look(duty, holder, seen, clock::tick()) {
        Duty::Take(next) | Duty::Keep(next) => app.store.take_duty(duty, holder, &seen.0, &next).await,
        Duty::Wait => Ok(None),
    }
}

/// Keeps the duty within a pass; call it before each of many batches, which together take longer than the others' patience
/// with a duty that nobody keeps. The pass ends if another process has it, or had it meanwhile.
pub(super) async fn still_ours(app: &AppState, term: &Term) -> Result<()> {
    let kept = app.store.keep_duty(term.duty, term.holder).await?;
    if kept.as_ref() == Some(term) { Ok(()) } else { Err(StoreError::Fenced { duty: term.duty }) }
}

/// Leaves all duties at the end of the process; the next one waits if that fails.
pub(super) async fn leave(app: &AppState, holder: Uuid) {
    match tokio::time::timeout(LEAVING, app.store.leave_duties(holder)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the duties are not left; the next process waits for them"),
        Err(_late) => tracing::debug!("the duties are not left in time; the next process waits for them"),
    }
}
