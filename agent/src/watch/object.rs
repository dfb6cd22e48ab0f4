//! Object: the few common fields of a raw object, read without trust; absent reads as empty.

use serde_json::Value;
use squadron_core::{id::AttemptId, job::marks};

fn meta<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

pub fn name(object: &Value) -> &str {
    meta(object, "name")
}

pub fn namespace(object: &Value) -> &str {
    meta(object, "namespace")
}

pub fn uid(object: &Value) -> &str {
    meta(object, "uid")
}

pub fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["labels"][key].as_str().unwrap_or_default()
}

pub fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The attempt that the object's labels name, if both are well-formed.
pub fn attempt(object: &Value) -> Option<AttemptId> {
    let job = label(object, marks::JOB_ID).parse().ok()?;
    let number = label(object, marks::ATTEMPT).parse().ok()?;
    Some(AttemptId { job, number })
}

/// The resource version as a number; versions of one kind on one API server are ordered.
pub fn version(object: &Value) -> Option<u64> {
    meta(object, "resourceVersion").parse().ok()
}
