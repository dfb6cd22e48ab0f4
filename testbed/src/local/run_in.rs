//! Runs a command as if it were on the cluster's node: its network, its DNS, an administrator's kubeconfig.
//!
//! Invariant: the command takes the place of this process and has a pid file, so `down` ends it with the cluster.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::error::{AtPath, Error, Result};
use crate::files;
use crate::local::cluster::Cluster;
use crate::process::PidFile;

/// Lays the cluster's resolver over the machine's for this command alone.
const SCRIPT: &str = r#"set -e
mount --bind "$0" /etc/resolv.conf
exec "$@""#;

/// Replaces this process by the command. Returns only when that fails.
pub fn exec(cluster: &Cluster, words: &[String]) -> Result<()> {
    let resolver = cluster.path("node-resolv.conf");
    let search = "search svc.cluster.local cluster.local";
    files::replace(&resolver, format!("{search}\nnameserver {}\noptions ndots:5\n", cluster.node_address()))?;
    record(cluster)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bins = [cluster.binary(""), cluster.home().bin()].into_iter().chain(std::env::split_paths(&path));
    let path =
        std::env::join_paths(bins).map_err(std::io::Error::other).at("search", &cluster.home().bin())?;
    let source = Command::new("nsenter")
        .arg(format!("--net={}", cluster.space_file().display()))
        .args(["--", "unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT])
        .arg(resolver)
        .args(words)
        .env("KUBECONFIG", cluster.kubeconfig("admin"))
        .env("PATH", path)
        .exec();
    Err(Error::Start { program: "nsenter".into(), step: "enter the cluster's network".into(), source })
}

/// The pid stays the same through every `exec`. Files of commands that have ended are cleared on the way.
fn record(cluster: &Cluster) -> Result<()> {
    for (component, file) in PidFile::all(&cluster.run_folder())? {
        if component.starts_with("run-in-") && file.process().is_none() {
            file.remove()?;
        }
    }
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    PidFile::new(&cluster.run_folder(), &format!("run-in-{pid}")).record(pid)
}
