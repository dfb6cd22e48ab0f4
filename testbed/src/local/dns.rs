//! CoreDNS as a process on the node, behind the Service `kube-dns`.
//!
//! Owns the names of the cluster and the control plane's name, which is the host's end of the cable. Invariant: a name
//! that is neither is answered with "no such name" at once; nothing is asked outside. CoreDNS may read Services,
//! EndpointSlices and namespaces, and nothing else.

use crate::error::Result;
use crate::files;
use crate::local::cluster::{CONTROL_PLANE_NAME, Cluster};
use crate::local::pki::DNS_USER;

/// Writes the configuration and gives the command line.
pub fn prepare(cluster: &Cluster) -> Result<Vec<String>> {
    let file = cluster.path("Corefile");
    files::replace(&file, configuration(cluster))?;
    let binary = cluster.home().binary("coredns");
    Ok(vec![binary.display().to_string(), "-conf".into(), file.display().to_string()])
}

/// The objects that CoreDNS needs in the cluster.
pub fn manifest(cluster: &Cluster) -> String {
    let (service, node) = (cluster.dns_service_address(), cluster.node_address());
    let ports = "[{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]";
    format!(
        r#"apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: "{DNS_USER}"}}
rules:
- {{apiGroups: [""], resources: [services, namespaces], verbs: [list, watch]}}
- {{apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: "{DNS_USER}"}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "{DNS_USER}"}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: "{DNS_USER}"}}]
---
apiVersion: v1
kind: Service
metadata: {{name: kube-dns, namespace: kube-system}}
spec: {{clusterIP: {service}, ports: {ports}}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: kube-dns-node, namespace: kube-system, labels: {{kubernetes.io/service-name: kube-dns}}}}
addressType: IPv4
endpoints: [{{addresses: [{node}], conditions: {{ready: true}}}}]
ports: {ports}
"#
    )
}

fn configuration(cluster: &Cluster) -> String {
    let (node, host) = (cluster.node_address(), cluster.host_address());
    let kubeconfig = cluster.kubeconfig("coredns");
    let kubeconfig = kubeconfig.display();
    format!(
        "cluster.local:53 in-addr.arpa:53 {{
  bind {node}
  errors
  ready {node}:8181
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {kubeconfig}
    pods insecure
    ttl 5
  }}
  cache 5 {{
    denial 1000 1
  }}
  loadbalance
}}
{CONTROL_PLANE_NAME}:53 {{
  bind {node}
  errors
  hosts {{
    {host} {CONTROL_PLANE_NAME}
    ttl 5
  }}
}}
.:53 {{
  bind {node}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"
    )
}
