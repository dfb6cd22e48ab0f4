//! Looks: decisions that are made only to be shown, on threads of their own and few at a time.
//!
//! Invariant: people who look never keep the dispatcher from deciding. A look takes its seat before it reads the fleet, so few
//! snapshots are held at one time, and what waited long is decided by what is true now. It goes on when its caller has left,
//! and holds its seat until it is done; who waits too long for one is answered by the deadline of requests.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{Api, Result};

/// Looks that are made at one time; more wait.
static LOOKS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(2)));

/// Leave to look once.
pub struct Seat {
    _permit: OwnedSemaphorePermit,
}

/// Waits for a seat. Take it before what is looked at is read.
pub async fn seat() -> Result<Seat> {
    let permit = LOOKS.clone().acquire_owned().await.map_err(|closed| Api::internal(&closed))?;
    Ok(Seat { _permit: permit })
}

impl Seat {
    /// Does the work of the look.
    pub async fn look<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(self);
            done
        });
        work.await.map_err(|panicked| Api::internal(&panicked))
    }
}
