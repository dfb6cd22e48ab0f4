//! The network namespace of a local cluster and its cable to the host.
//!
//! Owns namespace, cable, addresses and routes. Invariant: the namespace has no default route and nothing forwards on
//! the host side, so the cluster reaches the host's end of its own cable and nothing else. The host knows the way
//! back to the pods without any address translation.
//! Fails when name or number belongs to a cluster of another home folder; taking that one down there repairs it.
//! Each step says what should be, not what to change, so `ensure` also mends a cable that somebody pulled.

use std::path::Path;
use std::process::Command;

use crate::error::{AtPath, Error, Result};
use crate::local::cluster::Cluster;
use crate::program::{self, command};

/// A bridge without ports, which swallows packets for Service addresses that no Service has.
const SERVICES_DEVICE: &str = "services";

/// Makes namespace, cable, addresses and routes, or what is missing of them. What is there stays: daemons live in it.
pub fn ensure(cluster: &Cluster) -> Result<()> {
    refuse_foreign(cluster)?;
    let space = cluster.space();
    if !has_space(cluster) {
        // A file of this name without a namespace behind it stays after the machine's mounts were lost.
        program::holds(&mut command("ip", ["netns", "del", &space]));
        ip("make the network namespace", &["netns", "add", &space])?;
    }
    if !has_cable(cluster) || space_owner(cluster).is_none() {
        lay_cable(cluster)?;
    }
    addresses(cluster)?;
    services(cluster)?;
    forwarding(cluster)
}

/// Removes the namespace, and with it the cable and all rules inside.
pub fn remove(cluster: &Cluster) {
    for words in [["link", "del", &cluster.cable()], ["netns", "del", &cluster.space()]] {
        // Absent is the aim; `down` checks afterwards what stayed.
        program::holds(&mut command("ip", words));
    }
}

/// A command that runs inside the namespace.
pub fn inside<'a>(cluster: &Cluster, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut entered = Command::new("nsenter");
    entered.arg(format!("--net={}", cluster.space_file().display())).arg("--").args(words);
    entered
}

/// True while the namespace exists.
pub fn has_space(cluster: &Cluster) -> bool {
    program::holds(&mut command("ip", ["-n", &cluster.space(), "link", "show", "lo"]))
}

/// True while the host's end of the cable exists.
pub fn has_cable(cluster: &Cluster) -> bool {
    Path::new("/sys/class/net").join(cluster.cable()).exists()
}

/// An error when the namespace or the cable of this name or number belongs to a cluster of another home folder.
pub fn refuse_foreign(cluster: &Cluster) -> Result<()> {
    let ours = marker(cluster);
    for owner in [cable_owner(cluster), space_owner(cluster)].into_iter().flatten() {
        if !owner.is_empty() && owner != ours {
            return Err(Error::Refused(format!(
                "the network of {} belongs to {owner}; take that cluster down with its own SQUADRON_TESTBED_HOME \
                 first, or use another name",
                cluster.name
            )));
        }
    }
    Ok(())
}

/// Who laid the cable: the text in the device's alias. Nothing when there is no device.
fn cable_owner(cluster: &Cluster) -> Option<String> {
    let alias = Path::new("/sys/class/net").join(cluster.cable()).join("ifalias");
    std::fs::read_to_string(alias).ok().map(|text| text.trim().to_owned())
}

/// Who laid the node's end of the cable. Nothing when there is none yet.
fn space_owner(cluster: &Cluster) -> Option<String> {
    let mut asked = command("ip", ["-n", &cluster.space(), "-o", "link", "show", "eth0"]);
    let shown = program::run("read the owner", &mut asked).ok()?;
    Some(shown.rsplit_once("alias ").map(|(_, owner)| owner.trim().to_owned()).unwrap_or_default())
}

/// At most 255 bytes fit into an alias.
fn marker(cluster: &Cluster) -> String {
    let text = cluster.folder().display().to_string();
    text.chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect()
}

fn lay_cable(cluster: &Cluster) -> Result<()> {
    let (cable, space, marker) = (cluster.cable(), cluster.space(), marker(cluster));
    // One end alone is of no use.
    program::holds(&mut command("ip", ["link", "del", &cable]));
    ip("lay the cable", &["link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
    ip("mark the cable", &["link", "set", &cable, "alias", &marker])?;
    ip("mark the cable", &["-n", &space, "link", "set", "eth0", "alias", &marker])
}

fn addresses(cluster: &Cluster) -> Result<()> {
    let (cable, space) = (cluster.cable(), cluster.space());
    let host = format!("{}/30", cluster.host_address());
    let node = cluster.node_address().to_string();
    let node_in_net = format!("{node}/30");
    for (step, words) in [
        ("give the host its address", vec!["addr", "replace", &host, "dev", &cable]),
        ("raise the cable", vec!["link", "set", &cable, "up"]),
        ("raise the loopback", vec!["-n", &space, "link", "set", "lo", "up"]),
        ("give the node its address", vec!["-n", &space, "addr", "replace", &node_in_net, "dev", "eth0"]),
        ("raise the node's end of the cable", vec!["-n", &space, "link", "set", "eth0", "up"]),
        ("route to the pods", vec!["route", "replace", &cluster.pod_range(), "via", &node, "dev", &cable]),
    ] {
        ip(step, &words)?;
    }
    Ok(())
}

/// Host processes need some route to a Service address before kube-proxy's rules rewrite it.
fn services(cluster: &Cluster) -> Result<()> {
    let (space, node) = (cluster.space(), cluster.node_address().to_string());
    let device = ["-n", &space, "link", "show", SERVICES_DEVICE];
    if !program::holds(&mut command("ip", device)) {
        ip("make the sink", &["-n", &space, "link", "add", SERVICES_DEVICE, "type", "bridge"])?;
    }
    ip("raise the sink", &["-n", &space, "link", "set", SERVICES_DEVICE, "up"])?;
    let range = cluster.service_range();
    let words = ["-n", &space, "route", "replace", &range, "dev", SERVICES_DEVICE, "src", &node];
    ip("route to the Services", &words)
}

fn forwarding(cluster: &Cluster) -> Result<()> {
    // Built into some kernels, a module in others; the setting below tells whether it is there.
    program::holds(&mut command("modprobe", ["br_netfilter"]));
    for setting in ["net.ipv4.ip_forward=1", "net.bridge.bridge-nf-call-iptables=1"] {
        let words = ["sysctl", "-qw", setting];
        program::run("let the node forward", &mut inside(cluster, words))?;
    }
    Ok(())
}

/// Every containerd and kubelet watches files, and each log that is followed takes one more watcher. The usual limit of
/// 128 for all of root's processes is used up by five clusters; a higher one of the machine's owner stays.
pub fn room_for_watchers() -> Result<()> {
    const WANTED: u32 = 1024;
    let limit = Path::new("/proc/sys/fs/inotify/max_user_instances");
    let now = std::fs::read_to_string(limit).at("read", limit)?;
    if now.trim().parse::<u32>().is_ok_and(|now| now >= WANTED) {
        return Ok(());
    }
    std::fs::write(limit, WANTED.to_string()).at("raise the limit of file watchers in", limit)
}

fn ip(step: &str, words: &[&str]) -> Result<()> {
    program::run(step, &mut command("ip", words)).map(|_| ())
}
