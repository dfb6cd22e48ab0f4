//! The submitter Job, its script, and the HTTP request.

use super::*;
use crate::Options;

/// The submitter as it is created for this spec.
fn submitter(change: &Value, options: Options) -> Value {
    let mut world = world(change);
    world.options = options;
    world.run_until(8, |world| !world.get("Job", "j").is_null());
    world.get("Job", "j").clone()
}

fn container(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]["containers"][0]
}

fn script(change: &Value, options: Options) -> String {
    container(&submitter(change, options))["args"][0].as_str().unwrap().to_owned()
}

fn env<'a>(job: &'a Value, name: &str) -> Option<&'a str> {
    container(job)["env"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == name)
        .and_then(|one| one["value"].as_str())
}

#[test]
fn rj_sub_default_submitter() {
    let job = submitter(&json!({}), Options::default());
    assert_eq!(job["metadata"]["name"], "j");
    assert_eq!(job["metadata"]["labels"]["app.kubernetes.io/created-by"], "kuberay-operator");
    assert_eq!(job["metadata"]["labels"]["squadron.dev/job-id"], "7");
    assert_eq!(job["spec"]["template"]["metadata"]["labels"]["squadron.dev/job-id"], "7");
    assert_eq!(
        (&job["spec"]["backoffLimit"], &job["spec"]["template"]["spec"]["restartPolicy"]),
        (&json!(2), &json!("Never"))
    );
    let container = container(&job);
    assert_eq!(
        (container["name"].as_str(), container["image"].as_str()),
        (Some("ray-job-submitter"), Some("rayproject/ray:2.60.0"))
    );
    assert_eq!(container["resources"]["requests"], json!({"cpu": "500m", "memory": "200Mi"}));
    assert_eq!(container["command"], json!(["/bin/bash", "-ce", "--"]));
    assert_eq!(env(&job, "PYTHONUNBUFFERED"), Some("1"));
    assert!(env(&job, "RAY_DASHBOARD_ADDRESS").unwrap().ends_with("-head-svc.test.svc.cluster.local:8265"));
    assert!(env(&job, "RAY_JOB_SUBMISSION_ID").unwrap().starts_with("j-"));
}

#[test]
fn rj_sub_default_submitter_has_the_bounds_of_its_job() {
    let pod = |annotations: Value| {
        let mut world = world(&json!({}));
        world.get_mut("RayJob", "j")["metadata"]["annotations"] = annotations;
        world.run_until(8, |world| !world.get("Job", "j").is_null());
        world.get("Job", "j")["spec"]["template"]["spec"].clone()
    };
    let bounded = pod(json!({"squadron.dev/on-lost": "fence", "squadron.dev/spot": "never"}));
    assert_eq!(bounded["terminationGracePeriodSeconds"], 10);
    assert!(bounded["affinity"]["nodeAffinity"].is_object());
    let free = pod(json!({"squadron.dev/on-lost": "wait"}));
    assert!(free["terminationGracePeriodSeconds"].is_null() && free["affinity"].is_null());
}

#[test]
fn rj_sub_submitter_in_full() {
    let mut job =
        submitter(&json!({"jobId": "id"}), Options { quick_submitter: false, ..Options::default() });
    let cluster = env(&job, "RAY_DASHBOARD_ADDRESS").unwrap().split('-').nth(1).unwrap().to_owned();
    let text = job.to_string().replace(&cluster, "xxxxx");
    job = serde_json::from_str(&text).unwrap();
    insta::assert_yaml_snapshot!(crate::world::brief(&job));
}

#[test]
fn rj_sub_patient_script_has_kuberays_shape() {
    let change = json!({
        "jobId": "id", "entrypoint": " python a.py ", "runtimeEnvYAML": "env_vars: {A: \"x $B\"}", "metadata": {"k": "v"},
        "entrypointNumCpus": 0.5, "entrypointNumGpus": 2, "entrypointResources": "{\"R1\": 2}",
    });
    let text = script(&change, Options::like_kuberay());
    let address = text.split(' ').nth(6).unwrap();
    let expected = format!(
        "if ! ray job status --address {address} id >/dev/null 2>&1 ; then ray job submit --address {address} --no-wait \
         --runtime-env-json \"{{\\\"env_vars\\\":{{\\\"A\\\":\\\"x $B\\\"}}}}\" --metadata-json \"{{\\\"k\\\":\\\"v\\\"}}\" \
         --submission-id id --entrypoint-num-cpus 0.500000 --entrypoint-num-gpus 2.000000 \
         --entrypoint-resources \"{{\\\"R1\\\":2}}\" -- python a.py ; fi ; ray job logs --address {address} --follow id"
    );
    assert_eq!(text, expected);
}

#[test]
fn rj_sub_quick_script_waits_for_all_nodes_and_posts() {
    let job = submitter(&json!({"jobId": "id", "runtimeEnvYAML": "env_vars: {A: b}"}), Options::default());
    let request: Value = serde_json::from_str(env(&job, "SQUADRON_RAY_JOB_REQUEST").unwrap()).unwrap();
    let expected = json!({"entrypoint": "python train.py", "submission_id": "id", "runtime_env": {"env_vars": {"A": "b"}}});
    assert_eq!(request, expected);
    let text = container(&job)["args"][0].as_str().unwrap();
    assert!(text.contains("wait_for_nodes 2\npost "), "{text}");
    assert!(
        text.contains(&format!("post {}\n", env(&job, "SQUADRON_RAY_JOB_REQUEST").unwrap().len())),
        "{text}"
    );
    assert_eq!(job["metadata"]["annotations"]["squadron.dev/wait-for-nodes"], "2");
}

#[test]
fn rj_sub_requests_that_the_shell_or_an_upload_would_change_go_through_the_command() {
    for change in [
        json!({"entrypoint": "python a.py $HOME"}),
        json!({"entrypoint": "cd x && python a.py"}),
        json!({"runtimeEnvYAML": "working_dir: ./src"}),
        json!({"runtimeEnvYAML": "py_modules: [./src]"}),
        json!({"runtimeEnvYAML": "env_vars: {A: $(TOKEN)}"}),
    ] {
        let job = submitter(&change, Options::default());
        assert_eq!(env(&job, "SQUADRON_RAY_JOB_REQUEST"), None, "{change}");
        let text = container(&job)["args"][0].as_str().unwrap();
        assert!(text.contains("ray job submit --address http://"), "{text}");
    }
    let remote = json!({"runtimeEnvYAML": "working_dir: https://example.com/a.zip"});
    assert!(env(&submitter(&remote, Options::default()), "SQUADRON_RAY_JOB_REQUEST").is_some());
}

#[test]
fn rj_sub_own_command_waits_for_the_whole_cluster() {
    let template = json!({"spec": {"containers": [{"name": "s", "command": ["ray", "job", "submit"]}]}});
    let mut world = world(&json!({"submitterPodTemplate": template, "submitterConfig": {"backoffLimit": 0}}));
    world.run_until(8, |world| !world.get("Job", "j").is_null());
    let cluster = world.of_kind("RayCluster")[0];
    assert_eq!(cluster["status"]["state"], "ready");
    let job = world.get("Job", "j");
    assert_eq!(
        (&container(job)["command"], &container(job)["args"]),
        (&json!(["ray", "job", "submit"]), &Value::Null)
    );
    assert_eq!(job["spec"]["backoffLimit"], 0);
    assert!(job["metadata"]["annotations"].is_null());
}

#[test]
fn quick_submitter_starts_when_all_pods_have_their_node() {
    let mut world = world(&json!({}));
    world.verdict = None;
    world.settle();
    assert!(world.get("Job", "j").is_null(), "no pod has a node yet");
    world.tick();
    world.settle();
    assert!(!world.get("Job", "j").is_null());
    assert_eq!(deployment(&world), "Initializing");
}

#[test]
fn submitter_waiting_for_another_size_is_made_again() {
    let mut world = world(&json!({}));
    world.settle();
    world.tick();
    world.dashboard_up = false;
    world.settle();
    let cluster = status(&world, "rayClusterName");
    let groups = &mut world.get_mut("RayCluster", &cluster)["spec"]["workerGroupSpecs"];
    groups[0]["maxReplicas"] = json!(3);
    groups[0]["replicas"] = json!(2);
    world.settle();
    world.tick();
    world.settle();
    let annotation = &world.get("Job", "j")["metadata"]["annotations"]["squadron.dev/wait-for-nodes"];
    assert_eq!(annotation, "3");
}

#[test]
fn rj_http_request_holds_all_that_the_spec_says() {
    let spec = json!({
        "entrypoint": "python a.py", "entrypointNumCpus": 2, "entrypointNumGpus": 2, "entrypointResources": "{\"R1\": 2}",
        "runtimeEnvYAML": "env_vars:\n  counter_name: test_counter\n", "metadata": {"k": "v"},
    });
    let body = crate::job::request::body(
        &serde_json::from_value(spec).unwrap(),
        &crate::submission::Extras::default(),
        "id",
    );
    let expected = json!({
        "entrypoint": "python a.py", "submission_id": "id", "runtime_env": {"env_vars": {"counter_name": "test_counter"}},
        "metadata": {"k": "v"}, "entrypoint_resources": {"R1": 2}, "entrypoint_num_cpus": 2.0, "entrypoint_num_gpus": 2.0,
    });
    assert_eq!(body, expected);
}

#[test]
fn rj_sub_words_that_every_shell_reads_alike_are_posted() {
    for (entrypoint, posted) in [
        ("python -c \"import time; time.sleep(60)\"", true),
        ("python -c 'print(1)' --a=b", true),
        ("python -c 'print(\"x\")' && ls", false),
        ("python -c \"print('$HOME')\"", false),
        ("python -c 'open", false),
        ("python a.py | tee b", false),
        ("python a.py *.txt", false),
    ] {
        let job = submitter(&json!({"entrypoint": entrypoint}), Options::default());
        assert_eq!(env(&job, "SQUADRON_RAY_JOB_REQUEST").is_some(), posted, "{entrypoint}");
    }
}

#[test]
fn rj_sub_sidecar_submits_from_within_the_head() {
    let mut world = world(&json!({"submissionMode": "SidecarMode", "jobId": "id"}));
    world.settle();
    let cluster = world.of_kind("RayCluster")[0];
    assert_eq!(object::annotation(cluster, "ray.io/disable-provisioned-head-restart"), "true");
    assert_eq!(object::label(cluster, "ray.io/job-submission-mode"), "SidecarMode");
    let template = &cluster["spec"]["headGroupSpec"]["template"]["spec"];
    let own = &template["containers"][1];
    assert_eq!(
        (&own["name"], &own["image"], &template["restartPolicy"]),
        (&json!("ray-job-submitter"), &json!("rayproject/ray:2.60.0"), &json!("Never"))
    );
    assert!(own["args"][0].as_str().unwrap().starts_with("host=127.0.0.1; port=8265; id=id\n"));
    assert!(!own["args"][0].as_str().unwrap().contains("wait_for_nodes 2"));
    world.run_until(12, |world| deployment(world) == "Complete");
    assert!(world.get("Job", "j").is_null());
}

#[test]
fn rj_sub_sidecar_ends_with_its_head() {
    let mut world = running(&json!({"submissionMode": "SidecarMode"}));
    let head = object::name(world.pods("headgroup")[0]).to_owned();
    world.delete("Pod", &head);
    world.settle();
    assert_eq!((deployment(&world), status(&world, "reason")), ("Failed".to_owned(), "AppFailed".to_owned()));
    assert_eq!(status(&world, "message"), "Ray head pod not found.");
    world.tick();
    world.settle();
    assert!(world.pods("headgroup").is_empty(), "the cluster makes no second head");
}

#[test]
fn rj_sub_failing_sidecar_is_told_from_a_failing_driver() {
    for (word, reason) in [("FAILED", "AppFailed"), ("", "SubmissionFailed")] {
        let mut world = running(&json!({"submissionMode": "SidecarMode"}));
        if word.is_empty() {
            world.ray.clear();
            world.get_mut("RayJob", "j")["status"]["jobStatus"] = json!("");
        } else {
            world.ray.values_mut().for_each(|state| word.clone_into(state));
        }
        let head = object::name(world.pods("headgroup")[0]).to_owned();
        let ended = json!({"exitCode": 1, "reason": "Error", "finishedAt": object::stamp(world.now)});
        world.get_mut("Pod", &head)["status"]["containerStatuses"] =
            json!([{"name": "ray-job-submitter", "state": {"terminated": ended}}]);
        world.settle();
        assert_eq!((deployment(&world), status(&world, "reason")), ("Failed".to_owned(), reason.to_owned()));
    }
}

/// A job that Ray's client sent with two packages.
fn packed() -> World {
    let mut world = world(&json!({"submissionMode": "HTTPMode"}));
    let labels =
        json!({"squadron.dev/job-id": "0196f0a0-0000-7000-8000-000000000001", "squadron.dev/attempt": "2"});
    let job = world.get_mut("RayJob", "j");
    job["metadata"]["labels"] = labels;
    job["metadata"]["annotations"]["squadron.dev/ray-submission"] =
        json!(r#"{"packages": ["a.zip", "b.whl"]}"#);
    world
}

#[test]
fn a_driver_waits_for_its_packages() {
    let mut world = packed();
    world.packages = None;
    world.run_until(12, |world| was_told(world, "PackageNotDelivered"));
    for _ in 0..5 {
        world.tick();
        world.settle();
    }
    assert!(world.ray.is_empty(), "nothing is submitted before the packages are there");
    assert_eq!(status(&world, "message"), "The driver is not submitted yet: the control plane is away");
    world.packages = Some(Vec::new());
    world.run_until(70, |world| deployment(world) == "Complete");
    let delivered = world.packages.unwrap();
    assert_eq!(delivered[..2], ["a.zip", "b.whl"], "{delivered:?}");
}

#[test]
fn a_package_that_ray_refuses_again_and_again_fails_the_job() {
    let mut world = packed();
    (world.packages, world.refused) = (Some(Vec::new()), Some(("a.zip", "no such scheme")));
    world.run_until(400, |world| deployment(world) == "Failed");
    assert_eq!(status(&world, "reason"), "SubmissionFailed");
    let words = "the Ray dashboard refused the package with status 400: no such scheme (9 times)";
    assert_eq!(status(&world, "message"), words);
    assert!(world.ray.is_empty());
}

#[test]
fn one_refusal_after_a_long_outage_fails_no_job() {
    let mut world = packed();
    world.packages = None;
    for _ in 0..700 {
        world.settle();
        world.tick();
    }
    assert_eq!(deployment(&world), "Running", "a control plane that is away is waited for");
    (world.packages, world.refused) = (Some(Vec::new()), Some(("a.zip", "busy")));
    world.run_until(70, |world| status(world, "message").ends_with("busy"));
    assert_eq!(deployment(&world), "Running");
    world.refused = None;
    world.run_until(140, |world| deployment(world) == "Complete");
}

/// The scripts are read by the shell that will run them.
#[test]
fn scripts_are_legal_shell() {
    for change in [json!({}), json!({"entrypoint": "python a.py && echo $HOME"})] {
        let text = script(&change, Options::default());
        let checked = std::process::Command::new("bash").args(["-n", "-c", &text]).output().unwrap();
        assert!(checked.status.success(), "{}\n{text}", String::from_utf8_lossy(&checked.stderr));
    }
}
