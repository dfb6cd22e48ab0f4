//! Counts what tests' tasks ask of the database.
//!
//! Invariant: counts what this thread sends from the moment it is made, so it belongs into tests with one thread.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tracing::{
    field::{Field, Visit},
    subscriber::DefaultGuard,
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

/// Statements that this thread's tasks sent to the database, and rows that they got.
#[derive(Clone, Default)]
pub(super) struct Statements {
    sent: Arc<AtomicUsize>,
    rows: Arc<AtomicUsize>,
}

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            self.sent.fetch_add(1, Ordering::Relaxed);
            event.record(&mut Rows(&self.rows));
        }
    }
}

struct Rows<'a>(&'a AtomicUsize);

impl Visit for Rows<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "rows_returned" {
            self.0.fetch_add(usize::try_from(value).unwrap_or(usize::MAX), Ordering::Relaxed);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
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
        self.count_with_rows().0
    }

    /// The same, and the rows that they got.
    pub(super) fn count_with_rows(&self) -> (usize, usize) {
        (self.sent.swap(0, Ordering::Relaxed), self.rows.swap(0, Ordering::Relaxed))
    }
}
