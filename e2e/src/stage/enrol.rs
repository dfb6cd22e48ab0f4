//! Enrolment: each cluster of a stage gets the agent of this build and is accepted.
//!
//! A mark in the cluster says which control plane it was enrolled with and which build of the agent it holds, so the
//! mark goes when the cluster goes.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Stage;
use crate::{
    command,
    program::Program,
    testbed,
    wait::{self, Look},
};

/// How long an agent may take from its installation to its first word.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where the chart installs the agent.
pub const NAMESPACE: &str = "squadron";
const MARK: &str = "squadron-stage";

impl Stage {
    /// Enrols the cluster unless it is, brings its agent to this build and waits until it is heard.
    pub(super) fn ensure_agent(&self, cluster: &str) -> Result<()> {
        let build = Program::Agent.stamp()?;
        let enrolled_with = self.mark(cluster, "control-plane")?;
        let holds = self.mark(cluster, "agent")?;
        if holds != build {
            testbed::load_agent(cluster)?;
        }
        if enrolled_with != self.identity()? {
            self.enrol(cluster)?;
        } else if holds != build {
            self.upgrade(cluster)?;
        }
        self.set_mark(cluster, &build)?;
        self.wait_until_heard(cluster)
    }

    /// Adds the cluster, runs the Helm command that this prints, and accepts.
    fn enrol(&self, cluster: &str) -> Result<()> {
        self.forget(cluster)?;
        let added = self.json(&["cluster", "add", cluster])?;
        let install =
            added["helm_command"].as_str().context("`squadron cluster add` named no Helm command")?;
        let settings: String =
            self.settings(cluster)?.iter().map(|setting| format!(" --set '{setting}'")).collect();
        let mut shell = command::new("bash");
        shell
            .args(["-euc", &format!("{}{settings}", install.trim_end())])
            .env("PATH", path_with_tools()?)
            .env("KUBECONFIG", testbed::kubeconfig(cluster)?);
        command::output(&mut shell)?;
        let limit = PATIENCE.as_secs().to_string();
        self.squadron(&["cluster", "accept", cluster, "--yes", "--wait", "--timeout", &limit])?.ok().map(drop)
    }

    /// Brings an enrolled agent to the chart and the image of today.
    fn upgrade(&self, cluster: &str) -> Result<()> {
        let mut helm = testbed::tool("helm", cluster)?;
        helm.args([
            "upgrade",
            "squadron-agent",
            "deploy/helm/squadron-agent",
            "-n",
            NAMESPACE,
            "--reset-then-reuse-values",
        ]);
        for setting in self.settings(cluster)? {
            helm.args(["--set", &setting]);
        }
        command::output(&mut helm)?;
        self.restart_agent(cluster)
    }

    /// What the stage sets in the agent's chart. The node role reads the real kernel log, of which it tells only what
    /// happens below the cluster's own cgroup, since all clusters of a machine share it, and the testbed's fake one, where
    /// GPU faults are written.
    fn settings(&self, cluster: &str) -> Result<Vec<String>> {
        let fake = testbed::kernel_log(cluster)?;
        let node = [
            format!("node.kmsg={{/dev/kmsg,{}}}", fake.display()),
            format!("node.cgroupRoot=/sqt-{cluster}/"),
            "node.statePath=".to_owned(),
        ];
        Ok(node.into_iter().chain(self.spec.chart.iter().map(|&more| more.to_owned())).collect())
    }

    /// Removes the agent of an earlier enrolment.
    fn forget(&self, cluster: &str) -> Result<()> {
        let mut uninstall = testbed::tool("helm", cluster)?;
        uninstall.args(["uninstall", "squadron-agent", "-n", NAMESPACE, "--ignore-not-found", "--wait"]);
        command::output(&mut uninstall).map(drop)
    }

    /// Whether the control plane knows a cluster that does not know it: the cluster was made anew since.
    pub(super) fn is_stale(&self) -> Result<bool> {
        for cluster in &self.spec.clusters {
            let known = self.cluster(cluster)?.is_some_and(|known| known["state"] != "invited");
            if known && self.mark(cluster, "control-plane")? != self.identity()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the agent's pods come up anew, with the image that was just loaded.
    pub fn restart_agent(&self, cluster: &str) -> Result<()> {
        self.kubectl(cluster, &["-n", NAMESPACE, "delete", "pod", "--all", "--wait=true"]).map(drop)
    }

    /// The cluster as the control plane tells of it.
    pub fn cluster(&self, name: &str) -> Result<Option<Value>> {
        let listed = self.json(&["cluster", "list"])?;
        let items = listed["items"].as_array().or(listed.as_array()).cloned().unwrap_or_default();
        Ok(items.into_iter().find(|cluster| cluster["name"] == name))
    }

    /// Waits until the control plane gives the cluster one of `states`.
    pub fn wait_for_state(&self, name: &str, states: &[&str]) -> Result<()> {
        wait::until(&format!("cluster {name} to be {}", states.join(" or ")), PATIENCE, || {
            let Some(cluster) = self.cluster(name)? else { bail!("there is no such cluster") };
            let state = cluster["state"].as_str().unwrap_or_default();
            Ok(if states.contains(&state) {
                Look::Found(())
            } else {
                Look::NotYet(cluster["sentence"].to_string())
            })
        })
    }

    fn wait_until_heard(&self, name: &str) -> Result<()> {
        wait::until(&format!("cluster {name} to report its nodes"), PATIENCE, || {
            let Some(cluster) = self.cluster(name)? else { bail!("there is no such cluster") };
            let heard =
                cluster["state"] == "active" && cluster["free"]["cpu_milli"].as_i64().unwrap_or(0) > 0;
            Ok(if heard { Look::Found(()) } else { Look::NotYet(cluster["sentence"].to_string()) })
        })
    }

    /// What tells this control plane from another: the name it gives itself in every audience is not printed
    /// afterwards, its certificate authority is.
    fn identity(&self) -> Result<String> {
        let path = self.data().join("tls/ca.crt");
        let printed = command::output(command::new("sha256sum").arg(&path))?;
        Ok(printed.split(' ').next().unwrap_or_default().to_owned())
    }

    fn mark(&self, cluster: &str, key: &str) -> Result<String> {
        let path = format!("jsonpath={{.data.{key}}}");
        self.kubectl(cluster, &["-n", "default", "get", "configmap", MARK, "--ignore-not-found", "-o", &path])
    }

    fn set_mark(&self, cluster: &str, build: &str) -> Result<()> {
        let data = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": MARK, "namespace": "default"},
            "data": {"control-plane": self.identity()?, "agent": build},
        });
        let file = self.data().join(format!("mark-{cluster}.json"));
        std::fs::write(&file, data.to_string())?;
        let file = file.to_string_lossy().into_owned();
        self.kubectl(cluster, &["apply", "--server-side", "-f", &file]).map(drop)
    }
}

/// PATH with kubectl and helm in front, as a person would have them.
fn path_with_tools() -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(testbed::bin()?).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}
