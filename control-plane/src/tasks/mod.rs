//! Tasks: what the control plane does by itself, again and again.
//!
//! Owns the loops around the deciders: each pass loads a snapshot, decides, commits, and then tells. Invariants: every
//! pass does the whole work from what the database holds, so a start, a recovery and a normal pass are the same; every
//! write of a pass checks the term of its duty in its own transaction, so of several control planes one writes. Fails
//! pass by pass: the error is logged, nothing was written, and the next pass tries again.

mod arrival;
pub mod correlate;
pub mod dispatch;
pub mod duty;
mod estimates;
#[cfg(test)]
mod failover_tests;
pub mod line;
pub mod lost;
#[cfg(test)]
mod lost_tests;
pub mod packages;
#[cfg(test)]
mod preempt_tests;
pub mod project;
pub mod release;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod tests;
mod troubles;

use std::{fmt::Display, pin::Pin, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    http::error::chain,
    state::AppState,
    wake::{Listener, Topic},
};

/// A pass comes at least this often, hint or not.
const EVERY: Duration = Duration::from_secs(1);
/// A task rests twice as long as it worked, so that under load what comes one by one is done together, but no longer than this.
const LONGEST_REST: Duration = Duration::from_millis(100);
/// Letting go is looked for in all attempts and hurries nobody: it rests so long at least, which makes many of one go together.
const RELEASE_REST: Duration = Duration::from_millis(250);
/// Incidents end by minutes and hours, not by seconds.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Packages, and classes of which no job waits, are kept for days.
const KEEPING_EVERY: Duration = Duration::from_secs(60);

/// Runs all tasks as `holder` until `stop`, then leaves the duties to the next process.
pub async fn run_until(stop: CancellationToken, app: AppState) {
    let holder = Uuid::now_v7();
    tokio::select! {
        () = stop.cancelled() => duty::leave(&app, holder).await,
        () = run(app.clone(), holder) => {}
    }
}

async fn run(app: AppState, holder: Uuid) {
    tokio::join!(
        forever(
            &app,
            holder,
            Task {
                idle: Some((EVERY, |app, holder| Box::pin(arrival::pass(app, holder)))),
                ..Task::new("project", Topic::Facts, |app, holder| Box::pin(project::pass(app, holder)))
            }
        ),
        forever(
            &app,
            holder,
            Task {
                idle: Some((SWEEP_EVERY, |app, holder| Box::pin(correlate::sweep(app, holder)))),
                ..Task::new("correlate", Topic::Facts, |app, holder| Box::pin(correlate::pass(app, holder)))
            }
        ),
        lost::run(&app, holder),
        line::run(&app, holder),
        forever(
            &app,
            holder,
            Task {
                idle: Some((KEEPING_EVERY, |app, holder| Box::pin(dispatch::sweep(app, holder)))),
                ..Task::new("dispatch", Topic::Dispatch, |app, holder| Box::pin(dispatch::pass(app, holder)))
            }
        ),
        forever(
            &app,
            holder,
            Task {
                least_rest: RELEASE_REST,
                idle: Some((KEEPING_EVERY, |app, holder| Box::pin(packages::pass(app, holder)))),
                ..Task::new("release", Topic::Dispatch, |app, holder| Box::pin(release::pass(app, holder)))
            }
        ),
    );
}

/// Whether a pass left work behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    Nothing,
    More,
    /// The duty is another process's.
    NotOurs,
}

/// One pass of a task.
type Pass =
    for<'a> fn(&'a AppState, Uuid) -> Pin<Box<dyn Future<Output = squadron_store::Result<Left>> + Send + 'a>>;

/// What is done again and again, and when.
struct Task {
    name: &'static str,
    /// Hints that make a pass come earlier.
    topic: Topic,
    pass: Pass,
    /// At least so long after a pass comes no other.
    least_rest: Duration,
    /// Done in the same loop when nothing is left, at most so often.
    idle: Option<(Duration, Pass)>,
}

impl Task {
    fn new(name: &'static str, topic: Topic, pass: Pass) -> Task {
        Task { name, topic, pass, least_rest: Duration::ZERO, idle: None }
    }
}

async fn forever(app: &AppState, holder: Uuid, task: Task) {
    let Task { name, topic, pass, least_rest, idle } = task;
    let mut hints: Listener = app.wake.listen(topic);
    let (mut failing, mut elsewhere, mut idled) = (false, false, Instant::now());
    loop {
        let begun = Instant::now();
        let mut done = pass(app, holder).await;
        if let (Ok(Left::Nothing), Some((every, sweep))) = (&done, &idle)
            && idled.elapsed() >= *every
        {
            (done, idled) = (sweep(app, holder).await, Instant::now());
        }
        tracing::trace!(task = name, millis = begun.elapsed().as_millis(), "pass");
        if let Ok(left) = done {
            tell_holder(name, left == Left::NotOurs, &mut elsewhere);
        }
        tokio::time::sleep((begun.elapsed() * 2).min(LONGEST_REST).max(least_rest)).await;
        match done {
            Ok(Left::More) => continue,
            Ok(Left::Nothing | Left::NotOurs) => tell_recovery(name, &mut failing),
            Err(error) => tell_failure(name, chain(&error), &mut failing),
        }
        hints.next(EVERY).await;
    }
}

fn tell_holder(name: &'static str, is_elsewhere: bool, elsewhere: &mut bool) {
    if std::mem::replace(elsewhere, is_elsewhere) == is_elsewhere {
        return;
    }
    if is_elsewhere {
        tracing::warn!(
            task = name,
            "another control plane on this database holds this duty; it is not done here"
        );
    } else {
        tracing::info!(task = name, "this control plane holds the duty now");
    }
}

fn tell_recovery(name: &'static str, failing: &mut bool) {
    if std::mem::take(failing) {
        tracing::info!(task = name, "the task works again");
    }
}

fn tell_failure(name: &'static str, error: impl Display, failing: &mut bool) {
    if !std::mem::replace(failing, true) {
        tracing::warn!(task = name, %error, "a pass failed and changed nothing; it is tried again");
    }
}
