//! A local cluster: its names, addresses and files. All of them follow from its name and number.
//!
//! Owns the address plan. Invariant: two clusters with different numbers share no address, device or file.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::home::Home;
use crate::kubectl::Kubectl;
use crate::name::Name;
use crate::register::Settings;

/// The DNS name under which every cluster reaches the control plane on the host.
pub const CONTROL_PLANE_NAME: &str = "control-plane.squadron.internal";

/// One cluster that runs as processes on this machine.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub name: Name,
    pub number: u8,
    pub settings: Settings,
    folder: PathBuf,
    home: Home,
}

impl Cluster {
    /// The cluster of this name and number below the home folder.
    pub fn new(home: &Home, name: Name, number: u8, settings: Settings) -> Self {
        let folder = home.cluster(name.as_str());
        Self { name, number, settings, folder, home: home.clone() }
    }

    /// The home folder that the cluster lies in.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Name of the network namespace and of the cgroup.
    pub fn space(&self) -> String {
        format!("sqt-{}", self.name)
    }

    /// The file that holds the network namespace open.
    pub fn space_file(&self) -> PathBuf {
        Path::new("/run/netns").join(self.space())
    }

    /// The host's end of the cable into the namespace.
    pub fn cable(&self) -> String {
        format!("sqt{}", self.number)
    }

    /// The host as the cluster sees it; the control plane listens there.
    pub fn host_address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 201, self.number, 1)
    }

    /// The node as the host sees it.
    pub fn node_address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 201, self.number, 2)
    }

    /// The range of pod addresses.
    pub fn pod_range(&self) -> String {
        format!("10.211.{}.0/24", self.number)
    }

    /// The range of Service addresses.
    pub fn service_range(&self) -> String {
        format!("10.221.{}.0/24", self.number)
    }

    /// The Service `kubernetes`.
    pub fn api_service_address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 221, self.number, 1)
    }

    /// The Service `kube-dns`.
    pub fn dns_service_address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 221, self.number, 10)
    }

    /// The API server's address for people and daemons.
    pub fn api_url(&self) -> String {
        format!("https://{}:6443", self.node_address())
    }

    /// The issuer in projected service-account tokens; distinct for every cluster.
    pub fn issuer(&self) -> String {
        format!("https://{}.testbed.squadron.internal", self.name)
    }

    /// The name of the only node.
    pub fn node_name(&self) -> String {
        format!("{}-node", self.name)
    }

    /// The folder of the cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file or folder of the cluster.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Certificates and keys.
    pub fn pki(&self, file: &str) -> PathBuf {
        self.folder.join("pki").join(file)
    }

    /// Folder of the pid files.
    pub fn run_folder(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// Log file of a component.
    pub fn log(&self, component: &str) -> PathBuf {
        self.folder.join("log").join(format!("{component}.log"))
    }

    /// Kubeconfig of a user of the cluster.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.folder.join(format!("{user}.kubeconfig"))
    }

    /// kubectl as the administrator.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl { program: self.binary("kubectl"), kubeconfig: self.kubeconfig("admin") }
    }

    /// The socket of the cluster's own containerd.
    pub fn containerd_socket(&self) -> PathBuf {
        self.folder.join("containerd-state/containerd.sock")
    }

    /// A binary, Kubernetes' own ones in the version of this cluster.
    pub fn binary(&self, name: &str) -> PathBuf {
        crate::build::kubernetes_binary(&self.home, &self.settings.kubernetes_version, name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    pub fn cluster(number: u8) -> Cluster {
        let settings = Settings { kubernetes_version: "v1.34.4".into(), node_cpus: 8, audit: false };
        Cluster::new(&Home::at(Path::new("/home")), format!("c{number}").parse().unwrap(), number, settings)
    }

    #[test]
    fn clusters_share_nothing() {
        let (a, b) = (cluster(1), cluster(2));
        let all = |c: &Cluster| {
            vec![
                c.space(),
                c.cable(),
                c.host_address().to_string(),
                c.node_address().to_string(),
                c.pod_range(),
                c.service_range(),
                c.issuer(),
                c.folder().display().to_string(),
            ]
        };
        assert!(all(&a).iter().zip(all(&b)).all(|(left, right)| *left != right));
    }

    #[test]
    fn cable_name_fits_the_kernel() {
        assert!(cluster(99).cable().len() <= 15);
    }
}
