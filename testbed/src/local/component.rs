//! The components of a local cluster and how each is started.
//!
//! Owns their names: they are the names of pid files, logs and of the argument of `kill` and `logs`.
//! Invariant: `start` does nothing when the component already runs.

use clap::ValueEnum;

use crate::error::{Error, Result};
use crate::local::cluster::Cluster;
use crate::local::{containerd, control_plane, dns, kubelet, proxy};
use crate::process::{Daemon, PidFile, Process, end_all, in_space};

/// A daemon of a local cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Component {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Containerd,
    Kubelet,
    KubeProxy,
    Coredns,
}

impl Component {
    /// All of them, in the order in which they start.
    pub const ALL: [Self; 8] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Containerd,
        Self::Coredns,
        Self::Kubelet,
        Self::KubeProxy,
    ];

    /// The name of the component, of its pid file and of its log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Containerd => "containerd",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Coredns => "coredns",
        }
    }

    /// The running process, if any.
    pub fn process(self, cluster: &Cluster) -> Option<Process> {
        self.pid_file(cluster).process()
    }

    /// Starts the component unless it runs.
    pub fn start(self, cluster: &Cluster) -> Result<()> {
        if self.process(cluster).is_some() {
            return Ok(());
        }
        self.end_stray(cluster)?;
        let daemon = Daemon {
            component: self.name(),
            words: self.words(cluster)?,
            space: cluster.space_file(),
            log: cluster.log(self.name()),
            pid_file: self.pid_file(cluster),
        };
        daemon.start()
    }

    /// An error when the component has ended; for waits that would otherwise run to their deadline.
    pub fn must_live(self, cluster: &Cluster) -> Result<()> {
        match self.process(cluster) {
            Some(_) => Ok(()),
            None => Err(Error::Died {
                component: self.name().to_owned(),
                cluster: cluster.name.to_string(),
                log: cluster.log(self.name()),
            }),
        }
    }

    fn pid_file(self, cluster: &Cluster) -> PidFile {
        PidFile::new(&cluster.run_folder(), self.name())
    }

    fn words(self, cluster: &Cluster) -> Result<Vec<String>> {
        match self {
            Self::Etcd => Ok(control_plane::etcd(cluster)),
            Self::KubeApiserver => control_plane::api_server(cluster),
            Self::KubeControllerManager => Ok(control_plane::controller_manager(cluster)),
            Self::KubeScheduler => Ok(control_plane::scheduler(cluster)),
            Self::Containerd => containerd::prepare(cluster),
            Self::Kubelet => kubelet::prepare(cluster),
            Self::KubeProxy => proxy::prepare(cluster),
            Self::Coredns => dns::prepare(cluster),
        }
    }

    /// A process of an `up` that died before it wrote the pid file still holds ports and locks.
    fn end_stray(self, cluster: &Cluster) -> Result<()> {
        let is_stray = |process: &Process| {
            let program = process.arguments().into_iter().next().unwrap_or_default();
            program == self.name() || program.ends_with(&format!("/{}", self.name()))
        };
        let strays: Vec<Process> = in_space(&cluster.space_file()).into_iter().filter(is_stray).collect();
        end_all(&strays, std::time::Duration::from_secs(2))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for component in Component::ALL {
            assert_eq!(component.to_possible_value().unwrap().get_name(), component.name());
        }
    }
}
