//! The way from a decision to the manifest, on nodes as clouds label and taint them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use squadron_core::{
    desired,
    dispatch::{Bound, Cluster, GangPart, Input, Node, Shape, Standing, plan, quota::lift},
    id::{ClusterId, JobId},
    placement::{Face, Taint},
    preference::Preferences,
    quota::{Flavor, FlavorQuota, Policy, Queue, Quota, Resource},
    resources::Resources,
    time::Timestamp,
};

use super::*;
use crate::manifest::parse;

/// A job whose workers ask for GPUs and whose head does not.
fn job(gpus: u32, template: &Value) -> String {
    let container =
        |resources: Value| json!({"name": "ray", "image": "rayproject/ray:2.60.0", "resources": resources});
    let limits = if gpus > 0 { json!({"cpu": "1", "nvidia.com/gpu": gpus}) } else { json!({"cpu": "1"}) };
    let mut worker = template.clone();
    worker["containers"] = json!([container(json!({"limits": limits, "requests": limits}))]);
    json!({
        "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"},
        "spec": {"entrypoint": "python train.py", "rayClusterSpec": {"rayVersion": "2.60.0",
            "headGroupSpec": {"template": {"spec": {"containers": [container(json!({}))]}}},
            "workerGroupSpecs": [{"groupName": "gpus", "replicas": 2, "minReplicas": 2, "maxReplicas": 2,
                "template": {"spec": worker}}]}}})
    .to_string()
}

type Labels<'a> = &'a [(&'a str, &'a str)];

fn labels(pairs: Labels<'_>) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn flavor(name: &str, pairs: Labels<'_>) -> Flavor {
    Flavor { name: name.to_owned(), node_labels: labels(pairs), ..Flavor::default() }
}

fn node(name: &str, pairs: Labels<'_>, taints: Labels<'_>) -> Node {
    let taint = |(key, value): &(&str, &str)| Taint {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    let face = Face { labels: labels(pairs), taints: taints.iter().map(taint).collect(), ..Face::default() };
    let allocatable = Resources { cpu_milli: 64_000, memory_bytes: 256 << 30, gpus: 8 };
    Node { name: name.to_owned(), usable: true, allocatable, face }
}

/// A queue that may use this flavor, and for what has no GPU the flavor `cpu`.
fn team(of: &str) -> Queue {
    let quota = Quota { nominal: 1 << 50, ..Quota::default() };
    let all: FlavorQuota = [Resource::Cpu, Resource::Memory, Resource::Gpu].map(|one| (one, quota)).into();
    let quotas = [of, "cpu"].map(|name| (name.to_owned(), all.clone())).into();
    Queue { name: "team".to_owned(), parent: None, weight: 1_000, quotas, preemption: None }
}

fn decided(manifest: &str, mut flavors: Vec<Flavor>, mut nodes: Vec<Node>, of: &str) -> Bound {
    flavors.push(flavor("cpu", &[("pool", "cpu")]));
    nodes.push(node("z", &[("pool", "cpu")], &[]));
    nodes.iter_mut().for_each(|node| node.allocatable.gpus = if node.name == "z" { 0 } else { 8 });
    let gang = parse(manifest).unwrap().gang.into_iter().map(|member| GangPart {
        role: member.role,
        count: member.count,
        most: member.most,
        requests: member.requests,
        wish: member.wish,
    });
    let (gang, preferences, program) = (gang.collect(), Preferences::default(), String::new());
    let manifest = desired::rounded(0);
    let shape = Shape { priority: 0, pinned: None, manifest, gang, preferences, program };
    let id = JobId("0196f0a0-0000-7000-8000-000000000001".parse().unwrap());
    let waiting = shape.waiting(id, "train".to_owned(), "team".to_owned(), Timestamp(0));
    let east = Cluster {
        id: ClusterId("0196f0a0-0000-7000-8000-0000000000c1".parse().unwrap()),
        name: "east".to_owned(),
        standing: Standing::Heard,
        labels: BTreeMap::new(),
        nodes,
        pods: Vec::new(),
        attempts: Vec::new(),
        leaving: Vec::new(),
        set: desired::Size::default(),
    };
    let policy = Policy { flavors, queues: vec![team(of)], priority_classes: Vec::new() };
    let mut input = Input { clusters: vec![east], waiting: vec![waiting], policy, ..Input::default() };
    lift(&mut input.clusters, &input.policy);
    let mut plan = plan(&input);
    assert_eq!(plan.assign.len(), 1, "{:?}", plan.blocked);
    plan.assign.remove(0).bound
}

/// What the spec of the workers' template says besides its containers, once it is bound.
fn golden(flavors: &[Flavor], nodes: &[Node], of: &str) -> Value {
    let plain = job(1, &json!({}));
    let bound = in_text(plain.clone(), &decided(&plain, flavors.to_vec(), nodes.to_vec(), of));
    let (before, mut after): (Value, Value) =
        (serde_json::from_str(&plain).unwrap(), serde_json::from_str(&bound).unwrap());
    let spec = after.pointer_mut("/spec/rayClusterSpec/workerGroupSpecs/0/template/spec").unwrap();
    let said = spec.as_object_mut().unwrap();
    let added = json!({"affinity": said.remove("affinity"), "tolerations": said.remove("tolerations")});
    assert_eq!(after, before, "nothing else is different");
    added
}

fn requires(terms: &Value, tolerations: &Value) -> Value {
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
    json!({"affinity": {"nodeAffinity": required}, "tolerations": tolerations})
}

fn says(key: &str, operator: &str, value: &str) -> Value {
    json!({"key": key, "operator": operator, "values": [value]})
}

fn tolerates(key: &str, value: &str) -> Value {
    json!({"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"})
}

#[test]
fn gke() {
    let (model, spot) =
        (("cloud.google.com/gke-accelerator", "nvidia-h100-80gb"), ("cloud.google.com/gke-spot", "true"));
    let gpu = ("nvidia.com/gpu", "present");
    let flavors = [flavor("h100-spot", &[model, spot]), flavor("h100-standard", &[model])];
    let nodes = [node("a", &[model], &[gpu]), node("b", &[model, spot], &[gpu, spot])];
    let model = says(model.0, "In", model.1);
    assert_eq!(
        golden(&flavors, &nodes, "h100-standard"),
        requires(
            &json!([{"matchExpressions": [model, says(spot.0, "NotIn", "true")]}]),
            &json!([tolerates("nvidia.com/gpu", "present")])
        )
    );
    assert_eq!(
        golden(&flavors, &nodes, "h100-spot"),
        requires(
            &json!([{"matchExpressions": [model, says(spot.0, "In", "true")]}]),
            &json!([tolerates(spot.0, "true"), tolerates("nvidia.com/gpu", "present")])
        )
    );
}

#[test]
fn eks_with_karpenter() {
    let model = ("karpenter.k8s.aws/instance-gpu-name", "h100");
    let market = |market| ("karpenter.sh/capacity-type", market);
    let flavors = ["on-demand", "spot"].map(|kind| flavor(&format!("h100-{kind}"), &[model, market(kind)]));
    let nodes = [node("a", &[model, market("on-demand")], &[]), node("b", &[model, market("spot")], &[])];
    for kind in ["on-demand", "spot"] {
        let all = json!([says(model.0, "In", model.1), says("karpenter.sh/capacity-type", "In", kind)]);
        assert_eq!(
            golden(&flavors, &nodes, &format!("h100-{kind}")),
            requires(&json!([{"matchExpressions": all}]), &Value::Null)
        );
    }
}

#[test]
fn aks() {
    let (model, spot) =
        (("kubernetes.azure.com/accelerator", "nvidia"), ("kubernetes.azure.com/scalesetpriority", "spot"));
    let flavors = [flavor("gpu-spot", &[model, spot])];
    let nodes = [node("a", &[model, spot], &[spot])];
    let all = json!([says(model.0, "In", "nvidia"), says(spot.0, "In", "spot")]);
    assert_eq!(
        golden(&flavors, &nodes, "gpu-spot"),
        requires(&json!([{"matchExpressions": all}]), &json!([tolerates(spot.0, "spot")]))
    );
}

#[test]
fn labels_of_nvidia_alone() {
    let model = |product| ("nvidia.com/gpu.product", product);
    let flavors = [flavor("a100", &[model("NVIDIA-A100")]), flavor("h100", &[model("NVIDIA-H100")])];
    let nodes = [node("a", &[model("NVIDIA-A100")], &[]), node("b", &[model("NVIDIA-H100")], &[])];
    let all = json!([says("nvidia.com/gpu.product", "In", "NVIDIA-H100")]);
    assert_eq!(
        golden(&flavors, &nodes, "h100"),
        requires(&json!([{"matchExpressions": all}]), &Value::Null),
        "other models need no exclusion"
    );
}

#[test]
fn a_fleet_without_gpus_and_an_attempt_of_before_keep_their_text_byte_for_byte() {
    let text = job(0, &json!({})).replace(":{", ": {");
    let bound = decided(&text, Vec::new(), Vec::new(), "cpu");
    assert_eq!(bound, Bound::new());
    assert_eq!(in_text(text.clone(), &bound), text);
}

#[test]
fn what_a_template_says_stays_beside_what_was_decided() {
    let own = json!({"key": "rack", "operator": "Exists"});
    let field = json!({"key": "metadata.name", "operator": "In", "values": ["b"]});
    let tolerates_all = json!({"operator": "Exists"});
    let template = json!({
        "nodeSelector": {"pool": "gpu"},
        "affinity": {"podAffinity": {}, "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [own]}, {"matchFields": [field]}, {}]}}},
        "tolerations": [tolerates_all],
    });
    let wish = NodeWish {
        affinity: vec![vec![Requirement {
            key: "gpu".into(),
            operator: "In".into(),
            values: vec!["h100".into()],
        }]],
        tolerations: vec![Toleration { key: "a".into(), operator: "Exists".into(), ..Toleration::default() }],
        ..NodeWish::default()
    };
    let bound = in_text(job(1, &template), &[("gpus".to_owned(), wish)].into());
    let bound: Value = serde_json::from_str(&bound).unwrap();
    let spec = &bound.pointer("/spec/rayClusterSpec/workerGroupSpecs/0/template/spec").unwrap();
    assert_eq!(spec["nodeSelector"], json!({"pool": "gpu"}));
    assert_eq!(spec["tolerations"], json!([tolerates_all, {"key": "a", "operator": "Exists"}]));
    assert_eq!(spec["affinity"]["podAffinity"], json!({}));
    let gpu = says("gpu", "In", "h100");
    assert_eq!(
        spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"],
        json!([{"matchExpressions": [own, gpu]}, {"matchFields": [field], "matchExpressions": [gpu]}, {}]),
        "the last matches no node, before and after"
    );
}

#[test]
fn head_and_submitter_are_bound_by_their_roles_and_odd_shapes_stay() {
    let wish = NodeWish {
        affinity: vec![vec![Requirement {
            key: "gpu".into(),
            operator: "In".into(),
            values: vec!["h100".into()],
        }]],
        ..NodeWish::default()
    };
    let bound: Bound = ["head", "submitter", "w"].map(|role| (role.to_owned(), wish.clone())).into();
    let manifest = json!({"spec": {"submitterPodTemplate": {"spec": {}}, "rayClusterSpec":
        {"headGroupSpec": {"template": {"spec": {}}}, "workerGroupSpecs": [{"groupName": "w"}, 5]}}});
    let made: Value = serde_json::from_str(&in_text(manifest.to_string(), &bound)).unwrap();
    for path in ["/spec/submitterPodTemplate", "/spec/rayClusterSpec/headGroupSpec/template"] {
        assert!(made.pointer(path).unwrap()["spec"]["affinity"].is_object(), "{path}");
    }
    assert_eq!(
        made.pointer("/spec/rayClusterSpec/workerGroupSpecs"),
        manifest.pointer("/spec/rayClusterSpec/workerGroupSpecs")
    );
    let odd = json!({"spec": {"submitterPodTemplate": null, "rayClusterSpec": "none"}}).to_string();
    assert_eq!(in_text(odd.clone(), &bound), odd);
    assert_eq!(in_text("{".to_owned(), &bound), "{");
}
