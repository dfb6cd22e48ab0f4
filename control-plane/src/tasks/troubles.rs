//! What a pass bears: the trouble of one cluster or job must not keep the others waiting.
//!
//! Invariant: a pass that met trouble ends with it, so it is logged and tried again; a database that cannot work, and a
//! duty that was lost, end the pass at once.

use squadron_store::{Result, StoreError};

use super::Left;

/// The first trouble of a pass.
#[derive(Default)]
pub(super) struct Troubles(Option<StoreError>);

impl Troubles {
    /// Remembers what concerns one thing only; answers what concerns all.
    pub(super) fn bear(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Ok(()) => Ok(()),
            Err(error) if concerns_all(&error) => Err(error),
            Err(error) => {
                self.0.get_or_insert(error);
                Ok(())
            }
        }
    }

    /// How the pass ends.
    pub(super) fn end(self, left: Left) -> Result<Left> {
        self.0.map_or(Ok(left), Err)
    }
}

/// Whether the trouble is not of one cluster or job.
pub(super) fn concerns_all(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::Fenced { .. })
}
