//! The agent of one cluster.
//!
//! Owns everything that Squadron does inside a Kubernetes cluster. Invariant: the agent dials out and is never dialled
//! by the control plane; the API server is the truth about live objects, the disk spool about what was not yet taken.

pub mod arrivals;
pub mod attempts;
pub mod boot;
pub mod clock;
pub mod controller;
pub mod epoch;
pub mod facts;
pub mod fencer;
pub mod lease;
pub mod logs;
pub mod node;
mod pace;
pub mod plan;
pub mod record;
pub mod spool;
pub mod uplink;
pub mod watch;
pub mod watchdog;
