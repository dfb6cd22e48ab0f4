//! The testbed, as its command line shows it.

use std::{ffi::OsStr, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{command, program::Program};

/// A `squadron-testbed` command.
pub fn testbed<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut testbed = command::new(Program::Testbed.path());
    testbed.args(args);
    testbed
}

/// Brings clusters up, or finds them up.
pub fn up(clusters: &[String]) -> Result<()> {
    command::run(&mut testbed(["up", "--clusters", &clusters.join(",")]))
}

/// Takes clusters down.
pub fn down(clusters: &[String]) -> Result<()> {
    command::run(&mut testbed(["down", "--clusters", &clusters.join(",")]))
}

/// The admin kubeconfig of a cluster.
pub fn kubeconfig(cluster: &str) -> Result<PathBuf> {
    let printed = command::output(&mut testbed(["kubeconfig", cluster]))?;
    Ok(PathBuf::from(printed.trim()))
}

/// The folder with kubectl and helm.
pub fn bin() -> Result<PathBuf> {
    let home = std::env::var_os("SQUADRON_TESTBED_HOME").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let home = home.or_else(|| cache.or(user).map(|cache| cache.join("squadron-testbed")));
    Ok(home.context("no home folder is known: set SQUADRON_TESTBED_HOME")?.join("bin"))
}

/// One of the tools that the testbed built, pointed at a cluster.
pub fn tool(name: &str, cluster: &str) -> Result<Command> {
    let mut tool = command::new(bin()?.join(name));
    tool.env("KUBECONFIG", kubeconfig(cluster)?);
    Ok(tool)
}

/// Builds the agent's image and loads it into clusters.
pub fn load_agent(clusters: &[String]) -> Result<()> {
    let binary = Program::Agent.path();
    let mut build =
        testbed(["build-image".as_ref(), "agent".as_ref(), "--binary".as_ref(), binary.as_os_str()]);
    let printed = command::output(&mut build)?;
    let archive = printed.lines().last().unwrap_or_default().trim().to_owned();
    if archive.is_empty() {
        bail!("`{}` printed no path of an image archive", command::shown(&build));
    }
    let mut load = testbed(["load-image"]);
    command::output(load.args(clusters).arg(archive)).map(drop)
}

/// The agent's network: cut off from the control plane, or as it was.
pub fn cut(cluster: &str) -> Result<()> {
    command::output(&mut testbed(["cut", cluster])).map(drop)
}

/// Undoes [`cut`].
pub fn heal(cluster: &str) -> Result<()> {
    command::output(&mut testbed(["heal", cluster])).map(drop)
}
