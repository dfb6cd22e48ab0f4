//! Brings one local cluster up from any state.
//!
//! Owns the order of the steps. Invariant: every step looks before it acts, so a run over a whole cluster changes
//! nothing, a run after an interruption goes on, and a run over dead processes starts them again on the kept data.
//! Fails with the component and its log; `down NAME` and `up` start from nothing.

use std::time::Duration;

use crate::error::Result;
use crate::files;
use crate::images::Archive;
use crate::local::cluster::Cluster;
use crate::local::component::Component;
use crate::local::{cgroup, containerd, dns, down, images, kubeconfig, network, pki};
use crate::mounts;
use crate::process::{in_cgroup, kill_all, shims};
use crate::progress::Progress;
use crate::{program, wait};

/// Brings the cluster up and loads the images.
pub fn up(cluster: &Cluster, archives: &[Archive]) -> Result<()> {
    let progress = Progress::new(cluster.name.as_str());
    let is_new = !cluster.path("etcd").exists();
    say_what_is_there(cluster, &progress, is_new);
    network::refuse_foreign(cluster)?;
    if !network::has_space(cluster) {
        // Daemons of a namespace that lost its name can never be reached again.
        down::end_processes(cluster)?;
    }
    files::folder(&cluster.run_folder())?;
    pki::ensure(cluster)?;
    kubeconfig::write_all(cluster)?;
    network::ensure(cluster)?;
    network::room_for_watchers()?;
    start_control_plane(cluster, &progress)?;
    let last_word = last_word_of_node(cluster);
    let is_started = Component::Kubelet.process(cluster).is_none();
    start_node(cluster, &progress, is_new, archives)?;
    for archive in archives {
        images::load(cluster, archive)?;
    }
    wait_until_usable(cluster, &progress, is_started.then_some(last_word.as_str()))
}

fn say_what_is_there(cluster: &Cluster, progress: &Progress, is_new: bool) {
    let living = Component::ALL.iter().filter(|component| component.process(cluster).is_some()).count();
    match (is_new, living) {
        (true, _) => progress.say(&format!("making the cluster, node {}", cluster.node_address())),
        (false, 0) => progress.say("nothing of it runs; starting it on the data that it had"),
        (false, 8) => progress.say("all components run"),
        (false, some) => progress.say(&format!("{some} of 8 components run; starting the others")),
    }
}

fn start_control_plane(cluster: &Cluster, progress: &Progress) -> Result<()> {
    let kubectl = cluster.kubectl();
    let answers = || program::holds(kubectl.command().args(["get", "--raw=/readyz"]));
    if Component::KubeApiserver.process(cluster).is_none() || !answers() {
        progress.step("waiting for the API server", "4 to 8 s", || {
            Component::Etcd.start(cluster)?;
            Component::KubeApiserver.start(cluster)?;
            wait::until("the API server's first answer", Duration::from_secs(120), &hint(cluster), || {
                Component::Etcd.must_live(cluster)?;
                Component::KubeApiserver.must_live(cluster)?;
                Ok(answers())
            })
        })?;
    }
    Component::Etcd.start(cluster)?;
    Component::KubeControllerManager.start(cluster)?;
    Component::KubeScheduler.start(cluster)
}

fn start_node(cluster: &Cluster, progress: &Progress, is_new: bool, archives: &[Archive]) -> Result<()> {
    clear_dead_node(cluster, progress)?;
    Component::Containerd.start(cluster)?;
    wait::until("containerd's first answer", Duration::from_secs(60), &hint(cluster), || {
        Component::Containerd.must_live(cluster)?;
        Ok(containerd::answers(cluster))
    })?;
    if is_new {
        containerd::forget_containers(cluster)?;
    }
    if let Some(pause) = archives.first() {
        images::load(cluster, pause)?;
    }
    apply_dns(cluster)?;
    for component in [Component::Coredns, Component::Kubelet, Component::KubeProxy] {
        component.start(cluster)?;
    }
    Ok(())
}

/// When neither kubelet, containerd nor any shim lives, what they left is of no use: containers without a shim are
/// killed, mounts detached, and containerd's and runc's running state removed. The kubelet then starts its pods anew.
fn clear_dead_node(cluster: &Cluster, progress: &Progress) -> Result<()> {
    let lives = |component: Component| component.process(cluster).is_some();
    if lives(Component::Kubelet)
        || lives(Component::Containerd)
        || !shims(&cluster.containerd_socket()).is_empty()
    {
        return Ok(());
    }
    let mut left = Vec::new();
    for folder in cgroup::folders(cluster)? {
        left.extend(in_cgroup(&folder));
    }
    if !left.is_empty() {
        progress.say("ending containers that nobody watches any more");
        kill_all(&left)?;
    }
    mounts::detach(cluster.folder())?;
    for socket in containerd::shim_sockets(cluster)? {
        files::remove(&socket)?;
    }
    for folder in ["containerd-state", "runc", "cni/ipam"] {
        files::remove(&cluster.path(folder))?;
    }
    Ok(())
}

/// The namespace kube-system appears a moment after the API server's first answer.
fn apply_dns(cluster: &Cluster) -> Result<()> {
    let kubectl = cluster.kubectl();
    let manifest = dns::manifest(cluster);
    wait::until("the namespace kube-system", Duration::from_secs(60), &hint(cluster), || {
        Ok(program::holds(kubectl.command().args(["get", "namespace", "kube-system"])))
    })?;
    kubectl.apply("set up the cluster's DNS", &manifest)
}

/// Waits for the node and the default service account. After a start of the kubelet the node must have spoken anew,
/// since its status from before still says that it is ready.
fn wait_until_usable(cluster: &Cluster, progress: &Progress, last_word: Option<&str>) -> Result<()> {
    let usable = || {
        let spoke = last_word.is_none_or(|last| last != last_word_of_node(cluster));
        let account = ["get", "serviceaccount", "default"];
        spoke && is_node_ready(cluster) && program::holds(cluster.kubectl().command().args(account))
    };
    if usable() {
        return Ok(());
    }
    progress.step("waiting for the node", "5 to 15 s", || {
        wait::until("the readiness of the node", Duration::from_secs(180), &hint(cluster), || {
            for component in [Component::Kubelet, Component::Containerd, Component::KubeControllerManager] {
                component.must_live(cluster)?;
            }
            Ok(usable())
        })
    })?;
    Ok(())
}

fn is_node_ready(cluster: &Cluster) -> bool {
    let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
    let words = ["get", "node", &cluster.node_name(), "-o", ready];
    cluster.kubectl().run("look at the node", &words).is_ok_and(|status| status == "True")
}

/// When the kubelet last renewed its lease; empty before the first time.
fn last_word_of_node(cluster: &Cluster) -> String {
    let time = "jsonpath={.spec.renewTime}";
    let words = ["get", "lease", "-n", "kube-node-lease", &cluster.node_name(), "-o", time];
    cluster.kubectl().run("read the node's lease", &words).unwrap_or_default()
}

fn hint(cluster: &Cluster) -> String {
    let name = &cluster.name;
    format!(
        "see `squadron-testbed logs {name} COMPONENT`; `squadron-testbed down {name}` and `up` start from nothing"
    )
}
