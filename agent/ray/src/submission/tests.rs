//! Submissions as Ray's client sends them, and the RayJobs that they become.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use squadron_core::{job::JobState, preference::Field, time::Timestamp};

use super::*;
use crate::manifest;

fn submission(change: &Value) -> Submission {
    let mut body = json!({"entrypoint": "python train.py"});
    for (key, value) in change.as_object().unwrap() {
        body[key] = value.clone();
    }
    read(&body).unwrap()
}

fn with_metadata(metadata: &Value) -> Submission {
    submission(&json!({ "metadata": metadata }))
}

fn errors(metadata: &Value, template: Option<&Value>) -> Vec<String> {
    let refused = rayjob(&with_metadata(metadata), "id", template).unwrap_err();
    refused.iter().map(ToString::to_string).collect()
}

#[test]
fn a_bare_entrypoint_is_a_job_on_the_default_template() {
    let job = rayjob(&submission(&json!({})), "raysubmit_4LamXRuQpYdSMg7J", None).unwrap();
    let parsed = manifest::parse(&job.to_string()).unwrap();
    assert_eq!(parsed.name, "raysubmit-4lamxruqpydsmg7j");
    let gang: Vec<_> = parsed.gang.iter().map(|member| (member.role.as_str(), member.count)).collect();
    assert_eq!(gang, [("head", 1)]);
    assert_eq!(parsed.gang[0].requests.cpu_milli, 1_000);
    let spec = &job["spec"];
    assert_eq!(
        (&spec["jobId"], &spec["submissionMode"]),
        (&json!("raysubmit_4LamXRuQpYdSMg7J"), &json!("HTTPMode"))
    );
    assert_eq!(
        (&spec["shutdownAfterJobFinishes"], &spec["ttlSecondsAfterFinished"]),
        (&json!(true), &json!(10))
    );
    assert!(job["metadata"].get("annotations").is_none());
}

#[test]
fn metadata_chooses_place_image_and_size() {
    let asked = with_metadata(&json!({
        "queue": "research", "team": "vision", "squadron.dev/cluster": "east", "squadron.dev/namespace": "ml",
        "squadron.dev/image": "registry/ray:x", "squadron.dev/workers": "3", "squadron.dev/worker-cpus": "4",
        "squadron.dev/worker-memory": "8Gi", "squadron.dev/worker-gpus": "2", "squadron.dev/head-cpus": "500m",
        "job_name": "My Job!",
    }));
    let chosen = choices(&asked).unwrap();
    assert_eq!((chosen.queue.as_deref(), chosen.cluster.as_deref()), (Some("research"), Some("east")));
    let job = rayjob(&asked, "id", None).unwrap();
    let parsed = manifest::parse(&job.to_string()).unwrap();
    assert_eq!((parsed.name.as_str(), parsed.namespace.as_deref()), ("my-job", Some("ml")));
    let sizes: Vec<_> = parsed
        .gang
        .iter()
        .map(|member| {
            (
                member.count,
                member.requests.cpu_milli,
                member.requests.memory_bytes >> 30,
                member.requests.gpus,
            )
        })
        .collect();
    assert_eq!(sizes, [(1, 500, 2, 0), (3, 4_000, 8, 2)]);
    assert_eq!(job["spec"]["metadata"]["team"], "vision", "what is not ours stays the user's");
    let worker = &job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0];
    assert_eq!((&worker["image"], &worker["name"]), (&json!("registry/ray:x"), &json!("ray-worker")));
}

#[test]
fn metadata_states_preferences_as_annotations_do() {
    let mut metadata = serde_json::Map::new();
    for (field, text) in [
        (Field::Prefer, "west"),
        (Field::Avoid, "region=eu-west-1"),
        (Field::Data, "imagenet"),
        (Field::Spread, "sweep-7"),
        (Field::Residency, "eu-west-1"),
        (Field::MaxPrice, "12.50 EUR"),
        (Field::Spot, "never"),
    ] {
        metadata.insert(field.annotation(), text.into());
    }
    let chosen = choices(&with_metadata(&Value::Object(metadata.clone()))).unwrap();
    for field in Field::ALL {
        assert_eq!(metadata[&field.annotation()], chosen.preferences.get(field), "{}", field.word());
    }
}

#[test]
fn the_driver_gets_what_it_asked_for() {
    let asked = submission(&json!({
        "runtime_env": {"working_dir": "gcs://_ray_pkg_1.zip", "py_modules": ["gcs://m.whl", "https://x/y.zip", "gcs://m.whl"]},
        "entrypoint_num_cpus": 1, "entrypoint_num_gpus": 0.5, "entrypoint_memory": 1024,
        "entrypoint_resources": {"R1": 2}, "entrypoint_label_selector": {"zone": "!in(a,b)"},
    }));
    let job = rayjob(&asked, "id", None).unwrap();
    manifest::parse(&job.to_string()).unwrap();
    assert_eq!(
        (&job["spec"]["entrypointNumCpus"], &job["spec"]["entrypointNumGpus"]),
        (&json!(1.0), &json!(0.5))
    );
    assert_eq!(job["spec"]["entrypointResources"], r#"{"R1":2}"#);
    let extras = Extras::read(&job);
    assert_eq!(extras.packages, ["_ray_pkg_1.zip", "m.whl"]);
    assert_eq!(extras.entrypoint_memory, Some(1024));
    assert!(extras.entrypoint_label_selector.is_some());
}

#[test]
fn wrong_keys_and_values_are_named() {
    for (metadata, words) in [
        (
            json!({"squadron.dev/wrokers": "1"}),
            "metadata[\"squadron.dev/wrokers\"]: is no key that Squadron knows; did you mean squadron.dev/workers?",
        ),
        (json!({"squadron.dev/colour": "red"}), "known keys: squadron.dev/{queue, cluster"),
        (json!({"squadron.dev/workers": "-1"}), "must be a whole number from 0 to 4999"),
        (json!({"squadron.dev/head-memory": "much"}), "must be a positive amount of memory"),
        (json!({"squadron.dev/head-cpus": "0"}), "must be a positive amount of cores"),
        (json!({"squadron.dev/worker-cpus": "1"}), "add squadron.dev/workers"),
        (json!({"squadron.dev/image": "a b"}), "must be the address of an image"),
        (json!({"squadron.dev/cluster": ""}), "is empty"),
        (json!({"squadron.dev/residency": " "}), "metadata[\"squadron.dev/residency\"]: is empty"),
        (
            json!({"squadron.dev/spot": "no"}),
            "metadata[\"squadron.dev/spot\"]: \"no\" is not known; write never or allow",
        ),
        (json!({"squadron.dev/max_price": "3 EUR"}), "did you mean squadron.dev/max-price?"),
    ] {
        let found = errors(&metadata, None);
        assert!(found.len() == 1 && found[0].contains(words), "{metadata}: {found:?}");
    }
    let asked = submission(
        &json!({"submission_id": "a/b", "entrypoint_num_cpus": -1, "entrypoint_label_selector": {"a": "b c"}}),
    );
    let found = rayjob(&asked, "a/b", None).unwrap_err();
    let paths: Vec<&str> = found.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["entrypoint_num_cpus", "submission_id", "entrypoint_label_selector"]);
}

#[test]
fn types_are_refused_in_ray_s_words() {
    for (body, words) in [
        (json!({}), "JobSubmitRequest.__init__() missing 1 required positional argument: 'entrypoint'"),
        (json!({"entrypoint": 1}), "entrypoint must be a string, got <class 'int'>"),
        (
            json!({"entrypoint": "x", "colour": 1}),
            "JobSubmitRequest.__init__() got an unexpected keyword argument 'colour'",
        ),
        (json!({"entrypoint": "x", "runtime_env": []}), "runtime_env must be a dict, got <class 'list'>"),
        (
            json!({"entrypoint": "x", "metadata": {"a": 1}}),
            "metadata values must be strings, got <class 'int'>",
        ),
        (
            json!({"entrypoint": "x", "submission_id": 1.5}),
            "submission_id must be a string if provided, got <class 'float'>",
        ),
        (
            json!({"entrypoint": "x", "entrypoint_num_cpus": "1"}),
            "entrypoint_num_cpus must be a number, got <class 'str'>",
        ),
        (
            json!({"entrypoint": "x", "entrypoint_memory": 1.5}),
            "entrypoint_memory must be an integer, got <class 'float'>",
        ),
    ] {
        assert_eq!(read(&body).unwrap_err().to_string(), format!("TypeError: {words}"));
    }
    let nulls = json!({"entrypoint": "x", "job_id": "old", "submission_id": null, "metadata": null});
    assert_eq!(read(&nulls).unwrap().submission_id.as_deref(), Some("old"));
}

const TEMPLATE: &str = "
apiVersion: ray.io/v1
kind: RayJob
metadata: {labels: {team: vision}}
spec:
  shutdownAfterJobFinishes: false
  rayClusterSpec:
    headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: h, image: i}]}}}
    workerGroupSpecs:
    - groupName: gpu
      minReplicas: 0
      maxReplicas: 4
      rayStartParams: {}
      template: {spec: {containers: [{name: w, image: i, resources: {limits: {amd.com/gpu: 1}, requests: {amd.com/gpu: 1}}}]}}
";

#[test]
fn a_template_keeps_what_the_submission_leaves_open() {
    let template = check_template(TEMPLATE).unwrap();
    let asked = with_metadata(&json!({"squadron.dev/workers": "6", "squadron.dev/worker-gpus": "8"}));
    let job = rayjob(&asked, "id", Some(&template)).unwrap();
    let group = &job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0];
    assert_eq!((&group["replicas"], &group["maxReplicas"]), (&json!(6), &json!(6)));
    let limits = &group["template"]["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(*limits, json!({"amd.com/gpu": "8"}), "the GPU's maker is the template's");
    assert_eq!(job["metadata"]["labels"]["team"], "vision");
    assert_eq!(job["spec"]["shutdownAfterJobFinishes"], false);
    manifest::parse(&job.to_string()).unwrap();
}

/// Cores, bytes and GPUs of the head, or what is refused.
fn head(change: &Value, template: Option<&Value>) -> Result<(i64, i64, i64), String> {
    let job = rayjob(&submission(change), "id", template).map_err(|found| found[0].to_string())?;
    let head = manifest::parse(&job.to_string()).unwrap().gang[0].requests;
    Ok((head.cpu_milli, head.memory_bytes >> 20, head.gpus))
}

#[test]
fn the_default_head_grows_with_its_driver() {
    let asked =
        json!({"entrypoint_num_cpus": 2.5, "entrypoint_num_gpus": 1, "entrypoint_memory": 4_i64 << 30});
    assert_eq!(head(&asked, None), Ok((3_000, 4_096, 1)));
    assert_eq!(head(&json!({"entrypoint_num_cpus": 1, "entrypoint_memory": 5}), None), Ok((1_000, 2_048, 0)));
    let workers = json!({"squadron.dev/workers": "1", "squadron.dev/worker-gpus": "4"});
    assert_eq!(head(&json!({"entrypoint_num_gpus": 4, "metadata": workers}), None), Ok((1_000, 2_048, 0)));
    let both = json!({"entrypoint_num_gpus": 4, "entrypoint_num_cpus": 8, "metadata": workers});
    assert_eq!(head(&both, None), Ok((8_000, 2_048, 4)), "no pod but a larger head has both");
    let huge = head(&json!({"entrypoint_num_gpus": 1e9}), None).unwrap_err();
    assert_eq!(huge, "entrypoint_num_gpus: is more than any machine has");
}

#[test]
fn a_driver_for_which_no_pod_is_large_enough_is_refused() {
    let template = check_template(TEMPLATE).unwrap();
    let asked = |gpus: f64, workers: &str| {
        let asked = json!({"entrypoint_num_gpus": gpus, "metadata": {"squadron.dev/workers": workers}});
        head(&asked, Some(&template))
    };
    assert!(asked(1.0, "2").is_ok(), "a worker has one");
    assert!(asked(1.0, "0").is_err(), "there is no worker");
    let refused = asked(1.5, "2").unwrap_err();
    assert_eq!(
        refused,
        "entrypoint_num_gpus: is 1.5, and no pod of the job has all that its driver asks for, so it would wait for ever; \
         ask for larger ones by the metadata squadron.dev/head-gpus or squadron.dev/worker-gpus"
    );
    let small = json!({"squadron.dev/head-cpus": "2"});
    let refused = head(&json!({"entrypoint_num_cpus": 3, "metadata": small}), None).unwrap_err();
    assert!(refused.starts_with("entrypoint_num_cpus: is 3, and no pod"), "{refused}");
}

#[test]
fn a_bad_template_is_refused_with_paths() {
    for (text, words) in [
        ("kind: Pod", "kind: is \"Pod\"; a template is a RayJob"),
        ("kind: RayJob\nspec: {}", "spec.rayClusterSpec: the queue's template has no rayClusterSpec"),
        (&TEMPLATE.replace("groupName", "groupname"), "workerGroupSpecs[0]"),
        ("{", "cannot be read as YAML"),
    ] {
        let found: Vec<String> = check_template(text).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|one| one.contains(words)), "{text}: {found:?}");
    }
}

#[test]
fn any_text_gives_a_legal_name() {
    let long = "a".repeat(200);
    for (text, name) in [
        ("raysubmit_X", "raysubmit-x"),
        ("7", "ray-7"),
        ("__", "ray"),
        ("é", "ray"),
        (long.as_str(), &long[..47]),
    ] {
        assert_eq!(object_name(text), name);
    }
}

fn told(state: JobState, sentence: &str) -> Value {
    told_with(state, sentence, "")
}

fn told_with(state: JobState, sentence: &str, log: &str) -> Value {
    details(Told {
        log_end: log.as_bytes(),
        submission_id: "id",
        entrypoint: "x",
        metadata: Some(r#"{"b":"1","a":"2"}"#),
        runtime_env: None,
        state,
        sentence,
        submitted_at: Timestamp::from_millis(5),
        started_at: None,
        ended_at: state.is_terminal().then(|| Timestamp::from_millis(9)),
    })
}

#[test]
fn a_driver_that_failed_is_told_in_ray_s_words_with_its_last_ten_lines() {
    let failed = "failed: the driver failed (Job entrypoint command failed with exit code 3): line 12";
    let head =
        "Job entrypoint command failed with exit code 3, last available logs (truncated to 20,000 chars):\n";
    let log: String = (1..=12).map(|n| format!("line {n}\n")).collect();
    let last: String = (3..=12).map(|n| format!("line {n}\n")).collect();
    assert_eq!(told_with(JobState::Failed, failed, &log)["message"], format!("{head}{last}"));
    let bare = log.trim_end();
    assert_eq!(told_with(JobState::Failed, failed, bare)["message"], format!("{head}{}", last.trim_end()));
    let bars = "a\rb\r\nc\u{2028}d\n5\n6\n7\n8\n9\n10\n11";
    let of_ten = told_with(JobState::Failed, failed, bars)["message"].to_string();
    assert!(of_ten.contains(":\\nb\\r\\nc"), "a progress bar's line is one: {of_ten}");
    assert_eq!(told_with(JobState::Failed, failed, "")["message"], failed, "the log is not here");
    let other = "failed: the RayJob failed (no exit code)";
    assert_eq!(told_with(JobState::Failed, other, &log)["message"], other);
    assert_eq!(told_with(JobState::Succeeded, "succeeded", &log)["message"], "succeeded");
}

#[test]
fn every_state_is_one_of_ray_s() {
    let failed = "failed: the driver failed (Job entrypoint command failed with exit code 3, last logs)";
    for (state, word, code) in [
        (JobState::Queued, "PENDING", Value::Null),
        (JobState::Running, "RUNNING", Value::Null),
        (JobState::Stopping, "PENDING", Value::Null),
        (JobState::Succeeded, "SUCCEEDED", json!(0)),
        (JobState::Failed, "FAILED", json!(3)),
        (JobState::Cancelled, "STOPPED", Value::Null),
    ] {
        let answer = told(state, failed);
        assert_eq!((&answer["status"], &answer["driver_exit_code"]), (&json!(word), &code));
        assert_eq!(answer["message"], failed);
    }
    let answer = told(JobState::Failed, failed);
    assert_eq!(answer["error_type"], "JOB_ENTRYPOINT_COMMAND_ERROR");
    for (words, kind) in [
        ("runtime_env setup failed: no network", json!("RUNTIME_ENV_SETUP_FAILURE")),
        ("Job supervisor actor could not be scheduled: x", json!("JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE")),
        ("Unexpected error occurred: x", json!("JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE")),
        ("the cluster is gone", Value::Null),
    ] {
        assert_eq!(told(JobState::Failed, &format!("failed: ({words})"))["error_type"], kind);
    }
    assert_eq!((&answer["start_time"], &answer["end_time"]), (&json!(5), &json!(9)));
    assert_eq!((&answer["metadata"], &answer["runtime_env"]), (&json!({"a": "2", "b": "1"}), &Value::Null));
    assert_eq!(status(JobState::Stopping, true), JobStatus::Running);
}
