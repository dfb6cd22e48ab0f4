//! Local clusters: every component of Kubernetes as a process of this machine, in a network namespace of its own.
//!
//! Owns processes, mounts, namespaces, cgroups and files of a cluster. Invariant: `up` brings any state (nothing, a
//! half-made cluster, one with dead components) to a running cluster; `down` brings any state to nothing.

mod audit;
mod cgroup;
mod cluster;
mod component;
mod containerd;
mod control_plane;
mod cpus;
mod cut;
mod dns;
mod down;
mod images;
mod kubeconfig;
mod kubelet;
mod network;
mod pki;
mod provider;
mod proxy;
mod run_in;
mod status;
mod up;

pub use component::Component;
pub use provider::Local;
