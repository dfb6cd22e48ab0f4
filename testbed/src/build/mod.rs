//! Builds what a cluster consists of: binaries from Go modules.
//!
//! Invariant: a binary is built only when the key of what it is made of (module files, flags, Go's version) differs from
//! the key it was built with; it is replaced in one step, so an interrupted build leaves the old one or none.

mod go;
mod kubernetes;
mod module;

pub use kubernetes::{binary as kubernetes_binary, default_version};

use crate::error::Result;
use crate::home::Home;

/// Makes sure that all binaries of a cluster with these settings are there.
pub fn ensure_cluster_binaries(home: &Home, kubernetes_version: &str) -> Result<()> {
    for module in [kubernetes::module(home, kubernetes_version)?, module::etcd(), module::addons()] {
        go::ensure(home, &module)?;
    }
    Ok(())
}

/// Only the module that holds this binary or has this name. Nothing when there is no such module.
pub fn ensure_named(home: &Home, name: &str, kubernetes_version: &str) -> Result<bool> {
    let known =
        [module::etcd(), module::addons(), module::kwok(), kubernetes::module(home, kubernetes_version)?];
    match known.iter().find(|module| module.answers_to(name)) {
        Some(module) => go::ensure(home, module).map(|()| true),
        None => Ok(false),
    }
}
