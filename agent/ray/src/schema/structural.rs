//! Structural: turns generated JSON schema into what an API server calls structural.
//!
//! Removes descriptions (a CRD must stay under 1.5 MiB), takes the null out of optional fields, gives embedded
//! metadata the five fields that CRDs allow, and adds the keys by which server-side apply tells list items apart.

use serde_json::{Map, Value, json};

/// Keys that identify the items of a list, by the list's name.
const LIST_KEYS: &[(&str, &[&str])] = &[
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("volumes", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("claims", &["name"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("ports", &["containerPort", "protocol"]),
    ("ports", &["port", "protocol"]),
];

/// Fields of ObjectMeta; a schema that has them all is embedded metadata.
const METADATA_MARKS: [&str; 3] = ["managedFields", "ownerReferences", "resourceVersion"];

pub(super) fn from(generated: Value) -> Value {
    let mut schema = generated;
    clean(&mut schema);
    schema
}

fn clean(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        // `true` admits everything.
        *schema = json!({"x-kubernetes-preserve-unknown-fields": true});
        return;
    };
    for noise in ["$schema", "title", "description", "default", "definitions", "components", "example"] {
        fields.remove(noise);
    }
    if let Some(default) = fields.remove("x-default") {
        fields.insert("default".to_owned(), default);
    }
    unwrap_optional(fields);
    drop_foreign_format(fields);
    if is_metadata(fields) {
        *schema = metadata();
        return;
    }
    clean_children(fields);
}

fn clean_children(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.retain(|name| name != "metadata");
        if required.is_empty() {
            fields.remove("required");
        }
    }
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties.iter_mut() {
            clean(property);
            key_list(name, property);
        }
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(inner).filter(|inner| inner.is_object()) {
            clean(inner);
        }
    }
}

/// `anyOf: [T, null]` and `type: [T, null]` both mean an optional T; CRDs say that by not requiring the field.
fn unwrap_optional(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get("type") {
        let kept = types.iter().find(|one| *one != "null").cloned();
        fields.extend(kept.map(|kept| ("type".to_owned(), kept)));
    }
    if let Some(Value::Array(words)) = fields.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let is_null = |variant: &Value| variant.get("type").is_some_and(|kind| kind == "null");
    let Some(Value::Array(variants)) = fields.get("anyOf") else { return };
    if variants.iter().any(is_null)
        && let Some(Value::Object(kept)) = variants.iter().find(|variant| !is_null(variant)).cloned()
    {
        fields.remove("anyOf");
        for (key, value) in kept {
            fields.entry(key).or_insert(value);
        }
        for noise in ["title", "description", "default"] {
            fields.remove(noise);
        }
    }
}

/// An API server warns about formats that it does not know.
fn drop_foreign_format(fields: &mut Map<String, Value>) {
    let known = ["int32", "int64", "float", "double", "byte", "date-time"];
    if fields.get("format").and_then(Value::as_str).is_some_and(|format| !known.contains(&format)) {
        fields.remove("format");
    }
}

fn is_metadata(fields: &Map<String, Value>) -> bool {
    let properties = fields.get("properties").and_then(Value::as_object);
    properties.is_some_and(|known| METADATA_MARKS.iter().all(|mark| known.contains_key(*mark)))
}

fn metadata() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "annotations": texts,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": texts,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    })
}

/// Makes a known list a map by its keys; a key must be required or have a default.
fn key_list(name: &str, list: &mut Value) {
    let has_all = |list: &Value, keys: &[&str]| {
        let properties = list.pointer("/items/properties").and_then(Value::as_object);
        properties.is_some_and(|known| keys.iter().all(|key| known.contains_key(*key)))
    };
    let found = LIST_KEYS.iter().find(|(list_name, keys)| *list_name == name && has_all(list, keys));
    let Some((_, keys)) = found else { return };
    list["x-kubernetes-list-type"] = json!("map");
    list["x-kubernetes-list-map-keys"] = json!(keys);
    for key in *keys {
        let required =
            list["items"]["required"].as_array().is_some_and(|names| names.iter().any(|name| name == key));
        if !required {
            let default = if *key == "protocol" { "TCP" } else { "" };
            list["items"]["properties"][*key]["default"] = json!(default);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_lose_their_null() {
        let generated = json!({"properties": {
            "a": {"type": ["integer", "null"], "format": "int32", "description": "x"},
            "b": {"anyOf": [{"type": "object", "properties": {"c": {"type": "string"}}}, {"type": "null"}]},
            "d": {"type": ["string", "null"], "enum": ["v1", null]},
        }});
        let expected = json!({"properties": {
            "a": {"type": "integer", "format": "int32"},
            "b": {"type": "object", "properties": {"c": {"type": "string"}}},
            "d": {"type": "string", "enum": ["v1"]},
        }});
        assert_eq!(from(generated), expected);
    }

    #[test]
    fn ports_are_told_apart_by_number_and_protocol() {
        let item = json!({"type": "object", "required": ["containerPort"],
                          "properties": {"containerPort": {"type": "integer"}, "protocol": {"type": "string"}}});
        let schema = from(json!({"properties": {"ports": {"type": "array", "items": item}}}));
        let ports = &schema["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
        assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
        assert!(ports["items"]["properties"]["containerPort"].get("default").is_none());
    }
}
