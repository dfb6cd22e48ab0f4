//! KubeRay's Go module: its operator, its CRDs and its suites, built unchanged.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::rival::Rival;

const KUBERAY: Rival = Rival { name: "kuberay", module: "github.com/ray-project/kuberay/ray-operator" };

/// Where the module's sources lie, with the data that its suites read.
pub fn folder() -> Result<PathBuf> {
    KUBERAY.folder()
}

/// The CRDs that KubeRay's operator needs.
pub fn crds() -> Result<PathBuf> {
    Ok(folder()?.join("config/crd/bases"))
}

/// Builds the operator, or finds it built.
pub fn operator() -> Result<PathBuf> {
    KUBERAY.program("", "kuberay-operator")
}

/// Builds a suite's test program, or finds it built.
pub fn suite(name: &str) -> Result<PathBuf> {
    KUBERAY.test_program(&format!("/test/{name}"), &format!("{name}.test"))
}

/// The folder that a suite must be run in.
pub fn suite_folder(module: &Path, name: &str) -> PathBuf {
    module.join("test").join(name)
}
