//! Clean: stops every stage and takes their clusters down. What was built stays for `cargo clean`.

use anyhow::Result;
use squadron_e2e::{
    program::Program,
    stage::{Spec, Stage},
    testbed,
};

/// Leaves no process, namespace or data of ours behind.
pub fn run() -> Result<()> {
    for spec in [
        Spec::demo(),
        Spec::tests(),
        Spec::acceptance(),
        Spec::rate(),
        Spec::failover(),
        Spec::rounds(1, 20),
        Spec::rounds(2, 20),
    ] {
        let clusters = spec.clusters.clone();
        Stage::found(spec).strike()?;
        if Program::Testbed.path().exists() {
            testbed::down(&clusters)?;
        }
    }
    Ok(())
}
