//! The command lines of etcd, API server, controller manager and scheduler.
//!
//! From the cluster's names and addresses to words. Invariant: nothing listens outside the cluster's namespace;
//! authentication and authorisation are those of a real cluster (certificates, Node and RBAC), admission webhooks are on.

use crate::error::Result;
use crate::local::audit;
use crate::local::cluster::Cluster;

/// etcd without fsync: the cluster survives the death of any process, not that of the machine.
pub fn etcd(cluster: &Cluster) -> Vec<String> {
    let name = &cluster.name;
    let mut words = vec![cluster.home().binary("etcd").display().to_string()];
    words.extend(
        [
            format!("--name={name}"),
            format!("--data-dir={}", cluster.path("etcd").display()),
            "--unsafe-no-fsync".into(),
            "--max-request-bytes=10485760".into(),
            "--quota-backend-bytes=4294967296".into(),
            "--auto-compaction-mode=periodic".into(),
            "--auto-compaction-retention=5m".into(),
            "--log-level=warn".into(),
            "--listen-client-urls=http://127.0.0.1:2379".into(),
            "--advertise-client-urls=http://127.0.0.1:2379".into(),
            "--listen-peer-urls=http://127.0.0.1:2380".into(),
            "--initial-advertise-peer-urls=http://127.0.0.1:2380".into(),
            format!("--initial-cluster={name}=http://127.0.0.1:2380"),
        ]
        .map(String::from),
    );
    words
}

/// The API server.
pub fn api_server(cluster: &Cluster) -> Result<Vec<String>> {
    let mut words = vec![cluster.binary("kube-apiserver").display().to_string()];
    words.extend(api_server_basics(cluster));
    words.extend(api_server_identities(cluster));
    words.extend(audit::flags(cluster)?);
    Ok(words)
}

fn api_server_basics(cluster: &Cluster) -> Vec<String> {
    vec![
        "--etcd-servers=http://127.0.0.1:2379".into(),
        format!("--advertise-address={}", cluster.node_address()),
        "--bind-address=0.0.0.0".into(),
        "--secure-port=6443".into(),
        format!("--service-cluster-ip-range={}", cluster.service_range()),
        "--authorization-mode=Node,RBAC".into(),
        "--enable-admission-plugins=NodeRestriction,MutatingAdmissionWebhook,ValidatingAdmissionWebhook"
            .into(),
        "--allow-privileged=true".into(),
        "--kubelet-preferred-address-types=InternalIP".into(),
        "--enable-aggregator-routing=true".into(),
        "--profiling=false".into(),
        "--event-ttl=30m".into(),
        "--v=1".into(),
    ]
}

fn api_server_identities(cluster: &Cluster) -> Vec<String> {
    let pki = |file: &str| cluster.pki(file).display().to_string();
    vec![
        format!("--client-ca-file={}", pki("ca.crt")),
        format!("--tls-cert-file={}", pki("apiserver.crt")),
        format!("--tls-private-key-file={}", pki("apiserver.key")),
        format!("--kubelet-certificate-authority={}", pki("ca.crt")),
        format!("--kubelet-client-certificate={}", pki("apiserver-kubelet-client.crt")),
        format!("--kubelet-client-key={}", pki("apiserver-kubelet-client.key")),
        format!("--service-account-issuer={}", cluster.issuer()),
        format!("--service-account-jwks-uri={}/openid/v1/jwks", cluster.api_url()),
        "--api-audiences=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", pki("sa.pub")),
        format!("--service-account-signing-key-file={}", pki("sa.key")),
        format!("--requestheader-client-ca-file={}", pki("front-proxy-ca.crt")),
        "--requestheader-allowed-names=front-proxy-client".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        format!("--proxy-client-cert-file={}", pki("front-proxy-client.crt")),
        format!("--proxy-client-key-file={}", pki("front-proxy-client.key")),
    ]
}

/// The controller manager.
pub fn controller_manager(cluster: &Cluster) -> Vec<String> {
    let pki = |file: &str| cluster.pki(file).display().to_string();
    let mut words = with_kubeconfigs(cluster, "kube-controller-manager", "controller-manager");
    words.extend([
        "--use-service-account-credentials=true".into(),
        format!("--service-account-private-key-file={}", pki("sa.key")),
        format!("--root-ca-file={}", pki("ca.crt")),
        format!("--cluster-signing-cert-file={}", pki("ca.crt")),
        format!("--cluster-signing-key-file={}", pki("ca.key")),
        format!("--service-cluster-ip-range={}", cluster.service_range()),
        "--allocate-node-cidrs=false".into(),
        "--controllers=*,bootstrapsigner,tokencleaner".into(),
        format!("--cluster-name={}", cluster.name),
    ]);
    words
}

/// The scheduler.
pub fn scheduler(cluster: &Cluster) -> Vec<String> {
    with_kubeconfigs(cluster, "kube-scheduler", "scheduler")
}

fn with_kubeconfigs(cluster: &Cluster, binary: &str, user: &str) -> Vec<String> {
    let kubeconfig = cluster.kubeconfig(user).display().to_string();
    vec![
        cluster.binary(binary).display().to_string(),
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        "--bind-address=127.0.0.1".into(),
        "--leader-elect=false".into(),
        "--profiling=false".into(),
    ]
}
