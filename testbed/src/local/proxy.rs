//! kube-proxy in nftables mode.
//!
//! Invariant: it touches no setting that is not per network namespace, such as the size of the connection table.

use crate::error::Result;
use crate::files;
use crate::local::cluster::Cluster;

/// Writes the configuration and gives the command line.
pub fn prepare(cluster: &Cluster) -> Result<Vec<String>> {
    let file = cluster.path("proxy.yaml");
    files::replace(&file, configuration(cluster))?;
    Ok(vec![cluster.binary("kube-proxy").display().to_string(), format!("--config={}", file.display())])
}

fn configuration(cluster: &Cluster) -> String {
    let (pods, node) = (cluster.pod_range(), cluster.node_name());
    let kubeconfig = cluster.kubeconfig("proxy");
    let kubeconfig = kubeconfig.display();
    format!(
        r#"apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: {pods}
hostnameOverride: {node}
bindAddress: 0.0.0.0
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
clientConnection: {{kubeconfig: "{kubeconfig}"}}
conntrack: {{maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}
nftables: {{minSyncPeriod: 200ms, syncPeriod: 30s}}
"#
    )
}
