//! Watch: follows the API server and hands on what changed.
//!
//! Owns one watch per kind, the cached objects and the memory of what was emitted. Invariant: every change becomes at
//! most one fact and wakes every object whose view holds it; a lost connection is followed by a new list, which is the
//! same path as the first. A watch that fails is retried for ever with growing pauses; the API server is the truth.

mod cache;

mod kind;
pub mod object;
mod observe;
mod owners;
mod run;
mod shelf;
mod teller;
mod warnings;

pub use cache::Cache;
pub use kind::{Kind, Target, TargetKind, owning_job};
pub use run::{Outlets, start};
pub use shelf::Shelf;

use squadron_core::{fact::Fact, time::Timestamp};
use tokio::sync::mpsc;

/// A fact on its way to the spool, with the time it was observed.
pub type FactSender = mpsc::Sender<(Timestamp, Fact)>;
