//! The agent of one cluster.
//!
//! Owns everything that Squadron does inside a Kubernetes cluster. Invariant: the agent dials out and is never dialled
//! by the control plane; the API server is the truth about live objects, the disk spool about what was not yet taken.

pub mod controller;
pub mod facts;
pub mod plan;
pub mod watch;
