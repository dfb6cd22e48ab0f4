//! CRDs: the CustomResourceDefinitions of ray.io, generated from the types of this crate.
//!
//! Invariant: the files under `deploy/crds` are what this module prints; a test compares them.

use serde_json::{Value, json};

use crate::schema;

struct Kind {
    name: &'static str,
    plural: &'static str,
    schema: &'static Value,
    /// Name, type, path, and whether it is shown only in wide output.
    columns: &'static [(&'static str, &'static str, &'static str, bool)],
}

/// All CustomResourceDefinitions, in the order in which they are applied.
pub fn all() -> Vec<Value> {
    kinds().iter().map(definition).collect()
}

/// File name and YAML of each CustomResourceDefinition.
pub fn files() -> Vec<(String, String)> {
    let file = |crd: &Value| {
        let name = format!("ray.io_{}.yaml", crd["spec"]["names"]["plural"].as_str().unwrap_or_default());
        (name, yaml_of(crd))
    };
    all().iter().map(file).collect()
}

/// All CustomResourceDefinitions as one YAML stream.
pub fn yaml() -> String {
    all().iter().map(|crd| format!("---\n{}", yaml_of(crd))).collect()
}

fn yaml_of(crd: &Value) -> String {
    serde_yaml_ng::to_string(crd).unwrap_or_else(|error| unreachable!("JSON is always YAML: {error}"))
}

fn kinds() -> [Kind; 2] {
    [
        Kind {
            name: "RayCluster",
            plural: "rayclusters",
            schema: schema::ray_cluster(),
            columns: CLUSTER_COLUMNS,
        },
        Kind { name: "RayJob", plural: "rayjobs", schema: schema::ray_job(), columns: JOB_COLUMNS },
    ]
}

const CLUSTER_COLUMNS: &[(&str, &str, &str, bool)] = &[
    ("desired workers", "integer", ".status.desiredWorkerReplicas", false),
    ("available workers", "integer", ".status.availableWorkerReplicas", false),
    ("cpus", "string", ".status.desiredCPU", false),
    ("memory", "string", ".status.desiredMemory", false),
    ("gpus", "string", ".status.desiredGPU", false),
    ("tpus", "string", ".status.desiredTPU", true),
    ("status", "string", ".status.state", false),
    ("age", "date", ".metadata.creationTimestamp", false),
    ("head pod IP", "string", ".status.head.podIP", true),
    ("head service IP", "string", ".status.head.serviceIP", true),
];

const JOB_COLUMNS: &[(&str, &str, &str, bool)] = &[
    ("job status", "string", ".status.jobStatus", false),
    ("deployment status", "string", ".status.jobDeploymentStatus", false),
    ("ray cluster name", "string", ".status.rayClusterName", false),
    ("start time", "string", ".status.startTime", false),
    ("end time", "string", ".status.endTime", false),
    ("age", "date", ".metadata.creationTimestamp", false),
];

fn definition(kind: &Kind) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.ray.io", kind.plural)},
        "spec": {
            "group": "ray.io",
            "names": {
                "categories": ["all"],
                "kind": kind.name,
                "listKind": format!("{}List", kind.name),
                "plural": kind.plural,
                "singular": kind.name.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "additionalPrinterColumns": kind.columns.iter().map(column).collect::<Vec<_>>(),
                "schema": {"openAPIV3Schema": kind.schema},
                "subresources": {"status": {}},
            }],
        },
    })
}

fn column((name, kind, path, wide): &(&str, &str, &str, bool)) -> Value {
    let mut column = json!({"name": name, "type": kind, "jsonPath": path});
    if *wide {
        column["priority"] = json!(1);
    }
    column
}
