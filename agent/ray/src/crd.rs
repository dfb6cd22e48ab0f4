//! CRDs: the CustomResourceDefinitions of ray.io, generated from the types of this crate.

use serde_json::{Value, json};

/// All CustomResourceDefinitions, in the order in which they are applied.
pub fn all() -> Vec<Value> {
    vec![crd("RayCluster", "rayclusters"), crd("RayJob", "rayjobs")]
}

fn crd(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.ray.io")},
        "spec": {
            "group": "ray.io",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                      "singular": kind.to_lowercase(), "categories": ["all"]},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {"status": {}},
            }],
        },
    })
}
