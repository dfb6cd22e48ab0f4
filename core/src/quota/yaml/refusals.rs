//! The table of what is refused: a text, the line, and the reason.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::quota::{Policy, check::check};

/// Every problem of a text as `document:line path: problem`, those of the whole policy included.
fn problems(text: &str) -> Vec<String> {
    let found = match read(text) {
        Err(problems) => problems,
        Ok(declared) => {
            let faults = check(&declared.onto(&Policy::default(), false));
            declared.problems(&faults)
        }
    };
    let show = |problem: &Problem| {
        let place =
            problem.place.map(|place| format!("{}:{} ", place.document, place.line)).unwrap_or_default();
        format!("{place}{}: {}", problem.path, problem.problem)
    };
    found.iter().map(show).collect()
}

#[track_caller]
fn refuses(text: &str, expected: &[&str]) {
    let found = problems(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}\n  has not\n{expected}");
    }
}

fn queue(spec: &str) -> String {
    format!("apiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {{name: a}}\nspec:\n  {spec}\n")
}

fn cluster_queue(spec: &str) -> String {
    format!(
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {{name: cq}}\nspec:\n  {spec}\n"
    )
}

const FLAVOR: &str = "---\napiVersion: squadron.dev/v1\nkind: Flavor\nmetadata: {name: f}\n";

fn gpus(quota: &str) -> String {
    queue(&format!("flavors: [{{name: f, resources: [{{name: gpu, {quota}}}]}}]")) + FLAVOR
}

#[test]
fn trees_that_are_none() {
    let other = "---\napiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec:\n  parent: a\n";
    refuses(&(queue("parent: b") + other), &["1:5 queue a, parent: makes a circle: a → b → a"]);
    refuses(&queue("parent: a"), &["1:5 queue a, parent: is the queue itself"]);
    refuses(&queue("parent: root"), &["1:5 queue a, parent: there is no queue \"root\""]);
    refuses(
        &format!("{}---\n{}", queue("weight: 1"), queue("weight: 1")),
        &["2:9 Queue a, metadata.name: there is a queue of this name already, in line 3 (document 1)"],
    );
}

#[test]
fn amounts_that_cannot_be_counted() {
    refuses(&gpus("nominalQuota: -1"), &["1:5 queue a, quotas.f.gpu.nominalQuota: is -1, which is negative"]);
    refuses(
        &gpus("nominalQuota: 99999999999999999999"),
        &["1:5 Queue a, spec.flavors[0].resources[0].nominalQuota: "],
    );
    refuses(&gpus("nominalQuota: 1Zi"), &["is no Kubernetes quantity"]);
    refuses(&gpus("nominalQuota: 0.5"), &["is a part of a GPU"]);
    refuses(&gpus("nominalQuota: [1]"), &["must be a text"]);
    refuses(&gpus("borrowingLimit: 1"), &["nominalQuota: is missing"]);
    refuses(
        &gpus("nominalQuota: 1, borrowingLimit: 1"),
        &["borrowingLimit: has no meaning without a parent"],
    );
    let child = "---\napiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {parent: a, flavors: \
         [{name: f, resources: [{name: gpu, nominalQuota: 1}]}]}\n";
    refuses(
        &(gpus("nominalQuota: 9223372036854775807") + child),
        &["1:5 queue a, quotas.f.gpu.nominalQuota: with what stands below it"],
    );
    refuses(&queue("weight: 0"), &["1:5 queue a, weight: is 0"]);
    refuses(&queue("weight: -1"), &["\"-1\" is no weight"]);
    refuses(&queue("weight: lots"), &["\"lots\" is no weight"]);
    let flavor = |weight: &str| format!("{}spec:\n  weight: {weight}\n", &FLAVOR[4..]);
    refuses(
        &flavor("0"),
        &["1:5 flavor f, weight: is 0, which would make its use free; write 0.001 or more"],
    );
    refuses(&flavor("1000000.001"), &["1:5 flavor f, weight: is greater than 1000000"]);
    for none in ["-1", "dear", "99999999999999999999"] {
        refuses(
            &flavor(none),
            &[&format!("1:5 Flavor f, spec.weight: \"{none}\" is no weight; write for example")],
        );
    }
}

#[test]
fn names_that_are_unknown_or_bad() {
    let spec = "flavors:\n  - name: h10O\n    resources: [{name: gpu, nominalQuota: 1}]";
    let flavor = FLAVOR.replace("name: f", "name: h100");
    refuses(
        &(queue(spec) + &flavor),
        &["1:6 queue a, quotas.h10O: there is no flavor \"h10O\"; did you mean \"h100\"?"],
    );
    refuses(
        &queue("parrent: b"),
        &["1:5 Queue a, spec.parrent: is no field that is read here; did you mean parent?"],
    );
    refuses(
        &queue("weight: 1").replace("name: a", "name: A_b"),
        &["queue A_b, name: must be '/'-separated parts"],
    );
    refuses(&queue("weight: 1").replace("{name: a}", "{}"), &["metadata.name: is missing"]);
    refuses(
        &queue("weight: 1").replace("Queue", "Quue"),
        &[
            "1:2 kind: is \"Quue\", which is no policy; squadron.dev/v1 has Flavor, Queue, PriorityClass; did you mean Queue?",
        ],
    );
    refuses(
        &queue("weight: 1").replace("dev/v1", "dev/v2"),
        &["1:1 apiVersion: is \"squadron.dev/v2\"; write squadron.dev/v1"],
    );
    refuses("- a\n", &["1:1 : must be a map with apiVersion, kind and metadata"]);
    let bytes = "flavors: [{name: f, resources: [{name: ephemeral-storage, nominalQuota: 1}]}]";
    refuses(&(queue(bytes) + FLAVOR), &["\"ephemeral-storage\" is not counted here"]);
    let twice = "flavors: [{name: f, resources: [{name: gpu, nominalQuota: 1}, {name: amd.com/gpu, nominalQuota: 1}]}]";
    refuses(&(queue(twice) + FLAVOR), &["is counted together with gpu, which has a quota already"]);
}

#[test]
fn fields_of_kueue_that_cannot_be_honoured() {
    for (spec, path, reason) in [
        ("queueingStrategy: StrictFIFO", "spec.queueingStrategy", "is \"StrictFIFO\" and cannot be honoured"),
        ("namespaceSelector: {matchLabels: {a: b}}", "spec.namespaceSelector", "decided by roles"),
        ("stopPolicy: Hold", "spec.stopPolicy", "queues cannot be stopped"),
        ("admissionChecks: [prov]", "spec.admissionChecks", "without further checks"),
        (
            "preemption: {reclaimWithinCohort: Always}",
            "spec.preemption.reclaimWithinCohort",
            "is \"Always\"; write one of Never, LowerPriority, Any",
        ),
        (
            "preemption: {withinClusterQueue: Any}",
            "spec.preemption.withinClusterQueue",
            "write one of Never, LowerPriority, LowerOrNewerEqualPriority",
        ),
        (
            "preemption: {borrowWithinCohort: {policy: LowerPriority}}",
            "spec.preemption.borrowWithinCohort.policy",
            "write Never",
        ),
        (
            "flavorFungibility: {whenCanBorrow: TryNextFlavor}",
            "spec.flavorFungibility.whenCanBorrow",
            "no order",
        ),
        ("admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}", "spec.admissionScope", "alike"),
        ("cohortName: c", "spec.cohortName", "did you mean"),
        ("resourceGroup: []", "spec.resourceGroup", "did you mean resourceGroups?"),
        ("preemption: {within: Never}", "spec.preemption.within", "is no field that is read here"),
    ] {
        refuses(&cluster_queue(spec), &[&format!("1:5 ClusterQueue cq, {path}: ")]);
        refuses(&cluster_queue(spec), &[reason]);
    }
    let flavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\nspec:\n  ";
    refuses(
        &format!("{flavor}nodeTaints: [{{key: a, effect: NoSchedule}}]\n"),
        &["1:5 ResourceFlavor f, spec.nodeTaints: cannot be honoured"],
    );
    for (toleration, problem) in [
        (
            "{key: a, tolerationSeconds: 60}",
            "spec.tolerations[0].tolerationSeconds: is \"60\" and cannot be honoured: a job",
        ),
        (
            "{key: a, effects: NoExecute}",
            "spec.tolerations[0].effects: is no field that is read here; did you mean effect?",
        ),
        (
            "{key: a, operator: Equals}",
            "1:5 flavor f, tolerations[0]: has the operator \"Equals\"; write Equal or Exists",
        ),
        ("{key: a, effect: Never}", "flavor f, tolerations[0]: has the effect \"Never\"; write NoSchedule, "),
        (
            "{key: a, operator: Exists, value: b}",
            "flavor f, tolerations[0]: a has a value, which Exists does not look at",
        ),
        ("{value: b}", "flavor f, tolerations[0]: =b names no taint; write a key"),
        ("{key: a b}", "flavor f, tolerations[0]: a b= names no taint"),
    ] {
        refuses(&format!("{flavor}tolerations: [{toleration}]\n"), &[problem]);
    }
    refuses(
        &format!("{flavor}weight: 2\n"),
        &["1:5 ResourceFlavor f, spec.weight: is no field that is read here"],
    );
    refuses(&format!("{flavor}topologyName: t\n"), &["spec.topologyName: is \"t\" and cannot be honoured"]);
}

#[test]
fn objects_of_kueue_that_do_not_fit() {
    let group = "resourceGroups:\n  - coveredResources: [cpu, memory]\n    flavors:\n    - {name: f, resources: [{name: cpu, nominalQuota: 1}]}";
    refuses(
        &(cluster_queue(group) + FLAVOR),
        &[
            "1:8 ClusterQueue cq, spec.resourceGroups[0].flavors[0].resources: has quotas for cpu, but the group covers cpu and memory",
        ],
    );
    let check = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: AdmissionCheck\nmetadata: {name: c}\n";
    refuses(check, &["1:2 kind: is \"AdmissionCheck\", which is no policy"]);
    refuses(
        &cluster_queue("cohort: c").replace("v1beta1", "v1alpha1"),
        &["of Kueue v1beta1 and v1beta2 are read"],
    );
    let local =
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {namespace: n, name: q}\nspec: {}\n";
    refuses(local, &["LocalQueue q, spec.clusterQueue: is missing"]);
    refuses(
        &local.replace("{}", "{clusterQueue: gone}"),
        &["1:4 queue n/q, parent: there is no queue \"gone\""],
    );
    let class = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: WorkloadPriorityClass\nmetadata: {name: p}\nvalue: 99999999999\n";
    refuses(class, &["1:4 WorkloadPriorityClass p, value: \"99999999999\" is no priority"]);
}

#[test]
fn hostile_yaml() {
    refuses("a: &x [1]\nb: *x\n", &["1:2 : aliases (*…) are not read"]);
    let bomb =
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n";
    refuses(bomb, &["1:2 : aliases (*…) are not read"]);
    refuses("kind: Queue\nkind: Flavor\n", &["1:2 : the key \"kind\" is given twice, first in line 1"]);
    refuses("a:\n\t- b\n", &["1:2 : cannot be read as YAML"]);
    refuses("a: !!binary aGk=\n", &["1:1 : tags (!…) are not read"]);
    refuses("? [a]\n: b\n", &["1:1 : a key must be a plain text"]);
    refuses("%YAML 1.1\n---\na: b\n", &["1:1 : cannot be read as YAML"]);
    refuses("a: [b\n", &["cannot be read as YAML"]);
    refuses(&("[".repeat(500) + &"]".repeat(500)), &["1:1 : "]);
    refuses(&"a: ".repeat(3), &["1:1 : cannot be read as YAML"]);
    refuses(
        &format!("a: {}", "x".repeat(LONGEST)),
        &[": is 1025 KiB long; a policy may have 1024 KiB at most"],
    );
    refuses(&format!("a: {}", "x".repeat(LONGEST - 3)), &["a value is longer than 262144 characters"]);
    refuses(&format!("[{}]", "1,".repeat(LONGEST / 2 - 2)), &["has too many values or levels"]);
    refuses(&"--- a\n".repeat(10_001), &["there are more than 10000 documents"]);
    let mut expected = vec!["is \"\"; write squadron.dev/v1"; 50];
    expected.push("the text: has 51 more problems, which are not shown");
    refuses(&"a: b\n---\n".repeat(101), &expected);
    assert!(problems(&"a: b\n---\n".repeat(101))[49].starts_with("50:99 "), "told by place");
}

#[test]
fn a_cohort_that_is_only_named_is_told_where_it_is_named() {
    refuses(&cluster_queue("cohort: Not A Name"), &["1:5 queue Not A Name, name: "]);
}

#[test]
fn kueues_commonest_set_is_read() {
    let flavor = |name: &str, spec: &str| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {{name: {name}}}\n{spec}---\n"
        )
    };
    let text = flavor("default-flavor", "") + &flavor("gpu-a100", "spec: {nodeLabels: {gpu: a100}}\n");
    refuses(&text, &[]);
}

#[test]
fn long_names_are_not_repeated_by_every_fault() {
    let flavors: Vec<String> = (0..20_000).map(|number| format!("{{name: a{number}}}")).collect();
    let name = "A".repeat(200_000);
    let text = format!(
        "apiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {{name: {name}}}\nspec: {{flavors: [{}]}}\n",
        flavors.join(", ")
    );
    refuses(&text, &["metadata.name: is longer than 4096 bytes"]);
    refuses(&text.replace(&name, &name[..600]), &["metadata.name: is longer than 507 bytes"]);
}

#[test]
fn names_that_a_group_covers_are_not_all_repeated() {
    let many = |count: usize, form: fn(usize) -> String| (0..count).map(form).collect::<Vec<_>>().join(", ");
    let group = format!(
        "resourceGroups: [{{coveredResources: [{}], flavors: [{}]}}]",
        many(5_000, |number| format!("r{number}")),
        many(40, |number| format!("{{name: f{number}, resources: []}}"))
    );
    let found = problems(&cluster_queue(&group));
    assert_eq!(found.len(), 40);
    assert!(found[0].contains("and 4990 more") && found[0].len() < 500, "{}", found[0]);
}

#[test]
fn what_kubectl_keeps_in_an_annotation_is_passed_over() {
    let kept = "x".repeat(200_000);
    let text = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\n";
    refuses(&format!("{text}metadata: {{name: a, annotations: {{kubectl: {kept}}}}}\n"), &[]);
}

#[test]
fn a_thousand_wrong_names_cost_no_thousand_times_a_thousand_guesses() {
    let one = |index: usize| {
        format!(
            "---\napiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {{name: queue-with-a-long-name-{index}}}\n\
             spec: {{parent: queue-with-a-wrong-name-{index}}}\n"
        )
    };
    let text: String = (0..5_000).map(one).collect();
    let found = problems(&text);
    assert_eq!(found.len(), 51);
    let guesses = found.iter().filter(|problem| problem.contains("did you mean")).count();
    assert!(guesses <= 10, "{guesses}");
}
