//! MultiKueue, built from Kueue's module, on three API servers: a manager and two worker clusters.
//!
//! Owns its set-up and tear-down. Invariant: the manager runs on the host, from where it reaches the workers' API servers;
//! each worker's Kueue runs in its cluster's network.

mod declared;
mod member;
mod webhooks;

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Result;
use squadron_e2e::{
    command, testbed,
    wait::{self, found_if},
};

pub use self::{
    declared::{SHARED, queue_of},
    member::Member,
};
use crate::rival::Rival;

const KUEUE: Rival = Rival { name: "kueue", module: "sigs.k8s.io/kueue" };
const KUBERAY: Rival = Rival { name: "kueue", module: "github.com/ray-project/kuberay/ray-operator" };
const PROGRAM: &str = "kueue";
const PATIENCE: Duration = Duration::from_secs(90);
/// Who creates RayJobs at the manager.
const ACCOUNT: &str = "load";

/// Clusters of managers: of the dispatch measurement and of the rounds.
pub const MANAGERS: [&str; 2] = [RATE_MANAGER, ROUNDS_MANAGER];
pub const RATE_MANAGER: &str = "rate-m";
pub const ROUNDS_MANAGER: &str = "rounds-m";

/// Stops a manager that may have outlived its cluster, since it runs on the host.
pub fn stop_manager(cluster: &str) -> Result<()> {
    Member { cluster, is_hub: true }.daemon()?.stop()
}

/// A manager and its workers.
#[derive(Clone, Debug)]
pub struct MultiKueue {
    pub hub: &'static str,
    pub workers: Vec<String>,
    /// Where the manager finds the workers' API servers, if not at their own port.
    pub port: Option<u16>,
}

impl MultiKueue {
    /// Makes the manager's cluster, or finds it up.
    pub fn up(&self) -> Result<()> {
        testbed::up(&[self.hub.to_owned()], &["--audit", "--no-ray"])
    }

    /// Installs and starts everything; the clusters are up.
    pub fn start(&self) -> Result<()> {
        KUEUE.program("/cmd/kueue", PROGRAM)?;
        for member in self.members() {
            member.install()?;
            member.run()?;
        }
        for worker in &self.workers {
            self.worker(worker).declare(&declared::for_worker(&self.workers))?;
        }
        self.manager().declare(&declared::for_manager(&self.kubeconfigs()?))?;
        self.wait_connected(PATIENCE)
    }

    /// Waits until the manager says that it is connected to each worker.
    pub fn wait_connected(&self, limit: Duration) -> Result<()> {
        wait::until("MultiKueue to be connected", limit, || {
            let path = "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Active')].status} {end}";
            let states = kubectl(self.hub, &["get", "multikueueclusters", "-o", path])?;
            let active = states.split_whitespace().filter(|state| *state == "True").count();
            Ok(found_if(active == self.workers.len(), states))
        })
    }

    /// Stops every Kueue.
    pub fn stop(&self) -> Result<()> {
        self.members().try_for_each(|member| member.stop())
    }

    pub fn manager(&self) -> Member<'_> {
        Member { cluster: self.hub, is_hub: true }
    }

    pub fn worker<'a>(&self, cluster: &'a str) -> Member<'a> {
        Member { cluster, is_hub: false }
    }

    fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.workers.iter().map(move |cluster| self.worker(cluster)).chain([self.manager()])
    }

    /// The clusters, the workers first.
    pub fn all_clusters(&self) -> impl Iterator<Item = &str> {
        self.members().map(|member| member.cluster)
    }

    /// How the manager reaches each worker.
    fn kubeconfigs(&self) -> Result<Vec<(String, PathBuf)>> {
        let of = |worker: &String| {
            let mut path = testbed::kubeconfig(worker)?;
            if let Some(port) = self.port {
                let text = fs::read_to_string(&path)?.replace(":6443", &format!(":{port}"));
                path = self.worker(worker).folder()?.join("manager.kubeconfig");
                fs::write(&path, text)?;
            }
            Ok((worker.clone(), path))
        };
        self.workers.iter().map(of).collect()
    }

    /// Where RayJobs are created at the manager, and a token that may do so.
    pub fn door(&self) -> Result<(String, String)> {
        let account = format!("serviceaccount/{ACCOUNT}");
        if kubectl(self.hub, &["get", &account]).is_err() {
            kubectl(self.hub, &["create", "serviceaccount", ACCOUNT])?;
            let subject = format!("--serviceaccount=default:{ACCOUNT}");
            kubectl(
                self.hub,
                &["create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin", &subject],
            )?;
        }
        let token = kubectl(self.hub, &["create", "token", ACCOUNT, "--duration=6h"])?;
        let path = "jsonpath={.clusters[0].cluster.server}";
        let server = kubectl(self.hub, &["config", "view", "--minify", "-o", path])?;
        let url = format!("{}/apis/ray.io/v1/namespaces/default/rayjobs", server.trim());
        Ok((url, token.trim().to_owned()))
    }
}

/// Runs `kubectl ARGS` on a cluster.
pub fn kubectl(cluster: &str, args: &[&str]) -> Result<String> {
    command::output(testbed::tool("kubectl", cluster)?.args(args))
}
