//! The cluster's only node: configuration and command line of the kubelet.
//!
//! Invariant: the kubelet writes below the cluster's folder and into the cluster's cgroups alone, except for the log
//! links that it lays for other tools, which `down` finds by where they point.

use crate::error::{AtPath, Result};
use crate::files;
use crate::local::cluster::Cluster;
use crate::local::{cgroup, cpus};
use crate::mounts;

/// Writes the configuration and gives the command line.
pub fn prepare(cluster: &Cluster) -> Result<Vec<String>> {
    cgroup::ensure(cluster)?;
    let root = cluster.path("kubelet");
    files::folder(&root)?;
    files::folder(&cluster.path("pod-logs"))?;
    mounts::share(&root)?;
    ensure_fake_kmsg(cluster)?;
    files::replace(&cluster.path("resolv.conf"), format!("nameserver {}\n", cluster.node_address()))?;
    let file = cluster.path("kubelet.yaml");
    files::replace(&file, configuration(cluster))?;
    cpus::wrap(
        cluster,
        vec![
            cluster.binary("kubelet").display().to_string(),
            format!("--config={}", file.display()),
            format!("--kubeconfig={}", cluster.kubeconfig("kubelet").display()),
            format!("--root-dir={}", root.display()),
            format!("--hostname-override={}", cluster.node_name()),
            format!("--node-ip={}", cluster.node_address()),
            "--v=1".into(),
        ],
    )
}

/// The file exists before any pod mounts it, or the mount would make a folder of that name.
fn ensure_fake_kmsg(cluster: &Cluster) -> Result<()> {
    let path = cluster.path(crate::fakes::KMSG_FILE);
    std::fs::File::options().create(true).append(true).open(&path).at("make", &path).map(|_| ())
}

fn configuration(cluster: &Cluster) -> String {
    let pki = |file: &str| cluster.pki(file).display().to_string();
    let folder = cluster.folder().display();
    let (ca, certificate, key) = (pki("ca.crt"), pki("kubelet-serving.crt"), pki("kubelet-serving.key"));
    let socket = cluster.containerd_socket();
    let (socket, space, dns) = (socket.display(), cluster.space(), cluster.dns_service_address());
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
port: 10250
healthzBindAddress: 127.0.0.1
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: "{ca}"}}}}
authorization: {{mode: Webhook}}
tlsCertFile: "{certificate}"
tlsPrivateKeyFile: "{key}"
cgroupDriver: cgroupfs
cgroupRoot: /{space}
cgroupsPerQOS: true
enforceNodeAllocatable: [pods]
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: "unix://{socket}"
clusterDNS: [{dns}]
clusterDomain: cluster.local
resolvConf: "{folder}/resolv.conf"
podLogsDir: "{folder}/pod-logs"
volumePluginDir: "{folder}/kubelet/volume-plugins"
imageGCHighThresholdPercent: 100
evictionHard: {{memory.available: "300Mi", nodefs.available: "1%", nodefs.inodesFree: "1%", imagefs.available: "1%"}}
registerNode: true
maxPods: 110
serializeImagePulls: false
nodeStatusUpdateFrequency: 10s
syncFrequency: 10s
containerLogMaxSize: 10Mi
kubeAPIQPS: 100
kubeAPIBurst: 200
"#
    )
}
