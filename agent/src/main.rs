//! The agent of one cluster.
fn main() {}
