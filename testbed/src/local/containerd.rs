//! The cluster's own containerd: configuration, pod network, and a clean start.
//!
//! Owns containerd's root (images, kept between `down` and `up`), its state and the CNI configuration. Invariant:
//! nothing of it lies outside the cluster's folder but the shims' sockets, which are found by the bundles that name them.
//! Fails when the socket path is too long for the kernel; a shorter SQUADRON_TESTBED_HOME repairs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::files;
use crate::images::PAUSE;
use crate::local::cluster::Cluster;
use crate::program::{self, command};

/// The longest path that a socket can have on Linux, in bytes; containerd adds `.ttrpc`.
const LONGEST_SOCKET: usize = 107 - ".ttrpc".len();

/// Places where distributions put the CNI plugins.
const PLUGINS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];

/// Writes the configuration and gives the command line.
pub fn prepare(cluster: &Cluster) -> Result<Vec<String>> {
    let socket = cluster.containerd_socket();
    if socket.as_os_str().len() > LONGEST_SOCKET {
        return Err(Error::Refused(format!(
            "the path {} is too long for a socket; set SQUADRON_TESTBED_HOME to a shorter folder",
            socket.display()
        )));
    }
    for folder in ["containerd", "containerd-state", "cni/conf", "cni/ipam", "runc"] {
        files::folder(&cluster.path(folder))?;
    }
    let file = cluster.path("containerd.toml");
    files::replace(&file, configuration(cluster))?;
    files::replace(&cluster.path("cni/conf/10-pods.conflist"), pod_network(cluster))?;
    let words = ["containerd", "--config", &file.display().to_string(), "--log-level", "warn"];
    Ok(words.map(str::to_owned).to_vec())
}

/// `ctr` for the images and containers of the kubelet.
pub fn ctr<'a>(cluster: &Cluster, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut ctr = command("ctr", ["-n", "k8s.io", "-a"]);
    ctr.arg(cluster.containerd_socket()).args(words);
    ctr
}

/// True when containerd answers.
pub fn answers(cluster: &Cluster) -> bool {
    program::holds(&mut ctr(cluster, ["version"]))
}

/// Removes the records of containers whose processes are all gone.
pub fn forget_containers(cluster: &Cluster) -> Result<()> {
    for kind in ["tasks", "containers"] {
        let listed = program::run("list old containers", &mut ctr(cluster, [kind, "ls", "-q"]))?;
        let ids: Vec<&str> = listed.lines().collect();
        if !ids.is_empty() {
            // A record without a bundle cannot be removed as a task, but as a container it can.
            program::holds(ctr(cluster, [kind, "rm"]).args(&ids));
        }
    }
    Ok(())
}

/// Sockets of shims, which containerd keeps outside the cluster's folder. Each bundle names its own.
pub fn shim_sockets(cluster: &Cluster) -> Result<Vec<PathBuf>> {
    let tasks = cluster.path("containerd-state/io.containerd.runtime.v2.task/k8s.io");
    let address = |bundle: PathBuf| {
        let text = std::fs::read_to_string(bundle.join("address")).ok()?;
        text.trim().strip_prefix("unix://").map(PathBuf::from)
    };
    Ok(files::entries(&tasks)?.into_iter().filter_map(address).collect())
}

fn plugins() -> &'static str {
    PLUGINS.into_iter().find(|folder| Path::new(folder).join("bridge").exists()).unwrap_or(PLUGINS[0])
}

fn pod_network(cluster: &Cluster) -> String {
    let ipam = cluster.path("cni/ipam");
    serde_json::json!({
        "cniVersion": "1.0.0",
        "name": cluster.space(),
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true,
                "ipMasq": false, "hairpinMode": true,
                "ipam": {"type": "host-local", "dataDir": ipam, "ranges": [[{"subnet": cluster.pod_range()}]]}
            },
            {"type": "portmap", "capabilities": {"portMappings": true}}
        ]
    })
    .to_string()
}

fn configuration(cluster: &Cluster) -> String {
    let folder = cluster.folder().display();
    let socket = cluster.containerd_socket();
    let (socket, plugins) = (socket.display(), plugins());
    format!(
        r#"version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{socket}"
[ttrpc]
  address = "{socket}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  netns_mounts_under_state_dir = true
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  enable_selinux = false
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{folder}/cni/conf"
    max_conf_num = 1
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = "{folder}/runc"
"#
    )
}
