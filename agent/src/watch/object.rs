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

/// Whether a RayJob is over for good.
pub fn has_ended(job: &Value) -> bool {
    let state = job["status"]["jobDeploymentStatus"].as_str().unwrap_or_default();
    matches!(state, "Complete" | "Failed" | "ValidationFailed")
}

pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether its deletion was asked for with at most `grace` milliseconds for its containers.
pub fn is_deleted_within(object: &Value, grace: u64) -> bool {
    let given = object["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or(0);
    is_deleting(object) && given <= grace.div_ceil(1_000)
}

/// The attempt that the object's labels name, if both are well-formed. Anybody can write labels: whose the object really
/// is, [`super::Cache::attempt`] knows.
pub fn attempt(object: &Value) -> Option<AttemptId> {
    let job = label(object, marks::JOB_ID).parse().ok()?;
    let number = label(object, marks::ATTEMPT).parse().ok()?;
    Some(AttemptId { job, number })
}

/// Uid of the owner that controls the object; empty reads as none.
pub fn controller(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    controller["uid"].as_str().filter(|uid| !uid.is_empty())
}

/// The resource version as a number; versions of one kind on one API server are ordered.
pub fn version(object: &Value) -> Option<u64> {
    meta(object, "resourceVersion").parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn only_two_good_labels_name_an_attempt() {
        let job = "0196f0a0-0000-7000-8000-000000000001";
        let labelled = |job: &str, number: &str| {
            attempt(&json!({"metadata": {"labels": {marks::JOB_ID: job, marks::ATTEMPT: number}}}))
        };
        assert_eq!(labelled(job, "2").unwrap().to_string(), format!("{job}/2"));
        for (job, number) in [("train", "2"), (job, "two"), (job, "-1"), (job, "")] {
            assert_eq!(labelled(job, number), None, "{job} {number}");
        }
        assert_eq!(attempt(&json!({})), None);
    }

    #[test]
    fn only_the_controlling_owner_counts() {
        let owners = json!([{"uid": "a"}, {"uid": "b", "controller": true}]);
        assert_eq!(controller(&json!({"metadata": {"ownerReferences": owners}})), Some("b"));
        assert_eq!(controller(&json!({"metadata": {"ownerReferences": [{"uid": "a"}]}})), None);
        assert_eq!(controller(&json!({})), None);
    }
}
