//! Processes that the testbed started: how they are recorded, started, recognised again and ended.
//!
//! Invariant: a signal goes only to a process that is proven ours, by its pid file with start time and boot, by its
//! network namespace, by its cgroup, or by the socket in its arguments. A recycled pid is never touched.

mod daemon;
mod ending;
mod owned;
mod pidfile;
mod proc;

pub use daemon::Daemon;
pub use ending::{end_all, kill_all};
pub use owned::{in_cgroup, in_space, shims};
pub use pidfile::PidFile;
pub use proc::{Process, resident_kib};
