//! Ray: status of RayClusters and RayJobs, read loosely from their JSON.
//!
//! Owns the reading of `ray.io/v1` status for facts. It takes the object as JSON, so that one whose spec our types refuse still
//! tells what its status says.

use serde_json::Value;
use squadron_core::{
    fact::{RayClusterFact, RayJobFact},
    id::AttemptId,
    job::marks,
    time::Timestamp,
};

use super::{TEXT_LIMIT, bounded};
use crate::watch::object;

/// Bytes of a time in RFC 3339, at most.
const LONGEST_TIME: usize = 64;
/// In microseconds.
const MINUTE: i64 = 60_000_000;

/// The fact of a RayCluster as the API server has it.
pub fn ray_cluster_fact(cluster: &Value, attempt: Option<AttemptId>) -> RayClusterFact {
    let status = &cluster["status"];
    RayClusterFact {
        namespace: object::namespace(cluster).to_owned(),
        name: object::name(cluster).to_owned(),
        uid: object::uid(cluster).to_owned(),
        state: text(&status["state"]),
        reason: text(&status["reason"]),
        desired_workers: count(&status["desiredWorkerReplicas"]),
        ready_workers: count(&status["readyWorkerReplicas"]),
        head_pod: text(&status["head"]["podName"]),
        attempt,
        gone: false,
        gone_why: String::new(),
    }
}

/// The fact of a RayJob as the API server has it.
pub fn ray_job_fact(job: &Value, attempt: Option<AttemptId>) -> RayJobFact {
    let status = &job["status"];
    RayJobFact {
        namespace: object::namespace(job).to_owned(),
        name: object::name(job).to_owned(),
        uid: object::uid(job).to_owned(),
        attempt,
        deployment_status: text(&status["jobDeploymentStatus"]),
        job_status: text(&status["jobStatus"]),
        reason: text(&status["reason"]),
        message: status["message"].as_str().map(both_ends).unwrap_or_default(),
        ray_cluster: text(&status["rayClusterName"]),
        submission_id: text(&status["jobId"]),
        started_at: time(&status["startTime"]),
        ended_at: time(&status["endTime"]),
        checkpointed_at: checkpointed_at(job),
        gone: false,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map(bounded).unwrap_or_default()
}

/// A message whose last lines matter most, such as a driver's traceback: its beginning and its end.
fn both_ends(text: &str) -> String {
    if text.len() <= TEXT_LIMIT {
        return bounded(text);
    }
    let head = &text[..text.floor_char_boundary(TEXT_LIMIT / 4)];
    let tail = &text[text.ceil_char_boundary(text.len() - TEXT_LIMIT / 2)..];
    bounded(&format!("{head}\n…\n{tail}"))
}

fn count(value: &Value) -> i32 {
    value.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
}

/// What the job says of its last checkpoint, to the minute before, so that one that saves all the time is no flood.
fn checkpointed_at(job: &Value) -> Option<Timestamp> {
    let said = object::annotation(job, marks::CHECKPOINTED_AT);
    let at: Timestamp = Some(said).filter(|said| said.len() <= LONGEST_TIME)?.parse().ok()?;
    Some(Timestamp(at.0.checked_sub(at.0.rem_euclid(MINUTE))?))
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn ray_job_status_comes_through_and_nonsense_reads_as_absent() {
        let object = json!({
            "apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": "train", "namespace": "ns", "uid": "u"},
            "spec": {"entrypoint": 7},
            "status": {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "jobId": "train-abc",
                "startTime": "2026-11-29T10:00:00Z", "endTime": "yesterday", "message": 5},
        });
        let fact = ray_job_fact(&object, None);
        assert_eq!((fact.deployment_status.as_str(), fact.job_status.as_str()), ("Running", "RUNNING"));
        assert_eq!(fact.started_at, Some("2026-11-29T10:00:00Z".parse().unwrap()));
        assert_eq!((fact.ended_at, fact.message.as_str(), fact.attempt), (None, "", None));
    }

    fn said(annotation: &str) -> Option<Timestamp> {
        let object = json!({"metadata": {"name": "train", "namespace": "ns", "uid": "u",
            "annotations": {"squadron.dev/checkpointed-at": annotation}}, "spec": {}});
        ray_job_fact(&object, None).checkpointed_at
    }

    #[test]
    fn the_job_says_when_it_saved_and_what_cannot_be_read_says_nothing() {
        let minute = Some("2026-11-29T10:07:00Z".parse().unwrap());
        assert_eq!(said("2026-11-29T10:07:00Z"), minute);
        assert_eq!(said("2026-11-29T12:07:59.999+02:00"), minute);
        for nonsense in ["", "just now", "2026-11-29", "1764410820", "-9999-99-99T00:00:00Z"] {
            assert_eq!(said(nonsense), None, "{nonsense}");
        }
        assert_eq!(said(&format!("2026-11-29T10:07:00.{}Z", "0".repeat(1_000))), None);
    }

    #[test]
    fn ray_cluster_without_status_is_empty() {
        let object = json!({
            "metadata": {"name": "c", "namespace": "ns", "uid": "u"}, "spec": {},
        });
        let fact = ray_cluster_fact(&object, None);
        assert_eq!((fact.state.as_str(), fact.desired_workers), ("", 0));
    }

    #[test]
    fn a_long_message_keeps_its_first_and_its_last_line() {
        let message = format!("failed, last logs:\n{}\nZeroDivisionError: ü", "é".repeat(20_000));
        let kept = both_ends(&message);
        assert!(kept.len() <= TEXT_LIMIT, "{}", kept.len());
        assert!(
            kept.starts_with("failed, last logs:\n") && kept.ends_with("\nZeroDivisionError: ü"),
            "{kept}"
        );
        assert_eq!(both_ends("short"), "short");
    }
}
