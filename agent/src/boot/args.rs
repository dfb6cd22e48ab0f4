//! Args: what an installation says about its controller, by flags or environment.

use std::{collections::BTreeSet, path::PathBuf};

use clap::{Args, ValueEnum};
use squadron_core::id::ClusterId;

use crate::{
    plan::{Offer, Policy},
    uplink::{PeerSettings, TokenFile},
    watchdog::word::Secret,
};

/// What the agent does with ray.io objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Mode {
    /// Reconcile them.
    Operate,
    /// Leave them to KubeRay's operator; create attempts and observe.
    Observe,
}

/// Settings of the controller role.
#[derive(Args, Clone, Debug)]
pub struct ControllerArgs {
    /// Address of the control plane, for example https://control-plane.squadron.internal:7443.
    #[arg(long, env = "SQUADRON_CONTROL_PLANE")]
    pub control_plane: String,
    /// PEM file with the certificate authority of the control plane.
    #[arg(long, env = "SQUADRON_CA")]
    pub ca: PathBuf,
    /// Id of this cluster, as `squadron cluster add` printed it.
    #[arg(long, env = "SQUADRON_CLUSTER_ID")]
    pub cluster_id: ClusterId,
    /// File with the projected token.
    #[arg(long, env = "SQUADRON_TOKEN")]
    pub token: PathBuf,
    /// One-time enrolment code.
    #[arg(long, env = "SQUADRON_ENROLMENT_CODE", hide_env_values = true)]
    pub enrolment_code: Option<String>,
    /// Folder for the spool, the agent's key and what it remembers.
    #[arg(long, env = "SQUADRON_SPOOL", default_value = "/var/lib/squadron")]
    pub spool: PathBuf,
    /// Most that the spool may hold, in MiB.
    #[arg(long, env = "SQUADRON_SPOOL_MIB", default_value_t = 1536)]
    pub spool_mib: u64,
    /// Namespaces in which attempts may run, comma-separated; if none is given, every namespace but the agent's own and
    /// those of Kubernetes (`kube-…`), which are never open to attempts.
    #[arg(long, env = "SQUADRON_NAMESPACES", value_delimiter = ',')]
    pub namespaces: Option<Vec<String>>,
    /// What to do with ray.io objects.
    #[arg(long, env = "SQUADRON_MODE", value_enum, default_value = "operate")]
    pub mode: Mode,
    /// Most seconds between heartbeats, where that is less than the control plane says.
    #[arg(long, env = "SQUADRON_HEARTBEAT_SECONDS", value_parser = clap::value_parser!(u64).range(1..=10))]
    pub heartbeat_seconds: Option<u64>,
    /// Port of the health endpoint.
    #[arg(long, env = "SQUADRON_HEALTH_PORT", default_value_t = 8081)]
    pub health_port: u16,
    /// Host and port where watchdogs in pods of jobs reach this agent; without it jobs that ask for one are refused.
    #[arg(long, env = "SQUADRON_WATCHDOG_ADDRESS", requires = "watchdog_image")]
    pub watchdog_address: Option<String>,
    /// Image that brings the watchdog into those pods: the agent's own.
    #[arg(long, env = "SQUADRON_WATCHDOG_IMAGE")]
    pub watchdog_image: Option<String>,
    /// UDP port on which watchdogs are answered.
    #[arg(long, env = "SQUADRON_WATCHDOG_PORT", default_value_t = 8082)]
    pub watchdog_port: u16,
    #[arg(long, env = "POD_NAME", default_value = "squadron-agent")]
    pub pod_name: String,
    #[arg(long, env = "POD_UID")]
    pub pod_uid: String,
    #[arg(long, env = "POD_NAMESPACE")]
    pub pod_namespace: String,
}

impl ControllerArgs {
    /// What the planner may do.
    pub(super) fn policy(&self) -> Policy {
        let named = self.namespaces.iter().flatten().filter(|name| !name.is_empty());
        let named: BTreeSet<String> = named.cloned().collect();
        Policy {
            cluster: self.cluster_id,
            home: self.pod_namespace.clone(),
            namespaces: Some(named).filter(|named| !named.is_empty()),
            watchdog: self.watchdog(),
        }
    }

    /// What attempts that ask for a watchdog get, with a secret that only this life knows: what it made of it lies with each
    /// attempt.
    fn watchdog(&self) -> Option<Offer> {
        let (address, image) = (self.watchdog_address.clone()?, self.watchdog_image.clone()?);
        Some(Offer { address, image, secret: Secret::draw() })
    }

    /// Whom the link dials, and as whom.
    pub(super) fn peer(&self) -> PeerSettings {
        PeerSettings {
            address: self.control_plane.clone(),
            ca: self.ca.clone(),
            cluster: self.cluster_id,
            token: TokenFile(self.token.clone()),
            code: self.enrolment_code.clone(),
            pod_uid: self.pod_uid.clone(),
        }
    }
}
