//! The network namespace of a local cluster and its cable to the host.
//!
//! Owns namespace, cable, addresses and routes. Invariant: the namespace has no default route and nothing forwards on
//! the host side, so the cluster reaches the host's end of its own cable and nothing else. The host knows the way
//! back to the pods without any address translation.
//! Fails when the device belongs to another home folder; removing that cluster there repairs it.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::local::cluster::Cluster;
use crate::program::{self, command};

/// A bridge without ports, which swallows packets for Service addresses that no Service has.
const SERVICES_DEVICE: &str = "services";

/// Makes namespace and cable unless they are there and whole.
pub fn ensure(cluster: &Cluster) -> Result<()> {
    if is_whole(cluster) {
        return Ok(());
    }
    refuse_foreign(cluster)?;
    remove(cluster);
    let space = cluster.space();
    ip("make the network namespace", &["netns", "add", &space])?;
    lay_cable(cluster)?;
    inside_routes(cluster)?;
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

/// True while the host's end of the cable exists.
pub fn has_cable(cluster: &Cluster) -> bool {
    Path::new("/sys/class/net").join(cluster.cable()).exists()
}

/// The marker is the last thing that `ensure` sets, so a half-made namespace is made anew.
fn is_whole(cluster: &Cluster) -> bool {
    owner(cluster).as_deref() == Some(&marker(cluster)) && cluster.space_file().exists() && {
        let pods = ["ip", "route", "show", &cluster.service_range()];
        program::run("read the routes", &mut inside(cluster, pods))
            .is_ok_and(|routes| !routes.trim().is_empty())
    }
}

fn refuse_foreign(cluster: &Cluster) -> Result<()> {
    match owner(cluster) {
        Some(owner) if !owner.is_empty() && owner != marker(cluster) => Err(Error::Refused(format!(
            "the device {} belongs to {owner}; bring that cluster down with its own SQUADRON_TESTBED_HOME first",
            cluster.cable()
        ))),
        _ => Ok(()),
    }
}

/// Who laid the cable: the text in the device's alias. Nothing when there is no device.
fn owner(cluster: &Cluster) -> Option<String> {
    let alias = Path::new("/sys/class/net").join(cluster.cable()).join("ifalias");
    std::fs::read_to_string(alias).ok().map(|text| text.trim().to_owned())
}

/// At most 255 bytes fit into an alias.
fn marker(cluster: &Cluster) -> String {
    let text = cluster.folder().display().to_string();
    text.chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect()
}

fn lay_cable(cluster: &Cluster) -> Result<()> {
    let (cable, space) = (cluster.cable(), cluster.space());
    let host = format!("{}/30", cluster.host_address());
    let node = cluster.node_address().to_string();
    ip("lay the cable", &["link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
    ip("mark the cable", &["link", "set", &cable, "alias", &marker(cluster)])?;
    ip("give the host its address", &["addr", "add", &host, "dev", &cable])?;
    ip("raise the cable", &["link", "set", &cable, "up"])?;
    for words in [
        vec!["ip", "link", "set", "lo", "up"],
        vec!["ip", "addr", "add", &format!("{node}/30"), "dev", "eth0"],
        vec!["ip", "link", "set", "eth0", "up"],
    ] {
        program::run("set up the node's end of the cable", &mut inside(cluster, words))?;
    }
    ip("route to the pods", &["route", "add", &cluster.pod_range(), "via", &node, "dev", &cable])
}

/// Host processes need some route to a Service address before kube-proxy's rules rewrite it.
fn inside_routes(cluster: &Cluster) -> Result<()> {
    let (services, node) = (cluster.service_range(), cluster.node_address().to_string());
    for words in [
        vec!["ip", "link", "add", SERVICES_DEVICE, "type", "bridge"],
        vec!["ip", "link", "set", SERVICES_DEVICE, "up"],
        vec!["ip", "route", "add", &services, "dev", SERVICES_DEVICE, "src", &node],
    ] {
        program::run("route to the Services", &mut inside(cluster, words))?;
    }
    Ok(())
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

fn ip(step: &str, words: &[&str]) -> Result<()> {
    program::run(step, &mut command("ip", words)).map(|_| ())
}
