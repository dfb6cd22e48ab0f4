//! Follow: commands that stay until something ends.
//!
//! Invariant: leaving never changes the job; a server that goes away and comes back costs a line on stderr, not the
//! place in the output. Gives up after [`PATIENCE`] without an answer.

pub mod log;
mod screen;
pub mod wait;

use std::{future::Future, time::Duration};

use squadron_api::job::Job;

use crate::{
    app::App,
    client::{ClientError, retry},
    failure::Failure,
    out::Out,
    render::plain,
};

/// How long a follower goes on without any answer of the server.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Runs until done or Ctrl-C; `None` says that the person left.
pub async fn until_left<T>(
    app: &App,
    job: &Job,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    tokio::select! {
        done = work => done.map(Some),
        _ = tokio::signal::ctrl_c() => {
            let (program, name, id) = (app.program, plain(&job.name), job.id);
            app.out.note(&format!(
                "\nleft {name}; it goes on. Look again: {program} logs -f {id}. Stop it: {program} cancel {id}"
            ));
            Ok(None)
        }
    }
}

/// Bears a server that is away for a while: says so once, pauses longer each time, says when it is back.
#[derive(Debug)]
pub struct Outage {
    out: Out,
    tries: u32,
    since: Option<tokio::time::Instant>,
}

impl Outage {
    pub fn none(out: Out) -> Self {
        Outage { out, tries: 0, since: None }
    }

    /// The server answered.
    pub fn over(&mut self) {
        if let Some(since) = self.since.take().filter(|since| since.elapsed() > Duration::from_secs(1)) {
            self.out.note(&format!("the server answers again after {} s", since.elapsed().as_secs()));
        }
        self.tries = 0;
    }

    /// The server did not answer: pauses, or gives up on what will not pass. `then` says what happens next.
    pub async fn bear(&mut self, error: ClientError, then: &str) -> Result<(), Failure> {
        let since = *self.since.get_or_insert_with(tokio::time::Instant::now);
        if !error.is_passing() || since.elapsed() > PATIENCE {
            return Err(error.into());
        }
        self.tries += 1;
        if self.tries == 1 {
            self.out.note(&format!("{error}; {then}"));
        }
        tokio::time::sleep(retry::backoff(self.tries)).await;
        Ok(())
    }
}
