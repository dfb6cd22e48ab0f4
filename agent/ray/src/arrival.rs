//! Arrival: reads from a RayJob whether it waits for Squadron.
//!
//! Owns the contract with the people who write RayJobs: the label `squadron.dev/queue` and `spec.suspend: true`. Such an
//! object is only a wish and a mirror: what runs is another RayJob. Invariant: an object that this module calls a source
//! is never run by our reconcilers, whatever its status says, so flipping `suspend` cannot start a second copy beside the
//! job; our own attempts and Kueue's workloads are never sources. Fails safe: what is not clear is left alone and told.

use serde_json::{Map, Value};
use squadron_core::{
    fact::ArrivalFact, id::JobId, job::marks, name::QueueName, named::PRIORITY_LABEL, preference::Field,
};

use crate::{names, object, submission::EXTRAS_ANNOTATION};

/// Longest manifest that is imported, in bytes of JSON: with what stands around it, it must fit into one record.
pub const LONGEST: usize = 160 * 1024;

const KUEUE_QUEUE: &str = "kueue.x-k8s.io/queue-name";

/// Labels and annotations by which tools know their own objects, by key or prefix. A copy that carried them would be
/// taken for an object that is not in Git, and removed.
const OF_TOOLS: [&str; 9] = [
    "argocd.argoproj.io/",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "meta.helm.sh/",
    "kubectl.kubernetes.io/",
    "applyset.kubernetes.io/",
    "squadron.dev/",
];

/// Annotations of ours that people write for the job itself: another cluster reads them as this one would.
fn is_of_the_job(key: &str) -> bool {
    [marks::ON_LOST, marks::RESUMES, marks::CHECKPOINT, marks::WATCHDOG, EXTRAS_ANNOTATION].contains(&key)
        || Field::ALL.iter().any(|field| field.annotation() == key)
}

/// What a RayJob is to Squadron.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Nothing: it carries no label of ours, it is an attempt of ours, it is on its way out, or it ended by itself.
    Stranger,
    /// Somebody meant it for Squadron, and it cannot be taken.
    Faulty(Fault),
    Offer(Box<ArrivalFact>),
}

/// Why it cannot be taken, as an Event on it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub reason: &'static str,
    pub message: String,
}

/// Reads a RayJob as the API server has it.
pub fn read(job: &Value) -> Reading {
    let label = object::label(job, marks::QUEUE);
    if label.is_empty() || is_attempt(job) || object::is_deleting(job) {
        return Reading::Stranger;
    }
    let mark = mark(job);
    if mark.is_none() && has_ended(job) {
        return Reading::Stranger;
    }
    match fault(job, label) {
        Some(fault) => Reading::Faulty(fault),
        None if mark.is_none() && !is_idle(job) => Reading::Stranger,
        None => offer(job, label, mark),
    }
}

/// Whether our reconciler must leave this RayJob alone: it waits for Squadron, or is only the picture of a job.
pub fn is_source(job: &Value) -> bool {
    if is_attempt(job) {
        return false;
    }
    mark(job).is_some() || (matches!(read(job), Reading::Offer(_)))
}

/// The job that the object's mark names; the mark of another object, which a copy still carries, is none.
pub fn mark(job: &Value) -> Option<JobId> {
    let (id, uid) = object::annotation(job, marks::IMPORTED_AS).split_once('.')?;
    (uid == object::uid(job)).then(|| id.parse().ok()).flatten()
}

/// The value of the mark.
pub fn mark_of(job: JobId, uid: &str) -> String {
    format!("{job}.{uid}")
}

/// Whether it says that it is an attempt of a job.
pub fn is_attempt(job: &Value) -> bool {
    !object::label(job, marks::JOB_ID).is_empty()
}

fn deployment(job: &Value) -> &str {
    object::text(job, &["status", "jobDeploymentStatus"])
}

fn has_ended(job: &Value) -> bool {
    matches!(deployment(job), "Complete" | "Failed")
}

/// Nothing of it runs or is being taken down here.
fn is_idle(job: &Value) -> bool {
    matches!(deployment(job), "" | "Suspended" | "ValidationFailed")
}

fn fault(job: &Value, label: &str) -> Option<Fault> {
    let found = |reason, message: String| Some(Fault { reason, message });
    let manager = object::text(job, &["spec", "managedBy"]);
    if !object::label(job, KUEUE_QUEUE).is_empty() || !matches!(manager, "" | names::MANAGED_BY_US) {
        return found(
            "QueuedElsewhere",
            format!(
                "it is Kueue's by its label {KUEUE_QUEUE} or spec.managedBy, so Squadron leaves it alone; remove that, or the \
                 label {}",
                marks::QUEUE
            ),
        );
    }
    if object::at(job, &["spec", "suspend"]) != &Value::Bool(true) {
        return found(
            "NotSuspended",
            format!(
                "it has the label {} but not spec.suspend: true, so it is not Squadron's to run; delete it, add \
                 suspend: true and apply it again, or remove the label",
                marks::QUEUE
            ),
        );
    }
    let shuts_down = object::at(job, &["spec", "shutdownAfterJobFinishes"]) == &Value::Bool(true);
    if !shuts_down || !object::at(job, &["spec", "clusterSelector"]).is_null() {
        return found(
            "InvalidSpec",
            "a suspended RayJob needs spec.shutdownAfterJobFinishes: true and no spec.clusterSelector; correct it and apply it again"
                .to_owned(),
        );
    }
    if QueueName::new(queue(label)).is_err() {
        return found(
            "InvalidQueue",
            format!(
                "its label {} is no name of a queue; write the queue's path with '.' for '/'",
                marks::QUEUE
            ),
        );
    }
    None
}

/// A label cannot hold the `/` of a queue's path.
fn queue(label: &str) -> String {
    label.replace('.', "/")
}

fn offer(job: &Value, label: &str, mark: Option<JobId>) -> Reading {
    let manifest = if mark.is_some() { String::new() } else { manifest(job).to_string() };
    if manifest.len() > LONGEST {
        let kib = manifest.len().div_ceil(1024);
        let message = format!(
            "it is {kib} KiB long as JSON, and {} KiB at most can be imported; move large files into a working_dir or an image",
            LONGEST / 1024
        );
        return Reading::Faulty(Fault { reason: "TooLong", message });
    }
    Reading::Offer(Box::new(ArrivalFact {
        namespace: object::namespace(job).to_owned(),
        name: object::name(job).to_owned(),
        uid: object::uid(job).to_owned(),
        queue: queue(label),
        cluster: object::annotation(job, marks::CLUSTER).chars().take(100).collect(),
        priority_class: object::label(job, PRIORITY_LABEL).to_owned(),
        created_at: object::time(job, &["metadata", "creationTimestamp"]),
        generation: object::at(job, &["metadata", "generation"]).as_i64().unwrap_or(0),
        manifest,
        imported_as: mark,
        settled: mark.is_some() && has_ended(job),
        gone: false,
        gone_why: String::new(),
    }))
}

/// What another cluster can run: name, namespace, labels, annotations and the spec, which no longer waits.
fn manifest(job: &Value) -> Value {
    let mut spec = object::at(job, &["spec"]).clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("suspend");
    }
    serde_json::json!({
        "apiVersion": names::API_VERSION,
        "kind": "RayJob",
        "metadata": {
            "name": object::name(job),
            "namespace": object::namespace(job),
            "labels": without_tools(object::at(job, &["metadata", "labels"])),
            "annotations": without_tools(object::at(job, &["metadata", "annotations"])),
        },
        "spec": spec,
    })
}

/// The annotation of Ray's client stays: the control plane refuses it with its reason.
fn without_tools(texts: &Value) -> Map<String, Value> {
    let mut kept = texts.as_object().cloned().unwrap_or_default();
    kept.retain(|key, _| is_of_the_job(key) || !OF_TOOLS.iter().any(|tool| key.starts_with(tool)));
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    const JOB: &str = "01938f2e-7a3c-7d31-9d4e-00c0ffee1234";

    fn source() -> Value {
        json!({
            "apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": "train", "namespace": "ml", "uid": "u1", "generation": 2,
                "creationTimestamp": "2026-11-30T01:00:00Z", "resourceVersion": "7", "finalizers": ["x"],
                "ownerReferences": [{"uid": "o"}],
                "labels": {"squadron.dev/queue": "acme.vision", "team": "v", "app.kubernetes.io/instance": "app"},
                "annotations": {"argocd.argoproj.io/tracking-id": "app:ray.io/RayJob:ml/train", "note": "kept",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"entrypoint": "python x.py", "suspend": true, "shutdownAfterJobFinishes": true},
            "status": {"jobDeploymentStatus": "Suspended"},
        })
    }

    fn with(path: &str, value: Value) -> Value {
        let mut job = source();
        let (parent, key) = path.rsplit_once('/').unwrap();
        job.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
        job
    }

    fn word(job: &Value) -> String {
        match read(job) {
            Reading::Stranger => "stranger".into(),
            Reading::Faulty(fault) => fault.reason.into(),
            Reading::Offer(_) => "offer".into(),
        }
    }

    #[test]
    fn what_a_person_says_of_the_job_goes_with_it() {
        let said = json!({"squadron.dev/on-lost": "fence", "squadron.dev/resumes": "true",
            "squadron.dev/checkpoint": "s3://b/c", "squadron.dev/prefer": "west", "squadron.dev/max-price": "3 EUR"});
        let mut all = said.clone();
        all["squadron.dev/cluster"] = json!("east");
        all["argocd.argoproj.io/tracking-id"] = json!("x");
        let Reading::Offer(fact) = read(&with("/metadata/annotations", all)) else { panic!("no offer") };
        let manifest: Value = serde_json::from_str(&fact.manifest).unwrap();
        assert_eq!(manifest["metadata"]["annotations"], said);
    }

    #[test]
    fn only_a_suspended_labelled_rayjob_at_rest_is_an_offer() {
        let mark = format!("{JOB}.u1");
        let marked = |status: &str| {
            let mut job = with("/metadata/annotations/squadron.dev~1imported-as", json!(mark));
            job["status"]["jobDeploymentStatus"] = json!(status);
            job
        };
        let mut flipped = marked("Suspended");
        flipped["spec"]["suspend"] = json!(false);
        let table = [
            (source(), "offer", true),
            (with("/status/jobDeploymentStatus", json!("")), "offer", true),
            (with("/status/jobDeploymentStatus", json!("Suspending")), "stranger", false),
            (with("/status/jobDeploymentStatus", json!("Running")), "stranger", false),
            (with("/status/jobDeploymentStatus", json!("Complete")), "stranger", false),
            (with("/metadata/labels", json!({})), "stranger", false),
            (with("/metadata/labels/squadron.dev~1job-id", json!(JOB)), "stranger", false),
            (with("/metadata/labels/squadron.dev~1queue", json!("A_b")), "InvalidQueue", false),
            (with("/metadata/labels/kueue.x-k8s.io~1queue-name", json!("q")), "QueuedElsewhere", false),
            (with("/spec/managedBy", json!("kueue.x-k8s.io/multikueue")), "QueuedElsewhere", false),
            (with("/spec/managedBy", json!("ray.io/kuberay-operator")), "offer", true),
            (with("/spec/suspend", json!(false)), "NotSuspended", false),
            (with("/spec", json!({"entrypoint": "x"})), "NotSuspended", false),
            (with("/metadata/deletionTimestamp", json!("2026-11-30T01:00:00Z")), "stranger", false),
            (with("/spec/entrypoint", json!("x".repeat(LONGEST))), "TooLong", false),
            (with("/spec/shutdownAfterJobFinishes", json!(false)), "InvalidSpec", false),
            (with("/spec/clusterSelector", json!({"ray.io/cluster": "c"})), "InvalidSpec", false),
            (marked("Suspended"), "offer", true),
            (marked("Complete"), "offer", true),
            (flipped, "NotSuspended", true),
        ];
        for (job, expected, is_ours) in table {
            assert_eq!((word(&job).as_str(), is_source(&job)), (expected, is_ours), "{job}");
        }
    }

    #[test]
    fn the_offer_holds_what_another_cluster_can_run() {
        let Reading::Offer(fact) = read(&source()) else { panic!("no offer") };
        assert_eq!((fact.queue.as_str(), fact.generation, fact.settled), ("acme/vision", 2, false));
        let manifest: Value = serde_json::from_str(&fact.manifest).unwrap();
        assert_eq!(
            manifest,
            json!({"apiVersion": "ray.io/v1", "kind": "RayJob",
                "metadata": {"name": "train", "namespace": "ml", "labels": {"team": "v"}, "annotations": {"note": "kept"}},
                "spec": {"entrypoint": "python x.py", "shutdownAfterJobFinishes": true}})
        );
    }

    #[test]
    fn a_mark_counts_on_its_own_object_only_and_spares_the_manifest() {
        let id: JobId = JOB.parse().unwrap();
        let marked = with("/metadata/annotations/squadron.dev~1imported-as", json!(mark_of(id, "u1")));
        let Reading::Offer(fact) = read(&marked) else { panic!("no offer") };
        assert_eq!((fact.imported_as, fact.manifest.as_str()), (Some(id), ""));
        let copied = with("/metadata/annotations/squadron.dev~1imported-as", json!(mark_of(id, "u0")));
        let Reading::Offer(fact) = read(&copied) else { panic!("no offer") };
        assert_eq!((fact.imported_as, fact.manifest.is_empty()), (None, false));
    }

    #[test]
    fn a_foreign_object_of_any_shape_is_read_without_harm() {
        for odd in [json!(null), json!([]), json!({"metadata": 7}), json!({"metadata": {"labels": "x"}})] {
            assert_eq!(read(&odd), Reading::Stranger);
        }
    }
}
