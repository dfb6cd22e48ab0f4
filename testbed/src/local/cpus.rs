//! A fake: the node claims more CPUs than the machine has, so that pods whose requests exceed the machine schedule.
//!
//! Owns a small tree that looks like the kernel's CPU topology. The kubelet sees it in place of the real one, in a mount
//! namespace of its own. CPU limits still bound each container, and the real CPUs are what they are.

use std::fs;
use std::path::Path;

use crate::error::Result;
use crate::files;
use crate::local::cluster::Cluster;

const REAL_NODE: &str = "/sys/devices/system/node/node0";

/// Mounts the tree over the real one for the program in the further arguments. The first line keeps the mounts inside.
const SCRIPT: &str = r#"set -e
mount --make-rprivate /sys
mount --bind "$0" /sys/devices/system/node
mount --bind "$0/cpus" /sys/devices/system/cpu/online
exec "$@""#;

/// Lays the tree and gives the words that start the kubelet under it.
pub fn wrap(cluster: &Cluster, kubelet: Vec<String>) -> Result<Vec<String>> {
    let folder = cluster.path("fake-cpus");
    files::remove(&folder)?;
    lay_tree(&folder, cluster.settings.node_cpus)?;
    let mut words: Vec<String> =
        ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", SCRIPT].map(str::to_owned).to_vec();
    words.push(folder.display().to_string());
    words.extend(kubelet);
    Ok(words)
}

fn lay_tree(folder: &Path, cpus: u16) -> Result<()> {
    let node = folder.join("node0");
    for cpu in 0..cpus {
        let topology = node.join(format!("cpu{cpu}/topology"));
        files::folder(&topology)?;
        files::replace(&topology.join("core_id"), format!("{cpu}\n"))?;
        files::replace(&topology.join("physical_package_id"), "0\n")?;
    }
    for file in ["meminfo", "distance"] {
        copy(&Path::new(REAL_NODE).join(file), &node.join(file))?;
    }
    for size in files::entries(&Path::new(REAL_NODE).join("hugepages"))? {
        let name = size.file_name().unwrap_or_default();
        let folder = node.join("hugepages").join(name);
        files::folder(&folder)?;
        copy(&size.join("nr_hugepages"), &folder.join("nr_hugepages"))?;
    }
    files::replace(&folder.join("online"), "0\n")?;
    files::replace(&folder.join("cpus"), format!("0-{}\n", cpus.saturating_sub(1)))
}

/// Files of `/sys` have no length, so they are read and written. A machine without the file does without it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    match fs::read(from) {
        Ok(content) => files::replace(to, content),
        Err(_absent) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tree_claims_exactly_the_cpus_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        lay_tree(folder.path(), 3).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("cpus")).unwrap(), "0-2\n");
        assert!(folder.path().join("node0/cpu2/topology/core_id").exists());
        assert!(!folder.path().join("node0/cpu3").exists());
    }
}
