//! Counts what tests' tasks ask of the database.
//!
//! Invariant: counts what this thread sends from the moment it is made, so it belongs into tests with one thread.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{Layer, layer::Context, prelude::*};

/// Statements that this thread's tasks sent to the database.
#[derive(Clone, Default)]
pub(super) struct Statements(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Statements {
    /// Counts as long as the guard lives.
    pub(super) fn counted() -> (Statements, DefaultGuard) {
        let statements = Statements::default();
        let guard = tracing_subscriber::registry().with(statements.clone()).set_default();
        (statements, guard)
    }

    /// Statements since the last look.
    pub(super) fn count(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}
