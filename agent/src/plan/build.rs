//! Build: the RayJob of an attempt, from the manifest that a person submitted.
//!
//! Owns what is added and what is taken out. Invariant: the spec stays as submitted, but for environment variables in the
//! Ray containers and the submitter, for nodes that a job excludes because they can be taken away, and for the grace of
//! pods that must stop when a lease ends; server-side fields and references to other objects are dropped, so that a
//! manifest cannot tie itself to foreign owners.

use serde_json::{Map, Value, json};
use squadron_core::{id::ClusterId, job::marks, lease::Policy as OnLost};
use squadron_ray::bounds;

use super::DesiredAttempt;

/// Annotation: the cluster id under which the agent created the RayJob.
pub const CLUSTER_ANNOTATION: &str = "squadron.dev/cluster-id";
const LONGEST_LABEL: usize = 63;

/// Why a manifest gives no RayJob.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unbuildable {
    #[error("the manifest is no ray.io/v1 RayJob: {0}")]
    NoRayJob(String),
    #[error(
        "it asks for a watchdog, and {0}; correct that, or take its annotation squadron.dev/watchdog out"
    )]
    Unguarded(String),
}

/// The RayJob object of `attempt`, complete for a POST.
pub fn build(attempt: &DesiredAttempt, cluster: ClusterId) -> Result<Value, Unbuildable> {
    let manifest: Value =
        serde_json::from_str(&attempt.manifest).map_err(|error| Unbuildable::NoRayJob(error.to_string()))?;
    for (field, expected) in [("apiVersion", "ray.io/v1"), ("kind", "RayJob")] {
        if manifest[field] != expected {
            return Err(Unbuildable::NoRayJob(format!(
                "{field} is {} instead of {expected:?}",
                manifest[field]
            )));
        }
    }
    let Value::Object(mut spec) = manifest["spec"].clone() else {
        return Err(Unbuildable::NoRayJob("it has no spec".into()));
    };
    add_environment(&mut spec, &environment(&manifest, attempt));
    if attempt.on_lost() != OnLost::Wait {
        templates(&mut spec).into_iter().for_each(bounds::grace);
    }
    if bounds::excludes_spot(&manifest) {
        templates(&mut spec).into_iter().for_each(bounds::keep_off_spot);
    }
    Ok(json!({
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": attempt.name,
            "namespace": attempt.namespace,
            "labels": labels(&manifest, attempt),
            "annotations": annotations(&manifest, attempt, cluster),
        },
        "spec": spec,
    }))
}

fn labels(manifest: &Value, attempt: &DesiredAttempt) -> Map<String, Value> {
    let mut labels = manifest["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.insert(marks::JOB_ID.into(), attempt.id.job.to_string().into());
    labels.insert(marks::ATTEMPT.into(), attempt.id.number.to_string().into());
    labels.insert(marks::QUEUE.into(), queue_label(&attempt.queue).into());
    labels
}

fn annotations(manifest: &Value, attempt: &DesiredAttempt, cluster: ClusterId) -> Map<String, Value> {
    let mut annotations = manifest["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.insert(CLUSTER_ANNOTATION.into(), cluster.to_string().into());
    annotations.insert(marks::ON_LOST.into(), attempt.on_lost().word().into());
    // This attempt has saved nothing yet.
    annotations.remove(marks::CHECKPOINTED_AT);
    annotations
}

/// A queue path as a label value: `.` for `/`, at most 63 characters, a letter or digit at the end.
fn queue_label(queue: &str) -> String {
    let label: String = queue.replace('/', ".").chars().take(LONGEST_LABEL).collect();
    label.trim_end_matches(['.', '-', '_']).to_owned()
}

/// What a driver needs to know of its attempt: which it is and, from the second on, where to go on from and why.
fn environment(manifest: &Value, attempt: &DesiredAttempt) -> Vec<(&'static str, String)> {
    let mut ours = vec![
        (marks::ENV_JOB_ID, attempt.id.job.to_string()),
        (marks::ENV_ATTEMPT, attempt.id.number.to_string()),
    ];
    let checkpoint = manifest["metadata"]["annotations"][marks::CHECKPOINT].as_str().unwrap_or_default();
    if !checkpoint.is_empty() {
        ours.push((marks::ENV_CHECKPOINT, checkpoint.to_owned()));
    }
    if !attempt.before.is_empty() {
        ours.push((marks::ENV_BEFORE, attempt.before.clone()));
    }
    ours
}

/// The pod templates that the manifest has: of the head, of every worker group, of the submitter.
fn templates(spec: &mut Map<String, Value>) -> Vec<&mut Value> {
    let mut found = Vec::new();
    for (field, part) in spec.iter_mut() {
        match field.as_str() {
            // Where the manifest gives none, the reconciler makes one with the same bounds.
            "submitterPodTemplate" if part.is_object() => found.push(part),
            "rayClusterSpec" => found.extend(of_cluster(part)),
            _ => {}
        }
    }
    found
}

/// Those of the head and of every worker group.
pub(super) fn of_cluster(cluster: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    for (field, part) in cluster.as_object_mut().into_iter().flatten() {
        match field.as_str() {
            "headGroupSpec" => found.extend(part.get_mut("template")),
            "workerGroupSpecs" => {
                let groups = part.as_array_mut().into_iter().flatten();
                found.extend(groups.filter_map(|group| group.get_mut("template")));
            }
            _ => {}
        }
    }
    found
}

fn add_environment(spec: &mut Map<String, Value>, ours: &[(&'static str, String)]) {
    templates(spec).into_iter().for_each(|template| add_to_template(template, ours));
}

/// Adds to the first container, which is the Ray container or the submitter.
fn add_to_template(template: &mut Value, ours: &[(&'static str, String)]) {
    let container = template.pointer_mut("/spec/containers/0");
    let Some(container) = container.and_then(Value::as_object_mut) else { return };
    let mut env = container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
    env.retain(|entry| ours.iter().all(|(name, _)| entry["name"] != *name));
    env.extend(ours.iter().map(|(name, value)| json!({"name": name, "value": value})));
    container.insert("env".into(), env.into());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use squadron_core::id::AttemptId;

    fn attempt(manifest: &Value) -> DesiredAttempt {
        DesiredAttempt {
            queue: "acme/vision".into(),
            name: "train-00000001-1".into(),
            namespace: "ml".into(),
            manifest: manifest.to_string(),
            on_lost: "fence".into(),
            ..DesiredAttempt::bare(AttemptId {
                job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(),
                number: 1,
            })
        }
    }

    #[test]
    fn no_pod_of_a_leased_attempt_outlives_the_fence_whoever_deletes_it() {
        let pod = |grace: Value| json!({"spec": {"containers": [{"name": "ray"}], "terminationGracePeriodSeconds": grace}});
        let manifest = json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": {
            "rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray"}]}}},
                "workerGroupSpecs": [{"template": pod(json!(120))}, {"template": pod(json!(3))}]},
            "submitterPodTemplate": pod(json!(30))}});
        let graces = |on_lost: &str| {
            let object =
                build(&DesiredAttempt { on_lost: on_lost.into(), ..attempt(&manifest) }, cluster()).unwrap();
            let of =
                |path: &str| object.pointer(path).unwrap()["spec"]["terminationGracePeriodSeconds"].as_u64();
            let cluster = "/spec/rayClusterSpec";
            [
                of(&format!("{cluster}/headGroupSpec/template")),
                of(&format!("{cluster}/workerGroupSpecs/0/template")),
                of(&format!("{cluster}/workerGroupSpecs/1/template")),
                of("/spec/submitterPodTemplate"),
            ]
        };
        assert_eq!(graces("fence"), [Some(10), Some(10), Some(3), Some(10)]);
        assert_eq!(graces("rerun"), graces("fence"));
        assert_eq!(graces("wait"), [None, Some(120), Some(3), Some(30)], "nobody waits for it");
    }

    #[test]
    fn a_second_attempt_is_told_where_and_why_it_goes_on() {
        let ray = json!({"spec": {"containers": [{"name": "ray"}]}});
        let manifest = json!({"apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"annotations": {"squadron.dev/checkpoint": "s3://b/c", "squadron.dev/on-lost": "rerun",
                "squadron.dev/checkpointed-at": "2026-11-29T10:07:00Z"}},
            "spec": {"rayClusterSpec": {"headGroupSpec": {"template": ray}}}});
        let mut second = attempt(&manifest);
        (second.id.number, second.before) = (2, "east was silent".into());
        let object = build(&second, cluster()).unwrap();
        assert_eq!(
            object["metadata"]["annotations"][marks::ON_LOST],
            "fence",
            "what was decided, not what was wished"
        );
        assert!(object["metadata"]["annotations"].get(marks::CHECKPOINTED_AT).is_none(), "another attempt's");
        let env =
            &object.pointer("/spec/rayClusterSpec/headGroupSpec/template/spec/containers/0/env").unwrap();
        let told = |name: &str| {
            env.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()["value"].clone()
        };
        assert_eq!(told("SQUADRON_ATTEMPT"), "2");
        assert_eq!(
            (told("SQUADRON_CHECKPOINT"), told("SQUADRON_BEFORE")),
            (json!("s3://b/c"), json!("east was silent"))
        );
    }

    #[test]
    fn a_job_that_excludes_spot_requires_other_nodes_beside_what_it_requires_itself() {
        let pod = |spec: Value| json!({"spec": spec});
        let own = json!({"key": "gpu", "operator": "Exists"});
        let picky = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [own]},
                {"matchFields": [{"key": "metadata.name"}], "matchExpressions": null}]}}}});
        let manifest = |annotations: Value| {
            json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"annotations": annotations},
                "spec": {"rayClusterSpec": {"headGroupSpec": {"template": pod(json!({"containers": [{}]}))},
                    "workerGroupSpecs": [{"template": pod(picky.clone())}]}}})
        };
        let built = build(&attempt(&manifest(json!({"squadron.dev/spot": "never"}))), cluster()).unwrap();
        let terms = |path: &str| {
            let path = format!(
                "/spec/rayClusterSpec/{path}/template/spec/affinity/nodeAffinity\
                                /requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
            );
            built.pointer(&path).unwrap().as_array().unwrap().clone()
        };
        let spot = json!({"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": ["spot"]});
        let (head, worker) = (terms("headGroupSpec"), terms("workerGroupSpecs/0"));
        assert_eq!((head.len(), worker.len()), (1, 2));
        for term in head.iter().chain(&worker) {
            assert!(term["matchExpressions"].as_array().unwrap().contains(&spot), "{term}");
        }
        assert_eq!(worker[0]["matchExpressions"][0], own);
        assert_eq!(worker[1]["matchFields"][0]["key"], "metadata.name");
        let mut without = manifest(json!({"squadron.dev/spot": "never"}));
        without["spec"]["submitterPodTemplate"] = Value::Null;
        let built = build(&attempt(&without), cluster()).unwrap();
        assert!(built["spec"]["submitterPodTemplate"].is_null(), "the default has its own bounds");
        let free = manifest(json!({"squadron.dev/spot": "allow"}));
        assert!(
            build(&attempt(&free), cluster())
                .unwrap()
                .pointer("/spec/rayClusterSpec/headGroupSpec/template/spec/affinity")
                .is_none()
        );
    }

    fn cluster() -> ClusterId {
        "0196f0a0-0000-7000-8000-0000000000c1".parse().unwrap()
    }

    #[test]
    fn marks_and_environment_are_added_and_foreign_ties_dropped() {
        let ray = json!({"spec": {"containers": [
            {"name": "ray", "env": [{"name": "A", "value": "1"}, {"name": "SQUADRON_ATTEMPT", "value": "9"}]},
            {"name": "sidecar"}]}});
        let object = build(&attempt(&json!({
            "apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": "train", "namespace": "other", "labels": {"team": "v", "squadron.dev/attempt": "7"},
                "ownerReferences": [{"uid": "x"}], "finalizers": ["f"], "uid": "u"},
            "spec": {"entrypoint": "python x.py", "rayClusterSpec": {
                "headGroupSpec": {"template": ray}, "workerGroupSpecs": [{"groupName": "w", "template": ray}]}},
            "status": {"jobStatus": "SUCCEEDED"},
        })), cluster()).unwrap();
        let keys: Vec<&String> = object["metadata"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "namespace", "labels", "annotations"]);
        assert_eq!(object["metadata"]["namespace"], "ml");
        assert_eq!(
            object["metadata"]["labels"],
            json!({"team": "v", "squadron.dev/attempt": "1",
            "squadron.dev/job-id": "0196f0a0-0000-7000-8000-000000000001", "squadron.dev/queue": "acme.vision"})
        );
        for pointer in ["/spec/rayClusterSpec/headGroupSpec", "/spec/rayClusterSpec/workerGroupSpecs/0"] {
            let containers = &object.pointer(pointer).unwrap()["template"]["spec"]["containers"];
            assert_eq!(
                containers[0]["env"],
                json!([{"name": "A", "value": "1"},
                {"name": "SQUADRON_JOB_ID", "value": "0196f0a0-0000-7000-8000-000000000001"},
                {"name": "SQUADRON_ATTEMPT", "value": "1"}])
            );
            assert!(containers[1].get("env").is_none());
        }
        assert!(object.get("status").is_none());
    }

    #[test]
    fn other_kinds_are_refused_in_a_sentence() {
        let refused = build(&attempt(&json!({"apiVersion": "v1", "kind": "Pod", "spec": {}})), cluster());
        let sentence = refused.unwrap_err().to_string();
        assert_eq!(
            sentence,
            "the manifest is no ray.io/v1 RayJob: apiVersion is \"v1\" instead of \"ray.io/v1\""
        );
    }

    #[test]
    fn odd_shapes_pass_through_for_the_api_server_to_judge() {
        let spec = json!({"rayClusterSpec": {"headGroupSpec": 5, "workerGroupSpecs": "many"}});
        let manifest = json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec});
        assert!(build(&attempt(&manifest), cluster()).is_ok());
    }

    #[test]
    fn long_queue_paths_stay_legal_label_values() {
        let label = queue_label(&format!("{}/b", "a".repeat(62)));
        assert_eq!(label, "a".repeat(62));
    }
}
