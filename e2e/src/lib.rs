//! The stage: real programs on real clusters, for the end-to-end tests, the demo, the acceptance run and benchmarks.
//!
//! Owns how the programs are started, found again and stopped. Invariant: setting a stage is repeatable; whatever
//! an interrupted run left is taken over or replaced. A failure names the program and shows its last words.

pub mod clock;
pub mod command;
pub mod console;
pub mod daemon;
pub mod database;
pub mod job;
pub mod program;
pub mod ray_client;
pub mod rounds;
pub mod runs;
pub mod stage;
pub mod testbed;
pub mod wait;
