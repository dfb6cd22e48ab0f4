//! Takes one local cluster down from any state.
//!
//! Invariant: afterwards no process, mount, namespace, rule or cgroup of the cluster is left, and of its files only
//! containerd's images (so that the next `up` is quick) and the logs; with purge none. What cannot be removed is an error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::files;
use crate::local::cluster::Cluster;
use crate::local::component::Component;
use crate::local::{cgroup, containerd, network};
use crate::mounts;
use crate::process::{PidFile, Process, end_all, in_cgroup, in_space, kill_all, shims};

const PATIENCE: Duration = Duration::from_secs(4);

/// What stays in the cluster's folder without purge.
const KEPT: [&str; 2] = ["containerd", "log"];

/// Where the pod network's library and the kubelet lay files outside the cluster's folder.
const CNI_RESULTS: &str = "/var/lib/cni/results";
const LOG_LINKS: [&str; 2] = ["/var/log/containers", "/var/log/pods"];

/// Takes the cluster down.
pub fn down(cluster: &Cluster, purge: bool) -> Result<()> {
    network::refuse_foreign(cluster)?;
    end_processes(cluster)?;
    for socket in containerd::shim_sockets(cluster)? {
        files::remove(&socket)?;
    }
    mounts::detach(cluster.folder())?;
    network::remove(cluster);
    cgroup::remove(cluster)?;
    remove_outside_files(cluster)?;
    remove_files(cluster, purge)?;
    must_be_gone(cluster)
}

/// First those that would start others anew, then containers, then everything else that is ours.
pub fn end_processes(cluster: &Cluster) -> Result<()> {
    let recorded: Vec<(String, PidFile)> = PidFile::all(&cluster.run_folder())?;
    let first = [Component::Kubelet.name(), Component::Containerd.name()];
    let starters = recorded.iter().filter(|(name, _)| first.contains(&name.as_str()));
    end_all(&starters.filter_map(|(_, file)| file.process()).collect::<Vec<_>>(), PATIENCE)?;
    kill_all(&containers(cluster)?)?;
    let mut rest: Vec<Process> = recorded.iter().filter_map(|(_, file)| file.process()).collect();
    rest.extend(in_space(&cluster.space_file()));
    rest.retain(|process| !is_this_program(*process));
    end_all(&rest, PATIENCE)?;
    files::remove(&cluster.run_folder())
}

fn containers(cluster: &Cluster) -> Result<Vec<Process>> {
    let mut found = shims(&cluster.containerd_socket());
    for folder in cgroup::folders(cluster)? {
        found.extend(in_cgroup(&folder));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn is_this_program(process: Process) -> bool {
    u32::try_from(process.pid).is_ok_and(|pid| pid == std::process::id())
}

fn remove_outside_files(cluster: &Cluster) -> Result<()> {
    for file in files::entries(Path::new(CNI_RESULTS))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if let Some(id) = container_of(&name, &cluster.space()) {
            files::remove(&file)?;
            files::remove(&Path::new(CNI_RESULTS).join(format!("cni-loopback-{id}-lo")))?;
        }
    }
    for link in log_links(cluster)? {
        files::remove(&link)?;
    }
    Ok(())
}

/// Links that the kubelet lays for log collectors, by where they point.
fn log_links(cluster: &Cluster) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in LOG_LINKS {
        let links = files::entries(Path::new(folder))?.into_iter();
        found.extend(
            links.filter(|link| std::fs::read_link(link).is_ok_and(|to| to.starts_with(cluster.folder()))),
        );
    }
    Ok(found)
}

/// The container of a result, which is called `NETWORK-CONTAINER-DEVICE`. A network's name may begin with another's.
fn container_of<'a>(file: &'a str, network: &str) -> Option<&'a str> {
    let (id, _) = file.strip_prefix(network)?.strip_prefix('-')?.split_once('-')?;
    (id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

fn remove_files(cluster: &Cluster, purge: bool) -> Result<()> {
    if purge {
        return files::remove(cluster.folder());
    }
    for entry in files::entries(cluster.folder())? {
        let name = entry.file_name().unwrap_or_default();
        if !KEPT.iter().any(|kept| name == *kept) {
            files::remove(&entry)?;
        }
    }
    Ok(())
}

fn must_be_gone(cluster: &Cluster) -> Result<()> {
    let mut left = Vec::new();
    left.extend(containers(cluster)?.iter().map(|process| format!("process {}", process.pid)));
    left.extend(mounts::below(cluster.folder())?.iter().map(|point| format!("mount {}", point.display())));
    left.extend(
        cgroup::folders(cluster)?.iter().filter(|f| f.exists()).map(|f| format!("cgroup {}", f.display())),
    );
    if cluster.space_file().exists() {
        left.push(format!("network namespace {}", cluster.space()));
    }
    if network::has_cable(cluster) {
        left.push(format!("device {}", cluster.cable()));
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "cluster {} is not all gone, left are: {}; run `down` again",
        cluster.name,
        left.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_a_longer_name_are_not_ours() {
        let id = "0123456789abcdef".repeat(4);
        assert_eq!(container_of(&format!("sqt-a-{id}-eth0"), "sqt-a"), Some(id.as_str()));
        assert_eq!(container_of(&format!("sqt-a-b-{id}-eth0"), "sqt-a"), None);
        assert_eq!(container_of(&format!("sqt-a-b-{id}-eth0"), "sqt-a-b"), Some(id.as_str()));
        assert_eq!(container_of(&format!("sqt-ab-{id}-eth0"), "sqt-a"), None);
    }
}
