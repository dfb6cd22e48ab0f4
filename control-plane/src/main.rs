//! The control plane's command line.

fn main() {}
