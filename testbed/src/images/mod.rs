//! Container images, made without a container daemon and kept by content.
//!
//! Owns the archives below `images/`. Invariant: an archive is an OCI layout with one image and one uncompressed layer;
//! beside it lies the key of what it was made of. It is replaced in one step.

mod agent;
mod archive;
mod layer;
mod oci;
mod pause;
mod ray;
mod recipe;
mod ustar;

use std::path::PathBuf;

pub use agent::build as build_agent;
pub use archive::Archive;
pub use pause::ensure as ensure_pause;
pub use ray::ensure as ensure_ray;

use crate::home::Home;

/// The image that holds a pod's namespaces open.
pub const PAUSE: &str = "squadron.dev/testbed-pause:1";
/// The Ray image, under the name that manifests use.
pub const RAY: &str = "rayproject/ray:2.60.0";
/// The agent's image.
pub const AGENT: &str = "squadron.dev/squadron-agent:dev";

/// The file of an image that the testbed makes, by its short name: `pause`, `ray` or `agent`.
pub fn path(home: &Home, short: &str) -> PathBuf {
    home.images().join(format!("{short}.tar"))
}
