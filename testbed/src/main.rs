//! Real Kubernetes clusters on one machine.
fn main() {}
