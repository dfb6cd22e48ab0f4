//! What is added to a pod template, rule by rule (POD-1 to POD-17).

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::Cluster;
use crate::{
    Options, object,
    options::{Probes, WaitForGcs},
    types::RayClusterSpec,
};

/// Head and worker pod of a minimal RayCluster, changed by `change`.
fn pods(change: impl FnOnce(&mut Value), options: &Options) -> (Value, Value) {
    let container = |name: &str| json!({"name": name, "image": "ray:1"});
    let template =
        |name: &str| json!({"metadata": {"labels": {}}, "spec": {"containers": [container(name)]}});
    let mut cluster = json!({
        "metadata": {"name": "c", "namespace": "ns", "uid": "u", "labels": {}, "annotations": {}},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"template": template("ray-head"), "rayStartParams": {}},
            "workerGroupSpecs": [{"groupName": "g", "template": template("ray-worker"), "rayStartParams": {}}],
        },
    });
    change(&mut cluster);
    let spec: RayClusterSpec = serde_json::from_value(cluster["spec"].clone()).unwrap();
    let made = Cluster { object: &cluster, spec: &spec, options };
    (made.head_pod("h"), made.worker_pod(&spec.groups()[0], "w"))
}

fn with(change: impl FnOnce(&mut Value)) -> (Value, Value) {
    pods(change, &Options::default())
}

fn head_container(cluster: &mut Value) -> &mut Value {
    &mut cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
}

fn ray(pod: &Value) -> &Value {
    &pod["spec"]["containers"][0]
}

fn env<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    let found = object::list(container, &["env"]).iter().find(|one| one["name"] == name)?;
    found["value"].as_str().or_else(|| found.pointer("/valueFrom/secretKeyRef/key").and_then(Value::as_str))
}

fn start(pod: &Value) -> &str {
    ray(pod)["args"][0].as_str().unwrap()
}

#[test]
fn pod_1_unknown_fields_of_the_template_survive() {
    let (head, _) = with(|cluster| {
        let template = &mut cluster["spec"]["headGroupSpec"]["template"];
        template["metadata"]["finalizers"] = json!(["f"]);
        template["metadata"]["namespace"] = json!("elsewhere");
        template["spec"]["futureField"] = json!({"a": 1});
        template["spec"]["containers"][0]["futureField"] = json!(2);
    });
    assert_eq!((&head["spec"]["futureField"], &ray(&head)["futureField"]), (&json!({"a": 1}), &json!(2)));
    assert_eq!(
        (&head["metadata"]["finalizers"], &head["metadata"]["namespace"]),
        (&json!(["f"]), &json!("ns"))
    );
}

#[test]
fn pod_2_labels_that_find_the_pod_cannot_be_changed() {
    let (head, _) = with(|cluster| {
        let labels = json!({"ray.io/node-type": "x", "ray.io/cluster": "x", "ray.io/group": "x", "app.kubernetes.io/name": "mine", "a": "b"});
        cluster["spec"]["headGroupSpec"]["template"]["metadata"]["labels"] = labels;
        cluster["spec"]["headGroupSpec"]["labels"] = json!({"a": "c"});
    });
    let label = |key: &str| object::label(&head, key).to_owned();
    assert_eq!(
        (label("ray.io/node-type"), label("ray.io/cluster"), label("ray.io/group")),
        ("head".into(), "c".into(), "headgroup".into())
    );
    assert_eq!((label("app.kubernetes.io/name"), label("a")), ("mine".into(), "c".into()));
    assert!(start(&head).contains(" --labels=a=c "), "{}", start(&head));
}

#[test]
fn pod_2_rayservice_pods_say_whether_they_serve() {
    let (head, worker) =
        with(|cluster| cluster["metadata"]["labels"]["ray.io/originated-from-crd"] = json!("RayService"));
    assert_eq!(
        (object::label(&head, "ray.io/serve"), object::label(&worker, "ray.io/serve")),
        ("false", "true")
    );
    assert_eq!(env(ray(&head), "RAY_SERVE_KV_TIMEOUT_S"), Some("5"));
    let readiness = &ray(&worker)["readinessProbe"];
    assert_eq!(readiness["failureThreshold"], 1);
    assert!(readiness["exec"]["command"][2].as_str().unwrap().contains("/8000 "), "{readiness}");
}

#[test]
fn pod_4_own_command_runs_first() {
    let (head, _) = with(|cluster| {
        head_container(cluster)["command"] = json!(["echo"]);
        head_container(cluster)["args"] = json!(["hello"]);
    });
    assert!(start(&head).starts_with("echo hello && ulimit -n "), "{}", start(&head));
    assert_eq!(ray(&head)["command"], json!(["/bin/bash", "-c", "--"]));
}

#[test]
fn pod_4_ray_started_by_the_user_is_left_alone() {
    let (head, _) = with(|cluster| head_container(cluster)["args"] = json!(["ray start --head --block"]));
    assert_eq!(
        (&ray(&head)["args"], &ray(&head)["command"]),
        (&json!(["ray start --head --block"]), &Value::Null)
    );
    let (head, worker) = with(|cluster| {
        cluster["metadata"]["annotations"]["ray.io/overwrite-container-cmd"] = json!("true");
        head_container(cluster)["command"] = json!(["./start.sh"]);
    });
    assert_eq!((&ray(&head)["command"], &ray(&worker)["command"]), (&json!(["./start.sh"]), &Value::Null));
    assert!(env(ray(&head), "KUBERAY_GEN_RAY_START_CMD").unwrap().starts_with("ray start --head "));
    assert_eq!(object::annotation(&worker, "ray.io/overwrite-container-cmd"), "true");
}

#[test]
fn pod_4_login_shell() {
    let (head, _) = pods(|_| {}, &Options { login_shell: true, ..Options::default() });
    assert_eq!(ray(&head)["command"], json!(["/bin/bash", "-cl", "--"]));
}

#[test]
fn pod_6_own_port_is_used_everywhere() {
    let (head, worker) =
        with(|cluster| cluster["spec"]["headGroupSpec"]["rayStartParams"]["port"] = json!("6380"));
    assert_eq!(
        (env(ray(&head), "RAY_PORT"), env(ray(&head), "RAY_ADDRESS")),
        (Some("6380"), Some("127.0.0.1:6380"))
    );
    assert_eq!(env(ray(&worker), "RAY_ADDRESS"), Some("c-head-svc.ns.svc.cluster.local:6380"));
    assert!(start(&worker).contains(" --address=c-head-svc.ns.svc.cluster.local:6380 "));
    let wait = &worker["spec"]["initContainers"][0]["args"][0];
    assert!(wait.as_str().unwrap().contains("/dev/tcp/c-head-svc.ns.svc.cluster.local/6380"));
}

#[test]
fn pod_9_own_environment_wins_where_it_may() {
    let (head, _) = with(|cluster| {
        head_container(cluster)["env"] =
            json!([{"name": "RAY_ADDRESS", "value": "mine"}, {"name": "RAY_PORT", "value": "1"}]);
    });
    let names: Vec<&str> =
        object::list(ray(&head), &["env"]).iter().map(|one| object::text(one, &["name"])).collect();
    assert_eq!(names.iter().filter(|name| **name == "RAY_ADDRESS").count(), 1);
    assert_eq!((env(ray(&head), "RAY_ADDRESS"), env(ray(&head), "RAY_PORT")), (Some("mine"), Some("1")));
}

#[test]
fn pod_9_init_containers_know_the_head() {
    let (head, worker) = with(|cluster| {
        cluster["spec"]["headGroupSpec"]["template"]["spec"]["initContainers"] = json!([{"name": "mine"}]);
        cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["initContainers"] =
            json!([{"name": "mine"}]);
    });
    let names = |pod: &Value| {
        object::list(pod, &["spec", "initContainers"])
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&head), names(&worker)),
        (vec!["mine".to_owned()], vec!["mine".to_owned(), "wait-gcs-ready".to_owned()])
    );
    for pod in [&head, &worker] {
        assert_eq!(
            env(&pod["spec"]["initContainers"][0], "FQ_RAY_IP"),
            Some("c-head-svc.ns.svc.cluster.local")
        );
        assert_eq!(env(&pod["spec"]["initContainers"][0], "RAY_IP"), Some("c-head-svc"));
    }
}

#[test]
fn pod_10_wait_container_takes_the_containers_settings() {
    let (_, worker) = with(|cluster| {
        let container = &mut cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0];
        container["imagePullPolicy"] = json!("Never");
        container["securityContext"] = json!({"runAsUser": 7});
        container["volumeMounts"] = json!([{"name": "tls", "mountPath": "/tls"}]);
    });
    let wait = &worker["spec"]["initContainers"][0];
    assert_eq!(
        (&wait["imagePullPolicy"], &wait["securityContext"]["runAsUser"]),
        (&json!("Never"), &json!(7))
    );
    assert_eq!(wait["volumeMounts"], json!([{"name": "tls", "mountPath": "/tls"}]));
    assert_eq!(wait["resources"]["requests"], json!({"cpu": "200m", "memory": "256Mi"}));
    let (_, worker) = pods(|_| {}, &Options { wait_for_gcs: WaitForGcs::Off, ..Options::default() });
    assert!(worker["spec"]["initContainers"].is_null());
}

#[test]
fn pod_11_shared_memory_is_added_once() {
    let (head, _) = with(|cluster| {
        head_container(cluster)["volumeMounts"] = json!([{"name": "own", "mountPath": "/dev/shm"}]);
    });
    assert!(head["spec"]["volumes"].is_null());
    let (head, _) =
        with(|cluster| cluster["spec"]["headGroupSpec"]["rayStartParams"]["plasma-directory"] = json!("/x"));
    assert!(head["spec"]["volumes"].is_null());
    let (head, _) =
        with(|cluster| head_container(cluster)["resources"] = json!({"requests": {"memory": "3Gi"}}));
    assert_eq!(
        head["spec"]["volumes"],
        json!([{"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "3Gi"}}])
    );
}

#[test]
fn pod_12_metrics_port_is_added_unless_named() {
    let (head, _) =
        with(|cluster| head_container(cluster)["ports"] = json!([{"name": "metrics", "containerPort": 9}]));
    assert_eq!(ray(&head)["ports"], json!([{"name": "metrics", "containerPort": 9}]));
}

#[test]
fn pod_13_old_versions_are_asked_by_the_shell() {
    let (head, worker) = with(|cluster| cluster["spec"]["rayVersion"] = json!("2.52.0"));
    let command = |pod: &Value| ray(pod)["livenessProbe"]["exec"]["command"][2].as_str().unwrap().to_owned();
    assert!(
        command(&head).contains("api/local_raylet_healthz")
            && command(&head).contains("/8265 && printf 'GET /api/gcs_healthz")
    );
    assert!(!command(&worker).contains("gcs_healthz"));
}

#[test]
fn pod_13_own_probes_are_kept() {
    let own = json!({"httpGet": {"path": "/", "port": 1}});
    let (head, worker) = with(|cluster| head_container(cluster)["readinessProbe"] = own.clone());
    assert_eq!((&ray(&head)["readinessProbe"], &ray(&head)["startupProbe"]), (&own, &Value::Null));
    assert_eq!(ray(&head)["livenessProbe"]["initialDelaySeconds"], 30);
    assert_eq!(ray(&worker)["startupProbe"]["periodSeconds"], 1);
}

#[test]
fn pod_13_patient_probes_are_kuberays() {
    let (head, worker) = pods(|_| {}, &Options::like_kuberay());
    let numbers = |probe: &Value| {
        ["initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"]
            .map(|field| probe[field].as_i64().unwrap())
    };
    assert_eq!(numbers(&ray(&head)["readinessProbe"]), [10, 5, 5, 10]);
    assert_eq!(numbers(&ray(&head)["livenessProbe"]), [30, 5, 5, 120]);
    assert_eq!(numbers(&ray(&worker)["readinessProbe"]), [10, 5, 2, 10]);
    assert!(ray(&head)["startupProbe"].is_null());
    let (head, _) = pods(|_| {}, &Options { probes: Probes::Off, ..Options::default() });
    assert!(ray(&head)["livenessProbe"].is_null());
}

#[test]
fn pod_14_redis_is_named_by_variables_not_by_the_command() {
    let (head, worker) = with(|cluster| {
        cluster["spec"]["gcsFaultToleranceOptions"] = json!({
            "redisAddress": "redis:6379",
            "redisUsername": {"value": "ray"},
            "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
        });
    });
    let container = ray(&head);
    assert_eq!(
        (env(container, "RAY_REDIS_ADDRESS"), env(container, "REDIS_USERNAME")),
        (Some("redis:6379"), Some("ray"))
    );
    assert_eq!(
        (env(container, "REDIS_PASSWORD"), env(container, "RAY_external_storage_namespace")),
        (Some("password"), Some("u"))
    );
    assert!(
        start(&head).contains(" --redis-password=$REDIS_PASSWORD --redis-username=$REDIS_USERNAME"),
        "{}",
        start(&head)
    );
    assert_eq!(object::annotation(&head, "ray.io/ft-enabled"), "true");
    assert_eq!(object::annotation(&head, "ray.io/external-storage-namespace"), "u");
    assert_eq!(env(ray(&worker), "RAY_gcs_rpc_server_reconnect_timeout_s"), Some("600"));
    let wait = worker["spec"]["initContainers"][0]["args"][0].as_str().unwrap();
    assert!(wait.contains("ray health-check --address c-head-svc"), "{wait}");
}

#[test]
fn pod_15_autoscaler_runs_beside_the_head() {
    let (head, worker) = with(|cluster| {
        cluster["spec"]["enableInTreeAutoscaling"] = json!(true);
        cluster["spec"]["autoscalerOptions"] =
            json!({"version": "v2", "image": "mine:1", "env": [{"name": "A", "value": "b"}]});
    });
    let sidecar = &head["spec"]["containers"][1];
    assert_eq!((&sidecar["name"], &sidecar["image"]), (&json!("autoscaler"), &json!("mine:1")));
    assert_eq!((env(sidecar, "KUBERAY_CRD_VER"), env(sidecar, "A")), (Some("v1"), Some("b")));
    assert_eq!(sidecar["volumeMounts"], json!([{"name": "ray-logs", "mountPath": "/tmp/ray"}]));
    assert!(start(&head).contains(" --no-monitor"));
    assert_eq!(env(ray(&head), "RAY_enable_autoscaler_v2"), Some("true"));
    assert_eq!(
        (&head["spec"]["restartPolicy"], &worker["spec"]["restartPolicy"]),
        (&json!("Never"), &json!("Never"))
    );
    assert_eq!(head["spec"]["serviceAccountName"], "c");
    assert!(head["spec"]["volumes"].as_array().unwrap().iter().any(|volume| volume["name"] == "ray-logs"));
}
