//! KubeRay's Go module, pinned in testbed/go/kuberay/go.mod: its operator, its CRDs and its suites, built unchanged.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use squadron_e2e::{command, testbed};

const MODULE: &str = "github.com/ray-project/kuberay/ray-operator";

fn go() -> Command {
    let mut go = command::new("go");
    go.current_dir(command::root().join("testbed/go/kuberay")).env("GOFLAGS", "-mod=readonly");
    go
}

fn built(name: &str) -> Result<PathBuf> {
    let folder = testbed::bin()?.join("kuberay");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.join(name))
}

/// Where the module's sources lie, with the data that its suites read.
pub fn folder() -> Result<PathBuf> {
    command::run(go().args(["mod", "download", MODULE]))?;
    let printed = command::output(go().args(["list", "-m", "-f", "{{.Dir}}", MODULE]))?;
    Ok(PathBuf::from(printed.trim()))
}

/// The CRDs that KubeRay's operator needs.
pub fn crds() -> Result<PathBuf> {
    Ok(folder()?.join("config/crd/bases"))
}

/// Builds the operator, or finds it built.
pub fn operator() -> Result<PathBuf> {
    let path = built("kuberay-operator")?;
    build(go().arg("build").arg("-o").arg(&path).arg(MODULE))?;
    Ok(path)
}

/// Builds a suite's test program, or finds it built.
pub fn suite(name: &str) -> Result<PathBuf> {
    let path = built(&format!("{name}.test"))?;
    build(go().args(["test", "-c", "-o"]).arg(&path).arg(format!("{MODULE}/test/{name}")))?;
    Ok(path)
}

/// The folder that a suite must be run in.
pub fn suite_folder(module: &Path, name: &str) -> PathBuf {
    module.join("test").join(name)
}

fn build(command: &mut Command) -> Result<()> {
    println!("{} (3 minutes the first time)", command::shown(command));
    command::run(command)
}
