//! Simulation: the real deciders of `squadron_core` in virtual time.
//!
//! Owns time, chance and the world around the deciders; owns no rule of theirs. Invariant: same input and same seed, same
//! output to the byte, on every machine. It reads streams that it is handed and does no other I/O.

pub mod fencing;
pub mod replay;
pub mod rng;
