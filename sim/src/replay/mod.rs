//! Replay: a trace of jobs over a fleet in virtual time.
//!
//! Owns the two input files, the event loop and the figures. Invariant: a job starts once, on one cluster, never beyond its
//! capacity; the loop checks this itself and does not trust the policy. Fails by refusing its input with a place and a reason.

pub mod input;
