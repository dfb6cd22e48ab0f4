//! Types: RayCluster and RayJob of ray.io/v1.
//!
//! Owns the field names; the CRDs are generated from here. Pod templates, Services and other embedded Kubernetes
//! objects stay raw JSON, so that a field this build does not know survives the way to the pod. Invariant: a value that
//! the CRD admits can be read by these types; what cannot be read is reported as a validation failure.

mod cluster;
mod group;
mod job;
mod status;

pub use cluster::*;
pub use group::*;
pub use job::*;
pub use status::*;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `object.spec` (or `object.status`) as `T`; a missing part reads as an empty one.
pub(crate) fn part<T: DeserializeOwned>(object: &Value, field: &str) -> Result<T, String> {
    let part = object.get(field).filter(|value| !value.is_null()).cloned();
    let part = part.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    serde_json::from_value(part).map_err(|error| format!("{field} cannot be read: {error}"))
}
