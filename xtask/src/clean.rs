//! Clean: stops every stage and takes their clusters down. What was built stays for `cargo clean`.

use anyhow::Result;
use squadron_e2e::{
    program::Program,
    stage::{Spec, Stage},
    testbed,
};

use crate::multikueue;

/// Leaves no process, namespace or data of ours behind.
pub fn run() -> Result<()> {
    for spec in [
        Spec::demo(),
        Spec::tests(),
        Spec::acceptance(),
        Spec::rate(),
        Spec::failover(),
        Spec::flood(),
        Spec::rounds(1, 20),
        Spec::rounds(2, 20),
    ] {
        let clusters = spec.clusters.clone();
        Stage::found(spec).strike()?;
        down(clusters)?;
    }
    for manager in multikueue::MANAGERS {
        multikueue::stop_manager(manager)?;
        down(vec![manager.to_owned()])?;
    }
    Ok(())
}

/// Takes those of the clusters down that were ever made.
fn down(mut clusters: Vec<String>) -> Result<()> {
    if !Program::Testbed.path().exists() {
        return Ok(());
    }
    let known = testbed::known()?;
    clusters.retain(|cluster| known.contains(cluster));
    if clusters.is_empty() { Ok(()) } else { testbed::down(&clusters) }
}
