//! The agent of one cluster.
//!
//! Owns everything that Squadron does inside a Kubernetes cluster. Invariant: the agent dials out and is never dialled
//! by the control plane; the API server is the truth about live objects, the disk spool about what was not yet taken.
// Division of work for the moment: the lead writes node/ (node role, kernel lines as Events in the agent's namespace,
// inbox in the controller), logs/ (driver log) and deploy/helm/squadron-agent; the agent helper writes link/, main.rs,
// settings and the wiring.

pub mod clock;
pub mod controller;
pub mod facts;
pub mod logs;
pub mod node;
pub mod plan;
pub mod spool;
pub mod watch;
