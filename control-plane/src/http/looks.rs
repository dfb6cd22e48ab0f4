//! Looks: decisions that are made only to be shown, on threads of their own and few at a time.
//!
//! Invariant: people who look never keep the dispatcher from deciding. A look goes on when its caller has left, and holds
//! its place until it is done; who waits too long for a place is answered by the deadline of requests.

use std::sync::{Arc, LazyLock};

use tokio::sync::Semaphore;

use super::error::{Api, Result};

/// Looks that are made at one time; more wait.
static LOOKS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(2)));

/// Does the work of a look.
pub async fn look<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let permit = LOOKS.clone().acquire_owned().await.map_err(|closed| Api::internal(&closed))?;
    let work = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    });
    work.await.map_err(|panicked| Api::internal(&panicked))
}
