//! The line's own chores: counts of long lines, and estimates of how long jobs will wait.
//!
//! Invariant: what it writes only says how things stand; nothing is decided by it. It rests for many times as long as it worked,
//! so that a line of a million jobs costs the dispatcher little. Fails by being old; repaired by the next pass.

use std::time::Duration;

use squadron_store::{Result, job::place, run_time, term};
use tokio::time::Instant;
use uuid::Uuid;

use super::{Left, duty, estimates, tell_failure, tell_holder, tell_recovery};
use crate::{clock, http::error::chain, state::AppState};

const NAME: &str = "line";
/// A pass comes at most so often.
const EVERY: Duration = Duration::from_secs(1);
/// Of its time, the task works at most one part of so many.
const SHARE: u32 = 20;

/// Runs until it is dropped.
pub async fn run(app: &AppState, holder: Uuid) {
    let (mut failing, mut elsewhere, mut due) = (false, false, Instant::now());
    loop {
        let begun = Instant::now();
        let done = match due <= begun {
            true => pass(app, holder).await,
            // While it rests, nobody else shall take the duty.
            false => {
                duty::hold(app, NAME, holder).await.map(|held| held.map_or(Left::NotOurs, |_| Left::Nothing))
            }
        };
        if due <= begun {
            tracing::trace!(task = NAME, millis = begun.elapsed().as_millis(), "pass");
            due = Instant::now() + begun.elapsed() * SHARE;
        }
        match done {
            Ok(left) => {
                tell_recovery(NAME, &mut failing);
                tell_holder(NAME, left == Left::NotOurs, &mut elsewhere);
            }
            Err(error) => tell_failure(NAME, chain(&error), &mut failing),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Counts the long lines, then estimates the time of jobs whose place has halved.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(held) = duty::hold(app, NAME, holder).await? else { return Ok(Left::NotOurs) };
    app.store
        .txn("line.count", &held, |db, held| {
            Box::pin(async move {
                term::check(db, held).await?;
                run_time::forget(db, clock::now()).await?;
                place::recount(db, clock::now()).await
            })
        })
        .await?;
    app.store
        .txn("line.estimate", &held, |db, held| {
            Box::pin(async move {
                term::check(db, held).await?;
                estimates::give(db, clock::now()).await
            })
        })
        .await?;
    Ok(Left::Nothing)
}
