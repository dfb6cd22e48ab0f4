//! The cgroups under which a local cluster's kubelet puts its pods.
//!
//! Owns `/sqt-NAME` in every hierarchy. Invariant: two kubelets on one machine never share a cgroup, and whatever runs
//! in ours belongs to the cluster. Works with version 1 (also beside version 2) and with version 2 alone.
//! Fails when the machine gives no cgroups to write to; running as root on the host itself repairs it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{AtPath, Result};
use crate::files;
use crate::local::cluster::Cluster;

const ROOT: &str = "/sys/fs/cgroup";
/// Where version 2 lies on a machine that uses both.
const BESIDE: &str = "unified";

/// The folders of the cluster, one for each hierarchy. Beside version 1 the container runtime also makes one in the
/// hierarchy of version 2, which has no controllers there.
pub fn folders(cluster: &Cluster) -> Result<Vec<PathBuf>> {
    let mut roots = hierarchies()?;
    roots.extend(Some(Path::new(ROOT).join(BESIDE)).filter(|root| root.is_dir()));
    Ok(roots.into_iter().map(|root| root.join(cluster.space())).collect())
}

/// Makes the cgroups. The kubelet's own `kubepods` is made too: the kubelet would give it as many CPUs as the node
/// claims to have, which the kernel refuses.
pub fn ensure(cluster: &Cluster) -> Result<()> {
    for root in hierarchies()? {
        let ours = root.join(cluster.space());
        let pods = ours.join("kubepods");
        files::folder(&pods)?;
        if is_version_2() {
            delegate(&root)?;
            delegate(&ours)?;
        } else if root.join("cpuset.cpus").exists() {
            inherit_cpus(&root, &ours)?;
            inherit_cpus(&root, &pods)?;
        }
    }
    Ok(())
}

/// Removes the cgroups, the deepest first. Those that still hold processes stay.
pub fn remove(cluster: &Cluster) -> Result<()> {
    for folder in folders(cluster)? {
        remove_below(&folder);
    }
    Ok(())
}

fn remove_below(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    // A cgroup in use cannot be removed; `down` checks afterwards what stayed.
    let _in_use = fs::remove_dir(folder);
}

fn hierarchies() -> Result<Vec<PathBuf>> {
    if is_version_2() {
        return Ok(vec![PathBuf::from(ROOT)]);
    }
    let controllers = files::entries(Path::new(ROOT))?.into_iter();
    let is_version_1 = |path: &PathBuf| path.is_dir() && !path.is_symlink() && !path.ends_with(BESIDE);
    Ok(controllers.filter(is_version_1).collect())
}

fn is_version_2() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

/// Lets children of this cgroup use all its controllers.
fn delegate(folder: &Path) -> Result<()> {
    let available = folder.join("cgroup.controllers");
    let names = fs::read_to_string(&available).at("read", &available)?;
    let wish: Vec<String> = names.split_whitespace().map(|name| format!("+{name}")).collect();
    let control = folder.join("cgroup.subtree_control");
    fs::write(&control, wish.join(" ")).at("write", &control)
}

fn inherit_cpus(root: &Path, folder: &Path) -> Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let (from, to) = (root.join(file), folder.join(file));
        let value = fs::read(&from).at("read", &from)?;
        fs::write(&to, value).at("write", &to)?;
    }
    Ok(())
}
