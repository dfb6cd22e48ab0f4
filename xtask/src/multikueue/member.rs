//! One Kueue with its cluster: installed, run, told what to do, killed and started again.
//!
//! Invariant: Kueue's own manifests are applied with three changes only: webhooks of kinds that take part, by URL, with our
//! certificate.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use squadron_e2e::{
    command,
    daemon::Daemon,
    testbed,
    wait::{self, found_if},
};

use super::{KUBERAY, KUEUE, PATIENCE, PROGRAM, kubectl, webhooks};

const CONFIG: &str = include_str!("config.yaml");
/// Where Kueue looks for the certificate of its metrics, which cannot be set: below the folder that is laid over /etc.
const METRICS: &str = "etc/kueue/metrics/certs";
/// Runs a program that sees one more folder laid over /etc; nothing of it is seen by others.
const LAID_OVER: &str = r#"mount -t overlay none -o lowerdir="$0":/etc /etc && exec "$@""#;

/// The manager, or a worker.
pub struct Member<'a> {
    pub cluster: &'a str,
    pub is_hub: bool,
}

impl Member<'_> {
    /// CRDs of Kueue and KubeRay, the namespace, and the webhooks.
    pub fn install(&self) -> Result<()> {
        for crds in
            [KUEUE.folder()?.join("config/components/crd/bases"), KUBERAY.folder()?.join("config/crd/bases")]
        {
            apply(self.cluster, &crds)?;
        }
        kubectl(self.cluster, &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"])?;
        self.apply_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: kueue-system}\n")?;
        let certs = webhooks::certificate(&self.folder()?, &self.address()?)?;
        webhooks::certificate(&self.folder()?.join(METRICS), &self.address()?)?;
        let manifest = KUEUE.folder()?.join("config/components/webhook/manifests.yaml");
        let shown = kubectl(
            self.cluster,
            &["create", "--dry-run=client", "-o", "json", "-f", &manifest.to_string_lossy()],
        )?;
        self.apply_text(&webhooks::by_url(&shown, &self.address()?, &certs)?)
    }

    /// Starts its Kueue anew; it is built.
    pub fn run(&self) -> Result<()> {
        let program = KUEUE.built()?.join(PROGRAM);
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

    /// Applies what is declared to it, again and again until the webhooks answer.
    pub fn declare(&self, text: &str) -> Result<()> {
        wait::until("Kueue's webhooks to answer", PATIENCE, || {
            let applied = self.apply_text(text);
            Ok(found_if(applied.is_ok(), format!("{applied:?}; the log: {}", self.daemon()?.last_words())))
        })
    }

    /// Stops its Kueue and removes its webhooks, so that what is written to the cluster is asked of nobody. A cluster that is
    /// not up has none.
    pub fn stop(&self) -> Result<()> {
        self.daemon()?.stop()?;
        if kubectl(self.cluster, &["get", "--raw=/readyz", "--request-timeout=5s"]).is_err() {
            return Ok(());
        }
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            kubectl(self.cluster, &["delete", kind, "--all", "--ignore-not-found"])?;
        }
        Ok(())
    }

    pub fn daemon(&self) -> Result<Daemon> {
        Ok(Daemon::new(&self.folder()?, "kueue"))
    }

    pub fn folder(&self) -> Result<PathBuf> {
        let folder = KUEUE.built()?.join(self.cluster);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn apply_text(&self, text: &str) -> Result<()> {
        let file = self.folder()?.join("apply.yaml");
        fs::write(&file, text)?;
        apply(self.cluster, &file)
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

fn apply(cluster: &str, path: &Path) -> Result<()> {
    let path = path.to_string_lossy();
    kubectl(cluster, &["apply", "--server-side", "--force-conflicts", "-f", &path]).map(drop)
}
