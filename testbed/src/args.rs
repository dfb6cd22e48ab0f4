//! The command line of the testbed.
//!
//! Invariant: every command's help says what it does, what it leaves behind and which command comes next.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::fakes::ServeDcgm;
use crate::local::Component;
use crate::name::Name;

/// Real Kubernetes clusters on one machine, for trying and testing Squadron.
///
/// Each local cluster is etcd, API server, controller manager, scheduler, containerd, kubelet, kube-proxy and CoreDNS as
/// plain processes in a network namespace of its own. Pods reach each other and the control plane on the host
/// (control-plane.squadron.internal), and nothing else.
///
/// Everything lies below $SQUADRON_TESTBED_HOME, or squadron-testbed in the user's cache folder.
#[derive(Parser, Debug)]
#[command(
    name = "squadron-testbed",
    version,
    after_help = "Start with: squadron-testbed up --clusters east,west"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Bring clusters up; nothing is done twice, so repeat it after anything went wrong.
    ///
    /// Builds and installs what is missing first. Clusters whose processes were killed start again on their data.
    #[command(after_help = "Examples:
  squadron-testbed up --clusters east,west
  squadron-testbed up --clusters big --node-cpus 64 --kubernetes-version v1.33.8
  squadron-testbed up --contexts kind-a,prod=arn:aws:eks:eu-west-1:1:cluster/prod")]
    Up(Up),
    /// Take clusters down: no process, mount, namespace, rule or cgroup stays.
    ///
    /// Loaded images and logs stay, so that the next `up` is quick; with --purge nothing stays.
    Down {
        /// Clusters to take down; all when none is named.
        names: Vec<Name>,
        /// Also remove images and logs, and free the cluster's number.
        #[arg(long)]
        purge: bool,
    },
    /// Show the clusters, their components and the memory that they take.
    Status {
        /// Clusters to show; all when none is named.
        names: Vec<Name>,
        /// How to print it.
        #[arg(long, short, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
    /// Print the path of an administrator's kubeconfig: kubectl --kubeconfig $(squadron-testbed kubeconfig east) get pods
    Kubeconfig { name: Name },
    /// Print the log of one component.
    Logs {
        name: Name,
        #[arg(value_enum)]
        component: Component,
        /// How many of the last lines.
        #[arg(long, short = 'n', default_value_t = 100)]
        lines: u32,
        /// Go on printing as lines come.
        #[arg(long, short)]
        follow: bool,
    },
    /// Load an image archive into clusters; images that are there with the same digest are skipped.
    #[command(after_help = "Examples:
  squadron-testbed load-image east west agent
  squadron-testbed load-image east ./my-image.tar")]
    LoadImage {
        /// Clusters, and last the archive: a path, or `ray`, `agent` or `pause` for one that the testbed made.
        #[arg(required = true, num_args = 2.., value_name = "NAME... TAR")]
        names_and_archive: Vec<String>,
    },
    /// Cut a cluster off from the control plane: packets are dropped both ways without a word, open connections too.
    ///
    /// The API server stays reachable from this machine. `heal` undoes it.
    Cut {
        name: Name,
        /// Ports of the control plane on the host.
        #[arg(long = "port", default_values_t = [7443])]
        ports: Vec<u16>,
        /// Refuse connections at once, as a closed port does, instead of swallowing packets.
        #[arg(long)]
        refuse: bool,
    },
    /// Undo `cut`: let the traffic to the control plane through again.
    Heal { name: Name },
    /// Kill a component with SIGKILL; `up` starts it again.
    Kill {
        name: Name,
        #[arg(value_enum)]
        component: Component,
    },
    /// Install the Debian packages that are missing (as root), or say which they are.
    Install,
    /// Build binaries and images without starting anything; what is there with the right content is kept.
    Build {
        /// Only this: kubernetes, etcd, coredns, helm, kwok, pause or ray. kwok is built only when it is named.
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
        /// Version of Kubernetes; the pinned one by default.
        #[arg(long)]
        kubernetes_version: Option<String>,
    },
    /// Make a container image from a binary, without Docker, and print the path of the archive.
    #[command(after_help = "Example:
  squadron-testbed build-image agent --binary target/debug/squadron-agent
  squadron-testbed load-image east west agent")]
    BuildImage {
        #[arg(value_enum)]
        image: BuiltImage,
        /// The binary; the shared libraries that it needs are put beside it.
        #[arg(long)]
        binary: PathBuf,
    },
    /// Run a command on a cluster's node: its network and DNS, KUBECONFIG set, the testbed's binaries in the PATH.
    ///
    /// `down` ends the command with the cluster.
    #[command(after_help = "Example: squadron-testbed run-in east -- kubectl get pods -A")]
    RunIn {
        name: Name,
        #[arg(last = true, required = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// Fake: give the nodes GPUs that do not exist, as a device plugin would announce them. Count 0 takes them away.
    FakeGpu {
        name: Name,
        #[arg(long)]
        count: u32,
        /// Product name for the label nvidia.com/gpu.product.
        #[arg(long, default_value = "H100")]
        model: String,
    },
    /// Fake: append a line to the cluster's fake kernel log and print the record.
    ///
    /// The file has the form of /dev/kmsg and lies in the cluster's folder, where a pod mounts it as a hostPath.
    #[command(after_help = "Example:
  squadron-testbed fake-kernel-line east \"NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.\"")]
    FakeKernelLine {
        name: Name,
        text: String,
        /// Priority with facility, as the kernel writes it; 3 is a kernel error.
        #[arg(long, default_value_t = 3)]
        priority: u8,
    },
    /// Fake: write which running pod holds which fake GPU, in the shape of the kubelet's pod-resources list.
    FakeDevices { name: Name },
    /// Fake: serve on the node what dcgm-exporter would serve for its fake GPUs, until it is ended; `down` ends it too.
    ///
    /// The values are a recording. Labels name the pod that holds a GPU by the list that `fake-devices` wrote last.
    #[command(after_help = "Example:
  squadron-testbed fake-gpu east --count 8
  squadron-testbed fake-devices east
  squadron-testbed fake-dcgm east &
  squadron-testbed run-in east -- curl -s localhost:9400/metrics")]
    FakeDcgm {
        name: Name,
        /// Port on the node; the exporter's own by default.
        #[arg(long, default_value_t = 9400)]
        port: u16,
        /// Another recording, in Prometheus' text form; GPU 0 in it is at work, the others at rest.
        #[arg(long)]
        recording: Option<PathBuf>,
    },
    /// Fake: the process that `fake-dcgm` starts on the node.
    #[command(hide = true)]
    FakeDcgmServe(ServeDcgm),
}

/// What `up` brings up.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub struct Clusters {
    /// Names of local clusters, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub clusters: Vec<Name>,
    /// Contexts of a kubeconfig that you have, separated by commas; NAME=CONTEXT gives one a name of its own.
    #[arg(long, value_delimiter = ',', value_name = "CONTEXTS")]
    pub contexts: Vec<String>,
}

/// Options of `up`.
#[derive(Args, Debug)]
pub struct Up {
    #[command(flatten)]
    pub which: Clusters,
    /// The kubeconfig that holds the contexts; kubectl's own choice by default.
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// Fake: CPUs that the node of a new cluster claims to have, so that larger requests fit.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub node_cpus: u16,
    /// Version of Kubernetes for a new cluster; the pinned one by default.
    #[arg(long)]
    pub kubernetes_version: Option<String>,
    /// Let the API server of a new cluster log every write, to log/audit.log in the cluster's folder.
    #[arg(long)]
    pub audit: bool,
    /// Do not make and load the Ray image.
    #[arg(long)]
    pub no_ray: bool,
}

/// How `status` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Output {
    Table,
    Json,
}

/// Images that are made from a binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum BuiltImage {
    Agent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn up_needs_something_to_bring_up() {
        assert!(Arguments::try_parse_from(["x", "up"]).is_err());
        assert!(Arguments::try_parse_from(["x", "up", "--clusters", "east,west"]).is_ok());
        assert!(Arguments::try_parse_from(["x", "up", "--contexts", "a"]).is_ok());
        assert!(Arguments::try_parse_from(["x", "up", "--clusters", "East"]).is_err());
    }

    #[test]
    fn every_command_has_help() {
        for command in Arguments::command().get_subcommands() {
            assert!(
                command.get_about().is_some_and(|about| about.to_string().len() > 20),
                "{}",
                command.get_name()
            );
        }
    }
}
