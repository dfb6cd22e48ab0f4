//! Schema: the structural OpenAPI schema of our kinds, for the CRDs and for reading manifests.
//!
//! Owns how Rust types and Kubernetes' own types become one schema that an API server accepts. Invariant: the schema
//! that refuses a field in the cluster is the one that refuses it when a job is submitted.

pub(crate) mod check;
pub(crate) mod embedded;
mod nearest;
mod structural;

use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

use crate::types::{RayClusterSpec, RayClusterStatus, RayJobSpec, RayJobStatus};

/// The whole object's schema, spec and status.
pub(crate) fn ray_cluster() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(object_schema::<RayClusterSpec, RayClusterStatus>)
}

/// The whole object's schema, spec and status.
pub(crate) fn ray_job() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(object_schema::<RayJobSpec, RayJobStatus>)
}

fn object_schema<Spec: JsonSchema, Status: JsonSchema>() -> Value {
    json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": of::<Spec>(),
            "status": of::<Status>(),
        },
    })
}

/// The structural schema of `T`, with every reference written out.
fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.transforms.clear();
    });
    structural::from(settings.into_generator().into_root_schema_for::<T>().to_value())
}

/// CEL 1: who reconciles the object. Set once, then fixed.
pub(crate) fn managed_by(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "the managedBy field is immutable"},
            {
                "rule": "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
                "message": "the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'",
            },
        ],
    })
}
