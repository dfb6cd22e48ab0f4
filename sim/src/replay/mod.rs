//! Replay: a trace of jobs over a fleet in virtual time.
//!
//! Owns the two input files, the event loop and the figures. Invariant: a job starts once, on one cluster, never beyond its
//! capacity; the loop checks this itself and does not trust the policy. Fails by refusing its input with a place and a
//! reason, or by naming the rule that a policy broke.

mod engine;
pub mod export;
pub mod figures;
pub mod generate;
pub mod input;
mod live;
mod peers;
mod policy;
mod share;
mod squadron;
#[cfg(test)]
mod tests;
mod world;

pub use engine::{Outcome, Run, replay};
pub use policy::{PolicyName, Setting};
pub use world::Broken;
