//! Embedded: schemas of the Kubernetes objects that lie inside ours.

use k8s_openapi::api::core::v1::{
    EnvFromSource, EnvVar, EnvVarSource, PodTemplateSpec, ResourceRequirements, SecurityContext, Service,
    VolumeMount,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub(crate) fn pod_template(generator: &mut SchemaGenerator) -> Schema {
    PodTemplateSpec::json_schema(generator)
}

pub(crate) fn service(generator: &mut SchemaGenerator) -> Schema {
    Service::json_schema(generator)
}

pub(crate) fn resources(generator: &mut SchemaGenerator) -> Schema {
    ResourceRequirements::json_schema(generator)
}

pub(crate) fn security_context(generator: &mut SchemaGenerator) -> Schema {
    SecurityContext::json_schema(generator)
}

pub(crate) fn env_source(generator: &mut SchemaGenerator) -> Schema {
    EnvVarSource::json_schema(generator)
}

pub(crate) fn env(generator: &mut SchemaGenerator) -> Schema {
    <Vec<EnvVar>>::json_schema(generator)
}

pub(crate) fn env_from(generator: &mut SchemaGenerator) -> Schema {
    <Vec<EnvFromSource>>::json_schema(generator)
}

pub(crate) fn volume_mounts(generator: &mut SchemaGenerator) -> Schema {
    <Vec<VolumeMount>>::json_schema(generator)
}

pub(crate) fn cluster_status(generator: &mut SchemaGenerator) -> Schema {
    crate::types::RayClusterStatus::json_schema(generator)
}

pub(crate) fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true})
}

pub(crate) fn times(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"type": "string", "format": "date-time"}})
}

/// A part of the API that is stored but not looked into.
pub(crate) fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
