//! Peers: other dispatchers as models of their published built-in rules, for comparison. They are not the products.
//!
//! All see the same jobs and capacity as ours, dispatch without delay, and know nothing of fairness or durations.

mod fifo;
mod hash;
mod multikueue;
mod rooms;

pub(super) use fifo::Fifo;
pub(super) use hash::Hash;
pub(super) use multikueue::MultiKueue;
