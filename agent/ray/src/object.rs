//! Object: reading and writing the few common fields of a raw Kubernetes object.
//!
//! Invariant: a missing or mistyped field reads as empty, never as a panic; the schema on the API server is what
//! keeps types right.

use serde_json::{Map, Value, json};
use squadron_core::time::Timestamp;

use crate::plan::ObjectRef;

/// The value at `path`, or null.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(object, |value, key| value.get(key)).unwrap_or(&Value::Null)
}

pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

pub(crate) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    text(object, &["metadata", "labels", key])
}

pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    text(object, &["metadata", "annotations", key])
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !at(object, &["metadata", "deletionTimestamp"]).is_null()
}

pub(crate) fn time(object: &Value, path: &[&str]) -> Option<Timestamp> {
    text(object, path).parse().ok()
}

/// RFC 3339 in whole seconds, as Kubernetes writes times.
pub(crate) fn stamp(now: Timestamp) -> String {
    Timestamp::from_millis(now.millis().div_euclid(1_000) * 1_000).to_string()
}

pub(crate) fn reference(object: &Value) -> ObjectRef {
    ObjectRef {
        api_version: text(object, &["apiVersion"]).to_owned(),
        kind: text(object, &["kind"]).to_owned(),
        namespace: namespace(object).to_owned(),
        name: name(object).to_owned(),
        uid: uid(object).to_owned(),
    }
}

/// A controlling owner reference to `owner`.
pub(crate) fn owned_by(owner: &Value, kind: &str) -> Value {
    json!([{
        "apiVersion": crate::names::API_VERSION,
        "kind": kind,
        "name": name(owner),
        "uid": uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}

/// The object at `value[key]`, made if absent; a value of another type is replaced.
pub(crate) fn entry<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    let slot = &mut value[key];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().unwrap_or_else(|| unreachable!("just made an object"))
}

/// The list at `value[key]`, made if absent; a value of another type is replaced.
pub(crate) fn items<'a>(value: &'a mut Value, key: &str) -> &'a mut Vec<Value> {
    if !value.is_object() {
        *value = json!({});
    }
    let slot = &mut value[key];
    if !slot.is_array() {
        *slot = json!([]);
    }
    slot.as_array_mut().unwrap_or_else(|| unreachable!("just made a list"))
}
