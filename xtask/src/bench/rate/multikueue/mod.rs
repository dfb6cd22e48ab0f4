//! MultiKueue, built from Kueue's module, on three API servers: a manager and the two worker clusters.
//!
//! Owns its set-up and tear-down. Invariant: Kueue's own manifests are applied with three changes only: webhooks of kinds
//! that take part, by URL, with our certificate. The manager runs on the host, from where it reaches the workers' API
//! servers; each worker's Kueue runs in its cluster's network.

mod side;
mod webhooks;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use squadron_e2e::{
    command,
    daemon::Daemon,
    testbed,
    wait::{self, found_if},
};

pub use self::side::{MultiKueue, hub};
use crate::rival::Rival;

const KUEUE: Rival = Rival { name: "kueue", module: "sigs.k8s.io/kueue" };
const KUBERAY: Rival = Rival { name: "kueue", module: "github.com/ray-project/kuberay/ray-operator" };
const CONFIG: &str = include_str!("config.yaml");
const WORKER: &str = include_str!("worker.yaml");
const MANAGER: &str = include_str!("manager.yaml");
const PATIENCE: Duration = Duration::from_secs(90);
/// Where Kueue looks for the certificate of its metrics, which cannot be set: below the folder that is laid over /etc.
const METRICS: &str = "etc/kueue/metrics/certs";
/// Runs a program that sees one more folder laid over /etc; nothing of it is seen by others.
const LAID_OVER: &str = r#"mount -t overlay none -o lowerdir="$0":/etc /etc && exec "$@""#;

/// The manager's cluster.
pub const HUB: &str = "rate-m";

/// One Kueue with its cluster.
struct Member<'a> {
    cluster: &'a str,
    is_hub: bool,
}

/// Installs and starts everything; the clusters are up.
pub fn start(workers: &[String]) -> Result<()> {
    let program = KUEUE.program("/cmd/kueue", "kueue")?;
    for member in members(workers) {
        member.install()?;
        member.run(&program)?;
    }
    for member in members(workers) {
        member.declare(workers)?;
    }
    wait::until("MultiKueue to be connected", PATIENCE, || {
        let path = "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Active')].status} {end}";
        let states = kubectl(HUB, &["get", "multikueueclusters", "-o", path])?;
        Ok(found_if(
            states.split_whitespace().filter(|state| *state == "True").count() == workers.len(),
            states,
        ))
    })
}

/// Stops every Kueue and removes its webhooks, so that what is written to the clusters is asked of nobody.
pub fn stop(workers: &[String]) -> Result<()> {
    let is_up = |member: &Member<'_>| testbed::kubeconfig(member.cluster).is_ok();
    for member in members(workers).filter(is_up) {
        member.daemon()?.stop()?;
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            kubectl(member.cluster, &["delete", kind, "--all", "--ignore-not-found"])?;
        }
    }
    Ok(())
}

fn members(workers: &[String]) -> impl Iterator<Item = Member<'_>> {
    let workers = workers.iter().map(|cluster| Member { cluster, is_hub: false });
    workers.chain([Member { cluster: HUB, is_hub: true }])
}

impl Member<'_> {
    /// CRDs of Kueue and KubeRay, the namespace, and the webhooks.
    fn install(&self) -> Result<()> {
        for crds in
            [KUEUE.folder()?.join("config/components/crd/bases"), KUBERAY.folder()?.join("config/crd/bases")]
        {
            apply(self.cluster, &crds)?;
        }
        kubectl(self.cluster, &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"])?;
        apply_text(
            self.cluster,
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: kueue-system}\n",
            &self.folder()?,
        )?;
        let certs = webhooks::certificate(&self.folder()?, &self.address()?)?;
        webhooks::certificate(&self.folder()?.join(METRICS), &self.address()?)?;
        let manifest = KUEUE.folder()?.join("config/components/webhook/manifests.yaml");
        let shown = kubectl(
            self.cluster,
            &["create", "--dry-run=client", "-o", "json", "-f", &manifest.to_string_lossy()],
        )?;
        let ours = webhooks::by_url(&shown, &self.address()?, &certs)?;
        apply_text(self.cluster, &ours, &self.folder()?)
    }

    fn run(&self, program: &Path) -> Result<()> {
        let daemon = self.daemon()?;
        daemon.stop()?;
        let config = self.folder()?.join("config.yaml");
        fs::write(&config, CONFIG.replace("CERTS", &self.folder()?.to_string_lossy()))?;
        let known_by = program.to_string_lossy().into_owned();
        let flags = ["--config", &config.to_string_lossy(), "--feature-gates", "VisibilityOnDemand=false"];
        let mut run = if self.is_hub {
            command::new("unshare")
        } else {
            testbed::testbed(["run-in", self.cluster, "--", "unshare"])
        };
        run.args(["--mount", "sh", "-c", LAID_OVER]).arg(self.folder()?.join("etc")).arg(program);
        run.args(flags).env("KUBECONFIG", testbed::kubeconfig(self.cluster)?);
        daemon.start(&mut run, &known_by)
    }

    /// Queues, and for the manager its workers. Asked again until the webhooks answer.
    fn declare(&self, workers: &[String]) -> Result<()> {
        let mut text = WORKER.to_owned();
        if self.is_hub {
            // The manager's own queue of this name has the check.
            let (flavor, rest) = text.split_once("---\n").context("the manifest has three parts")?;
            let local = rest.split_once("---\n").context("the manifest has three parts")?.1;
            text = format!("{flavor}---\n{MANAGER}---\n{local}");
            for worker in workers {
                text = text.replace(
                    &format!("KUBECONFIG-{worker}"),
                    &testbed::kubeconfig(worker)?.to_string_lossy(),
                );
            }
        }
        wait::until("Kueue's webhooks to answer", PATIENCE, || {
            let applied = apply_text(self.cluster, &text, &self.folder()?);
            Ok(found_if(applied.is_ok(), format!("{applied:?}; the log: {}", self.daemon()?.last_words())))
        })
    }

    fn daemon(&self) -> Result<Daemon> {
        Ok(Daemon::new(&self.folder()?, "kueue"))
    }

    fn folder(&self) -> Result<PathBuf> {
        let folder = KUEUE.built()?.join(self.cluster);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Where the cluster's API server finds this Kueue: on its own node, or at the host's end of the cable.
    fn address(&self) -> Result<String> {
        if !self.is_hub {
            return Ok("127.0.0.1".to_owned());
        }
        let node = kubectl(
            self.cluster,
            &["get", "nodes", "-o", "jsonpath={.items[0].status.addresses[?(@.type=='InternalIP')].address}"],
        )?;
        let network = node.trim().rsplit_once('.').context("the node has an address")?.0;
        Ok(format!("{network}.1"))
    }
}

/// Runs `kubectl ARGS` on a cluster.
pub fn kubectl(cluster: &str, args: &[&str]) -> Result<String> {
    command::output(testbed::tool("kubectl", cluster)?.args(args))
}

fn apply(cluster: &str, path: &Path) -> Result<()> {
    let path = path.to_string_lossy();
    kubectl(cluster, &["apply", "--server-side", "--force-conflicts", "-f", &path]).map(drop)
}

fn apply_text(cluster: &str, text: &str, folder: &Path) -> Result<()> {
    let file = folder.join("apply.yaml");
    fs::write(&file, text)?;
    apply(cluster, &file)
}
