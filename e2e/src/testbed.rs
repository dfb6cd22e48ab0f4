//! The testbed, as its command line shows it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{command, program::Program};

/// A `squadron-testbed` command.
pub fn testbed<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut testbed = command::new(Program::Testbed.path());
    testbed.args(args);
    testbed
}

/// Brings clusters up, or finds them up.
pub fn up(clusters: &[String], more: &[&str]) -> Result<()> {
    command::run(testbed(["up", "--clusters", &clusters.join(",")]).args(more))
}

/// Takes clusters down.
pub fn down(clusters: &[String]) -> Result<()> {
    command::run(testbed(["down"]).args(clusters))
}

/// Names of the clusters that the testbed knows, up or not.
pub fn known() -> Result<Vec<String>> {
    let printed = command::output(&mut testbed(["status", "-o", "json"]))?;
    let statuses: Vec<Value> = serde_json::from_str(&printed).context("reading the testbed's status")?;
    Ok(statuses.iter().filter_map(|one| one["name"].as_str().map(str::to_owned)).collect())
}

/// The admin kubeconfig of a cluster.
pub fn kubeconfig(cluster: &str) -> Result<PathBuf> {
    let printed = command::output(&mut testbed(["kubeconfig", cluster]))?;
    Ok(PathBuf::from(printed.trim()))
}

fn home() -> Result<PathBuf> {
    let named = std::env::var_os("SQUADRON_TESTBED_HOME").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let home = named.or_else(|| cache.or(user).map(|cache| cache.join("squadron-testbed")));
    home.context("no home folder is known: set SQUADRON_TESTBED_HOME")
}

/// The folder with kubectl and helm.
pub fn bin() -> Result<PathBuf> {
    Ok(home()?.join("bin"))
}

/// The fake kernel log of a cluster, a path on its node.
pub fn kernel_log(cluster: &str) -> Result<PathBuf> {
    Ok(home()?.join("clusters").join(cluster).join("fake-kmsg"))
}

/// What the API server of a cluster made with `--audit` writes, a line of JSON for each write.
pub fn audit_log(cluster: &str) -> Result<PathBuf> {
    Ok(home()?.join("clusters").join(cluster).join("log/audit.log"))
}

/// The certificate authority of a cluster.
pub fn ca(cluster: &str) -> Result<PathBuf> {
    Ok(home()?.join("clusters").join(cluster).join("pki/ca.crt"))
}

/// One of the tools that the testbed built, pointed at a cluster.
pub fn tool(name: &str, cluster: &str) -> Result<Command> {
    let mut tool = command::new(bin()?.join(name));
    tool.env("KUBECONFIG", kubeconfig(cluster)?);
    Ok(tool)
}

/// Builds the agent's image and loads it into a cluster.
pub fn load_agent(cluster: &str) -> Result<()> {
    load_agent_from(&Program::Agent.path(), cluster)
}

/// Builds the agent's image of this program and loads it into a cluster.
pub fn load_agent_from(binary: &Path, cluster: &str) -> Result<()> {
    command::output(testbed(["build-image", "agent", "--binary"]).arg(binary))?;
    command::output(&mut testbed(["load-image", cluster, "agent"])).map(drop)
}

/// Drops everything between the cluster and a port of the control plane, both ways.
pub fn cut(cluster: &str, port: u16) -> Result<()> {
    command::output(&mut testbed(["cut", cluster, "--port", &port.to_string()])).map(drop)
}

/// Refuses everything that the cluster sends to a port of the control plane, as when nothing listens there.
pub fn refuse(cluster: &str, port: u16) -> Result<()> {
    command::output(&mut testbed(["cut", cluster, "--refuse", "--port", &port.to_string()])).map(drop)
}

/// Undoes [`cut`] and [`refuse`].
pub fn heal(cluster: &str) -> Result<()> {
    command::output(&mut testbed(["heal", cluster])).map(drop)
}

/// Appends a line to the fake kernel log that the node role of the agent reads.
pub fn kernel_line(cluster: &str, line: &str) -> Result<()> {
    command::output(&mut testbed(["fake-kernel-line", cluster, line])).map(drop)
}
