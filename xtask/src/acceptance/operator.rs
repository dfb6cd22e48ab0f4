//! Which operator serves ray.io in the acceptance cluster: our agent, or KubeRay's own operator.
//!
//! Invariant: never both. Before one starts, the other is stopped and its CRDs are replaced.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use squadron_e2e::{
    command,
    daemon::Daemon,
    stage::{NAMESPACE, Stage},
    testbed,
    wait::{self, found_if},
};

use super::module;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Operator {
    /// Our agent, in operate mode.
    Squadron,
    /// KubeRay's operator, from the same module as the suites.
    Kuberay,
}

impl Operator {
    /// Makes this the one operator of `cluster`.
    pub fn take_over(self, cluster: &str) -> Result<()> {
        match self {
            Operator::Squadron => {
                kuberay(cluster)?.stop()?;
                apply(cluster, command::root().join("deploy/crds"))?;
                scale_agent(cluster, 1)
            }
            Operator::Kuberay => {
                scale_agent(cluster, 0)?;
                apply(cluster, module::crds()?)?;
                start_kuberay(cluster)
            }
        }
    }
}

/// KubeRay's operator of a cluster.
pub fn kuberay(cluster: &str) -> Result<Daemon> {
    Ok(Daemon::new(&testbed::bin()?.join("kuberay"), &format!("operator-{cluster}")))
}

/// As a process of the cluster's node, so that it reaches Services by their names.
pub fn start_kuberay(cluster: &str) -> Result<()> {
    let operator = module::operator()?;
    let daemon = kuberay(cluster)?;
    if daemon.pid().is_some() {
        return Ok(());
    }
    let known_by = operator.to_string_lossy().into_owned();
    let mut run =
        testbed::testbed(["run-in", cluster, "--", known_by.as_str(), "--enable-leader-election=false"]);
    run.env("KUBECONFIG", testbed::kubeconfig(cluster)?);
    daemon.start(&mut run, &known_by)
}

/// Replaces the CRDs of a cluster and waits until they are served.
pub fn apply(cluster: &str, crds: std::path::PathBuf) -> Result<()> {
    let mut kubectl = testbed::tool("kubectl", cluster)?;
    kubectl.args(["apply", "--server-side", "--force-conflicts", "-f"]).arg(crds);
    command::output(&mut kubectl)?;
    let mut kubectl = testbed::tool("kubectl", cluster)?;
    kubectl.args(["wait", "--for=condition=Established", "--timeout=60s", "crd"]);
    command::output(kubectl.args(["rayclusters.ray.io", "rayjobs.ray.io"])).map(drop)
}

/// Asks for so many pods of the agent; nothing happens where no agent was ever installed.
pub fn ask_for_agents(cluster: &str, replicas: u32) -> Result<()> {
    let mut kubectl = testbed::tool("kubectl", cluster)?;
    let deployments = command::output(kubectl.args(["-n", NAMESPACE, "get", "deployment", "-o", "name"]))?;
    for deployment in deployments.lines() {
        let mut kubectl = testbed::tool("kubectl", cluster)?;
        command::output(kubectl.args([
            "-n",
            NAMESPACE,
            "scale",
            deployment,
            &format!("--replicas={replicas}"),
        ]))?;
    }
    Ok(())
}

/// The same, and waits until it is so.
pub fn scale_agent(cluster: &str, replicas: u32) -> Result<()> {
    ask_for_agents(cluster, replicas)?;
    wait::until("the agent's pods to follow", Duration::from_secs(90), || {
        let mut kubectl = testbed::tool("kubectl", cluster)?;
        let path = "jsonpath={range .items[*]}{.status.readyReplicas}/{.status.replicas} {end}";
        let counts = command::output(kubectl.args(["-n", NAMESPACE, "get", "deployment", "-o", path]))?;
        let wanted = if replicas == 0 { "/".to_owned() } else { format!("{replicas}/{replicas}") };
        Ok(found_if(counts.split_whitespace().all(|count| count == wanted), &counts))
    })
}

/// Stops KubeRay's operator, if it runs; for cleaning up.
pub fn stop_kuberay(cluster: &str) -> Result<()> {
    kuberay(cluster)?.stop()
}

/// The stage that our agent needs to run against; KubeRay's operator needs only the cluster.
pub fn prepare(operator: Operator, stage: squadron_e2e::stage::Spec) -> Result<()> {
    let clusters = stage.clusters.clone();
    match operator {
        Operator::Squadron => {
            for cluster in &clusters {
                stop_kuberay(cluster)?;
            }
            Stage::set(stage, &|part| println!("{part}")).map(drop)
        }
        Operator::Kuberay => testbed::up(&clusters, stage.up),
    }
}
