//! The line's own chores: counts of long lines, and estimates of how long jobs will wait.
//!
//! Invariant: what it writes only says how things stand; nothing is decided by it. It rests for many times as long as it worked,
//! so that a line of a million jobs costs the dispatcher little. Fails by being old; repaired by the next pass.

use std::time::Duration;

use squadron_store::{Result, job::place, term};
use tokio::time::Instant;
use uuid::Uuid;

use super::{Left, duty, estimates};
use crate::{clock, state::AppState};

/// A pass comes at most so often.
const EVERY: Duration = Duration::from_secs(1);
/// Of its time, the task works at most one part of so many.
const SHARE: u32 = 20;

/// Runs until it is dropped.
pub async fn run(app: &AppState, holder: Uuid) {
    loop {
        let begun = Instant::now();
        if let Err(error) = pass(app, holder).await {
            tracing::warn!(%error, "lines were not counted; it is tried again");
        }
        tracing::trace!(task = "line", millis = begun.elapsed().as_millis(), "pass");
        tokio::time::sleep((begun.elapsed() * SHARE).max(EVERY)).await;
    }
}

/// Counts the long lines, then estimates the time of jobs whose place has halved.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(held) = duty::hold(app, "line", holder).await? else { return Ok(Left::NotOurs) };
    app.store
        .txn("line.count", &held, |db, held| {
            Box::pin(async move {
                term::check(db, held).await?;
                place::recount(db, clock::now()).await?;
                estimates::give(db, clock::now()).await
            })
        })
        .await?;
    Ok(Left::Nothing)
}
