//! The wire between agent and control plane, generated from `proto/squadron/link/v1/link.proto`.
//!
//! Changes are additive; field numbers are never reused.

pub mod codec;

/// Link protocol, version 1.
pub mod link {
    #![allow(missing_docs, clippy::all)]
    tonic::include_proto!("squadron.link.v1");
}

/// Metadata key that carries the cluster id (a UUID) of the caller.
pub const CLUSTER_HEADER: &str = "squadron-cluster";
/// Greatest encoded message on the control connection, in bytes.
pub const CONTROL_LIMIT: usize = 64 * 1024;
/// Greatest encoded message down the control connection, in bytes: a whole desired state, manifests included.
pub const DESIRED_LIMIT: usize = 16 * 1024 * 1024;
/// Greatest encoded message on the ingest connection, in bytes; the decompressed batch has the same limit times 4.
pub const INGEST_LIMIT: usize = 1024 * 1024;
/// Greatest decompressed batch, in bytes.
pub const BATCH_LIMIT: usize = 4 * 1024 * 1024;
