//! Manifests that are accepted and, by path and sentence, those that are not.

#![allow(clippy::unwrap_used)]

use super::*;

const MINIMAL: &str = r#"
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: train
  namespace: research
  labels: {team: vision}
spec:
  entrypoint: python train.py
  rayClusterSpec:
    rayVersion: "2.60.0"
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
            - name: ray-head
              image: rayproject/ray:2.60.0
              resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 1, memory: 2Gi}}
    workerGroupSpecs:
      - groupName: small
        replicas: 2
        minReplicas: 1
        maxReplicas: 3
        template:
          spec:
            containers:
              - name: ray-worker
                image: rayproject/ray:2.60.0
                resources: {limits: {cpu: "2", memory: 3Gi, nvidia.com/gpu: 1}}
"#;

fn problems(text: &str) -> Vec<String> {
    parse(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    assert_eq!(problems(text), [expected]);
}

fn gpu(member: &GangMember) -> (&str, u32, i64, i64, i64) {
    let each = member.requests;
    (&member.role, member.count, each.cpu_milli, each.memory_bytes >> 20, each.gpus)
}

#[test]
fn plain_manifest_comes_out_unchanged() {
    let parsed = parse(MINIMAL).unwrap();
    assert_eq!((parsed.name.as_str(), parsed.namespace.as_deref()), ("train", Some("research")));
    assert_eq!(parsed.labels["team"], "vision");
    assert_eq!(parsed.manifest, serde_yaml_ng::from_str::<Value>(MINIMAL).unwrap());
    assert_eq!(parse(&parsed.manifest.to_string()).unwrap(), parsed);
}

#[test]
fn gang_is_head_submitter_and_starting_workers() {
    let parsed = parse(MINIMAL).unwrap();
    let gang: Vec<_> = parsed.gang.iter().map(gpu).collect();
    assert_eq!(
        gang,
        [("head", 1, 500, 1_024, 0), ("submitter", 1, 500, 200, 0), ("small", 2, 2_000, 3_072, 1)]
    );
}

#[test]
fn autoscaled_gang_holds_only_the_minimum_and_http_needs_no_submitter() {
    let text = MINIMAL
        .replace("spec:\n  entrypoint", "spec:\n  submissionMode: HTTPMode\n  entrypoint")
        .replace("    rayVersion", "    enableInTreeAutoscaling: true\n    rayVersion");
    let parsed = parse(&text).unwrap();
    let sizes = |parsed: &ParsedRayJob| -> Vec<(String, u32, Option<u32>)> {
        parsed.gang.iter().map(|member| (member.role.clone(), member.count, member.most)).collect()
    };
    assert_eq!(sizes(&parsed), [("head".into(), 1, None), ("small".into(), 1, Some(3))]);
    let from_nothing = parse(&text.replace("minReplicas: 1", "minReplicas: 0")).unwrap();
    assert_eq!(sizes(&from_nothing)[1..], [("small".into(), 0, Some(3))], "it may grow, so it is known");
    assert!(parse(MINIMAL).unwrap().gang.iter().all(|member| member.most.is_none()));
}

#[test]
fn workers_of_the_gang_are_never_fewer_than_the_minimum() {
    let parsed = parse(&MINIMAL.replace("        replicas: 2\n", "")).unwrap();
    assert_eq!(parsed.gang[2].count, 1);
}

#[test]
fn typos_are_named_with_their_path_and_the_likely_field() {
    refuses(
        &MINIMAL.replace("entrypoint:", "entryPoint: x\n  entrypoint:"),
        r#"spec.entryPoint: is no field here; did you mean "entrypoint"?"#,
    );
    refuses(
        &MINIMAL.replace("        replicas: 2", "        repilcas: 2"),
        r#"spec.rayClusterSpec.workerGroupSpecs[0].repilcas: is no field here; did you mean "replicas"?"#,
    );
    refuses(
        &MINIMAL.replace(
            "image: rayproject/ray:2.60.0\n              resources",
            "imgae: x\n              resources",
        ),
        r#"spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].imgae: is no field here; did you mean "image"?"#,
    );
    refuses(
        &MINIMAL.replace("labels: {team", "lables: {team"),
        r#"metadata.lables: is no field here; did you mean "labels"?"#,
    );
}

#[test]
fn types_and_quantities_are_checked() {
    refuses(
        &MINIMAL.replace("replicas: 2\n", "replicas: \"2\"\n"),
        "spec.rayClusterSpec.workerGroupSpecs[0].replicas: must be a whole number, not a string; write it without quotes",
    );
    refuses(
        &MINIMAL.replace("cpu: 500m", "cpu: 500 milli"),
        r#"spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].resources.requests.cpu: "500 milli" is no Kubernetes quantity (examples: 500m, 2, 1.5Gi)"#,
    );
    refuses(
        &MINIMAL.replace("rayVersion: \"2.60.0\"", "rayVersion: 2.6"),
        "spec.rayClusterSpec.rayVersion: must be a string, not a number; put it in quotes",
    );
}

#[test]
fn wrong_kinds_say_what_is_expected() {
    refuses("kind: Pod", r#"kind: is "Pod"; only RayJob can be submitted"#);
    refuses(
        &MINIMAL.replace("ray.io/v1", "ray.io/v1alpha1"),
        r#"apiVersion: is "ray.io/v1alpha1"; write ray.io/v1"#,
    );
    refuses("just text", "manifest: must be a RayJob: a map with apiVersion, kind, metadata and spec");
    refuses("", "manifest: is empty");
}

#[test]
fn names_are_checked() {
    refuses(
        &MINIMAL.replace("name: train\n", "name: Train\n"),
        "metadata.name: must be lower-case letters, digits and '-', starting with a letter and ending with a letter or digit",
    );
    assert_eq!(parse(&MINIMAL.replace("name: train\n", "generateName: train-\n")).unwrap().name, "train");
    refuses(
        &MINIMAL.replace("name: train\n", "generateName: 7train-\n"),
        "metadata.generateName: must be lower-case letters, digits and '-', starting with a letter and ending with a letter or digit",
    );
    refuses(&MINIMAL.replace("  name: train\n", ""), "metadata.name: is missing; give the object a name");
    refuses(
        &MINIMAL.replace("namespace: research", "namespace: re_search"),
        "metadata.namespace: must be an RFC 1123 label: lower-case letters, digits and '-'",
    );
}

#[test]
fn rules_beyond_the_schema_apply() {
    refuses(
        &MINIMAL.replace("entrypoint: python train.py", "runtimeEnvYAML: just_text\n  entrypoint: x"),
        r#"spec.runtimeEnvYAML: must be a YAML map, for example `env_vars: {LEVEL: "1"}`"#,
    );
    refuses(
        &MINIMAL.replace("  entrypoint: python train.py\n", ""),
        "spec.entrypoint: is missing; write the command that starts the driver, for example python train.py",
    );
}

#[test]
fn submitter_with_its_own_command_needs_no_entrypoint() {
    let own = "  submitterPodTemplate: {spec: {containers: [{name: s, command: [submit]}]}}\n";
    assert!(parse(&MINIMAL.replace("  entrypoint: python train.py\n", own)).is_ok());
}

#[test]
fn several_problems_are_reported_together() {
    let text =
        MINIMAL.replace("entrypoint:", "entryPoint:").replace("        replicas: 2", "        replica: 2");
    assert_eq!(problems(&text).len(), 2);
}

#[test]
fn exported_manifest_with_server_fields_and_status_is_fine() {
    let text = MINIMAL.replace(
        "  name: train\n",
        "  name: train\n  uid: a\n  resourceVersion: \"7\"\n  creationTimestamp: null\n",
    );
    assert!(parse(&format!("{text}status: {{jobStatus: RUNNING}}\n")).is_ok());
}

#[test]
fn every_ray_container_needs_an_image() {
    let image = "              image: rayproject/ray:2.60.0\n";
    let without = MINIMAL.replacen(image, "", 1);
    refuses(
        &without,
        "spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].image: is missing; write the image that runs Ray, \
         for example rayproject/ray:2.60.0",
    );
    let none = without.replace("image: rayproject/ray:2.60.0", "image: ''");
    assert_eq!(problems(&none).len(), 2);
}

#[test]
fn no_job_goes_into_a_namespace_of_kubernetes() {
    let text = MINIMAL.replace("namespace: research", "namespace: kube-system");
    refuses(
        &text,
        "metadata.namespace: belongs to Kubernetes, and no job may run there; write another namespace",
    );
    assert!(parse(&MINIMAL.replace("namespace: research", "namespace: kubeflow")).is_ok());
}
