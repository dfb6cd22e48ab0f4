//! The agent of a cluster as something that is killed, switched off and replaced.

use std::{fs, io::Write, time::Duration};

use anyhow::{Context, Result};

use super::{NAMESPACE, Stage};
use crate::{
    daemon::{process_of_pod, signal},
    program::Program,
    testbed,
    wait::{self, found_if},
};

const CONTROLLER: &str = "app.kubernetes.io/component=controller";
const PATIENCE: Duration = Duration::from_secs(90);

impl Stage {
    /// Sends a signal to the agent's controller from outside its container. The kubelet starts it again.
    pub fn signal_agent(&self, cluster: &str, name: &str) -> Result<()> {
        let path = "jsonpath={.items[*].metadata.uid}";
        let uid = self.kubectl(cluster, &["-n", NAMESPACE, "get", "pods", "-l", CONTROLLER, "-o", path])?;
        let pid = process_of_pod(uid.trim(), "squadron-agent")
            .with_context(|| format!("the agent of {cluster} runs in no process of pod {uid:?}"))?;
        signal(name, pid)
    }

    /// Switches the controller off or on; off means that its pod is gone.
    pub fn scale_agent(&self, cluster: &str, replicas: u32) -> Result<()> {
        let replicas_flag = format!("--replicas={replicas}");
        let scale = ["-n", NAMESPACE, "scale", "deployment", "squadron-agent", &replicas_flag];
        self.kubectl(cluster, &scale)?;
        if replicas > 0 {
            return Ok(());
        }
        wait::until("the agent's pod to be gone", PATIENCE, || {
            let get = ["-n", NAMESPACE, "get", "pods", "-l", CONTROLLER, "-o", "name"];
            let left = self.kubectl(cluster, &get)?;
            Ok(found_if(left.trim().is_empty(), left))
        })
    }

    /// Replaces controller and fencer by pods of an image that was never there before, as an upgrade does. The program in
    /// it is the same but for bytes at its end that nobody reads.
    pub fn roll_agent(&self, cluster: &str) -> Result<()> {
        let copy = self.data().with_file_name("squadron-agent");
        fs::copy(Program::Agent.path(), &copy).context("copying the agent")?;
        let mark = format!("\nupgrade at {:.6}\n", crate::clock::now());
        fs::File::options().append(true).open(&copy)?.write_all(mark.as_bytes())?;
        testbed::load_agent_from(&copy, cluster)?;
        self.replace_agent(cluster)
    }

    /// Replaces the pods of controller and fencer, and waits for the new ones.
    pub fn replace_agent(&self, cluster: &str) -> Result<()> {
        let both = ["deployment/squadron-agent", "deployment/squadron-agent-fencer"];
        let restart = ["-n", NAMESPACE, "rollout", "restart"];
        self.kubectl(cluster, &[&restart[..], &both].concat())?;
        for one in both {
            self.kubectl(cluster, &["-n", NAMESPACE, "rollout", "status", "--timeout=90s", one])?;
        }
        Ok(())
    }
}
