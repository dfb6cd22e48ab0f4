//! What is read, from our own kinds and from Kueue's, and that everything written reads as it was.

#![allow(clippy::unwrap_used)]

use proptest::{collection::btree_map, option, prelude::*};

use super::*;
use crate::{
    placement::Toleration,
    quota::{FlavorQuota, ORDINARY, Policy, Quota, Resource, check::check, diff},
};

const OWN_FORM: &str = r#"
apiVersion: squadron.dev/v1
kind: Flavor
metadata: {name: h100}
spec:
  nodeLabels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, spot: "true"}
---
apiVersion: squadron.dev/v1
kind: Queue
metadata: {name: acme}
---
# A team.
apiVersion: squadron.dev/v1
kind: Queue
metadata: {name: acme/vision}
spec:
  parent: acme
  weight: 2.5
  flavors:
  - name: h100
    resources:
    - {name: gpu, nominalQuota: 8, borrowingLimit: 4, lendingLimit: 0}
    - {name: cpu, nominalQuota: 64.5}
    - {name: memory, nominalQuota: 1Ti}
---
apiVersion: squadron.dev/v1
kind: PriorityClass
metadata: {name: high}
spec: {value: 1000, description: "before a deadline"}
"#;

#[test]
fn own_kinds_are_read() {
    let declared = read(OWN_FORM).unwrap();
    assert_eq!(declared.documents, 4);
    assert_eq!(check(&declared.policy), []);
    assert_eq!(declared.policy.flavors[0].node_labels["spot"], "true");
    let vision = &declared.policy.queues[1];
    assert_eq!((vision.parent.as_deref(), vision.weight), (Some("acme"), 2_500));
    let quota = |resource| vision.quotas["h100"][&resource];
    let gpus = Quota { nominal: 8, borrowing_limit: Some(4), lending_limit: Some(0) };
    assert_eq!(quota(Resource::Gpu), gpus);
    assert_eq!((quota(Resource::Cpu).nominal, quota(Resource::Memory).nominal), (64_500, 1 << 40));
    let class = &declared.policy.priority_classes[0];
    assert_eq!((class.value, class.description.as_str()), (1_000, "before a deadline"));
}

#[test]
fn a_flavor_says_what_its_gpus_count_as() {
    let text = OWN_FORM.replace("spec:\n  nodeLabels", "spec:\n  weight: 2.5\n  nodeLabels");
    let weight = |text: &str| read(text).unwrap().policy.flavors[0].weight;
    assert_eq!((weight(&text), weight(OWN_FORM)), (2_500, ORDINARY));
}

const KUEUE_FORM: &str = r#"apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: spot-a100
spec:
  nodeLabels:
    instance-type: spot
  nodeTaints: []
  tolerations:
  - {key: spot, value: "true", effect: NoSchedule}
  - {key: maintenance, operator: Exists}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: research}
spec:
  parentName: all
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: spot-a100
      resources: [{name: nvidia.com/gpu, nominalQuota: "2"}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: team-a
  uid: 7e0e
  creationTimestamp: null
spec:
  cohort: research
  namespaceSelector: {}
  queueingStrategy: BestEffortFIFO
  stopPolicy: None
  flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: TryNextFlavor}
  preemption:
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: Never}
    withinClusterQueue: LowerOrNewerEqualPriority
  fairSharing: {weight: "2"}
  resourceGroups:
  - coveredResources: ["cpu", "memory", "nvidia.com/gpu"]
    flavors:
    - name: spot-a100
      resources:
      - name: cpu
        nominalQuota: 9
      - name: memory
        nominalQuota: 36Gi
      - name: nvidia.com/gpu
        nominalQuota: 6
        borrowingLimit: 2
        lendingLimit: 4
status: {pendingWorkloads: 3}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team-b}
spec:
  cohortName: research
  admissionChecksStrategy: {}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {namespace: team-a, name: user-queue}
spec: {clusterQueue: team-a, fairSharing: {weight: 500m}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: sample-priority}
value: 10000
description: "Sample priority"
"#;

#[test]
fn kinds_of_kueue_are_read() {
    let declared = read(KUEUE_FORM).unwrap();
    assert_eq!(declared.implied.keys().collect::<Vec<_>>(), ["all"]);
    let policy = declared.onto(&Policy::default(), false);
    assert_eq!(check(&policy), []);
    let tree: Vec<_> = policy
        .queues
        .iter()
        .map(|queue| (queue.name.as_str(), queue.parent.as_deref(), queue.weight))
        .collect();
    assert_eq!(
        tree,
        [
            ("all", None, 1_000),
            ("research", Some("all"), 1_000),
            ("team-a", Some("research"), 2_000),
            ("team-a/user-queue", Some("team-a"), 500),
            ("team-b", Some("research"), 1_000),
        ]
    );
    let quota = policy.queues[2].quotas["spot-a100"][&Resource::Gpu];
    assert_eq!(quota, Quota { nominal: 6, borrowing_limit: Some(2), lending_limit: Some(4) });
    let shown: Vec<String> = policy.flavors[0].tolerations.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["spot=true:NoSchedule", "maintenance"], "Equal where no operator is given");
    assert_eq!(policy.flavors[0].weight, ORDINARY, "Kueue's flavors have none");
    assert_eq!(policy.priority_classes[0].value, 10_000);
    let rules = crate::quota::Preemption {
        within: crate::quota::Within::LowerOrNewerEqualPriority,
        reclaim: crate::quota::Reclaim::Any,
    };
    let declared: Vec<_> = policy.queues.iter().map(|queue| queue.preemption).collect();
    assert_eq!(declared, [None, None, Some(rules), None, None]);
}

#[test]
fn a_list_as_kubectl_prints_it_is_read() {
    let one = |name: &str| {
        format!(
            "- {{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {{name: {name}}}, spec: {{cohort: c}}}}\n"
        )
    };
    let text = format!(
        "apiVersion: v1\nkind: List\nmetadata: {{resourceVersion: ''}}\nitems:\n{}{}",
        one("a"),
        one("b")
    );
    assert_eq!(read(&text).unwrap().policy.queues.len(), 2);
}

#[test]
fn empty_texts_declare_nothing() {
    for text in ["", "---\n", "# nothing\n", "---\n---\nnull\n"] {
        assert_eq!(read(text).unwrap().policy, Policy::default(), "{text:?}");
    }
}

#[test]
fn a_text_adds_and_changes_and_removes_only_when_it_is_everything() {
    let declared = read(OWN_FORM).unwrap();
    let mut current = Policy {
        queues: vec![crate::quota::Queue {
            name: "default".into(),
            parent: None,
            weight: 1_000,
            quotas: BTreeMap::new(),
            preemption: None,
        }],
        ..Policy::default()
    };
    let names = |policy: &Policy| policy.queues.iter().map(|queue| queue.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&declared.onto(&current, false)), ["acme", "acme/vision", "default"]);
    assert_eq!(
        names(&declared.onto(&current, true)),
        ["acme", "acme/vision", "default"],
        "it is always there"
    );
    current.queues[0].name = "research".into();
    assert_eq!(names(&declared.onto(&current, true)), ["acme", "acme/vision"]);
    current.queues[0].name = "acme".into();
    current.queues[0].weight = 7;
    assert_eq!(
        declared.onto(&current, false).queues[0].weight,
        1_000,
        "the text says everything about a thing"
    );
}

#[test]
fn an_implied_cohort_leaves_a_queue_of_its_name_as_it_is() {
    let declared = read(KUEUE_FORM).unwrap();
    let mut current = declared.onto(&Policy::default(), false);
    current.queues[0].weight = 7;
    for prune in [false, true] {
        assert_eq!(diff(&current, &declared.onto(&current, prune)), [], "prune {prune}");
    }
}

#[test]
fn faults_of_the_whole_are_told_with_their_line() {
    let declared = read(&OWN_FORM.replace("parent: acme\n", "parent: acem\n")).unwrap();
    let faults = check(&declared.onto(&Policy::default(), false));
    let problems = declared.problems(&faults);
    assert_eq!(problems[0].place, Some(Place { document: 3, line: 17 }));
    assert_eq!(problems[0].path, "queue acme/vision, parent");
    let declared = read(&OWN_FORM.replace("lendingLimit: 0", "lendingLimit: 9")).unwrap();
    let problems = declared.problems(&check(&declared.policy));
    assert_eq!(problems[0].place, Some(Place { document: 3, line: 22 }));
}

fn amounts() -> impl Strategy<Value = FlavorQuota> {
    let quota = (0i64..1 << 50, option::of(0i64..1 << 50), option::of(0i64..1 << 50)).prop_map(
        |(nominal, borrowing_limit, lending_limit)| Quota { nominal, borrowing_limit, lending_limit },
    );
    let resource = (0usize..3).prop_map(|index| Resource::ALL[index]);
    btree_map(resource, quota, 1..4)
}

fn toleration() -> impl Strategy<Value = Toleration> {
    let effect = prop_oneof![Just(""), Just("NoSchedule"), Just("NoExecute")];
    ("no|[a-z]{1,4}", option::of("no|1e3|[a-z]{0,3}"), effect).prop_map(|(key, value, effect)| Toleration {
        key,
        operator: if value.is_some() { "Equal" } else { "Exists" }.into(),
        value: value.unwrap_or_default(),
        effect: effect.into(),
    })
}

/// Policies with a tree whose parents come before their children, and names and texts that tempt a writer of YAML.
fn policies() -> impl Strategy<Value = Policy> {
    let name = prop_oneof![Just("no".to_owned()), Just("1e3".to_owned()), "[a-z0-9]{1,8}"];
    let labels = btree_map("[a-z]{1,6}", "[ -~]{0,8}", 0..3);
    let flavors = btree_map(
        name.clone(),
        (labels, proptest::collection::vec(toleration(), 0..3), 1u32..9_999_999),
        0..4,
    );
    let queues = btree_map(
        name.clone(),
        (
            any::<proptest::sample::Index>(),
            any::<bool>(),
            1u32..9_999_999,
            btree_map("[a-z0-9]{1,4}", amounts(), 0..3),
            option::of((0usize..3, 0usize..3)),
        ),
        0..8,
    );
    let classes =
        btree_map(name, (any::<i32>(), "\\PC{0,12}|[\\x00-\\x1f\\u{2028}\\u{feff}:#'\"]{0,6}"), 0..4);
    (flavors, queues, classes).prop_map(|(flavors, queues, classes)| {
        let names: Vec<String> = queues.keys().cloned().collect();
        let queues = queues.into_iter().enumerate().map(
            |(index, (name, (parent, is_root, weight, quotas, rules)))| {
                let parent = (index > 0 && !is_root).then(|| names[parent.index(index)].clone());
                let preemption = rules.map(|(within, reclaim)| crate::quota::Preemption {
                    within: crate::quota::Within::ALL[within],
                    reclaim: crate::quota::Reclaim::ALL[reclaim],
                });
                crate::quota::Queue { name, parent, weight, quotas, preemption }
            },
        );
        Policy {
            flavors: flavors
                .into_iter()
                .map(|(name, (node_labels, tolerations, weight))| crate::quota::Flavor {
                    name,
                    node_labels,
                    tolerations,
                    weight,
                })
                .collect(),
            queues: queues.collect(),
            priority_classes: classes
                .into_iter()
                .map(|(name, (value, description))| crate::quota::PriorityClass { name, value, description })
                .collect(),
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same_policy(policy in policies()) {
        let text = write(&policy);
        let declared = read(&text).map_err(|problems| TestCaseError::fail(format!("{problems:?}\n{text}")))?;
        prop_assert_eq!(diff(&policy, &declared.policy), []);
        prop_assert_eq!(declared.onto(&Policy::default(), true), policy);
    }

    /// Both ways: a text that is everything makes any policy its own, and the difference is empty exactly then.
    #[test]
    fn a_text_that_is_everything_reaches_its_policy_from_any_other((old, new) in (policies(), policies())) {
        let target = read(&write(&new)).unwrap().onto(&old, true);
        prop_assert_eq!(&target, &new);
        prop_assert_eq!(diff(&old, &new).is_empty(), old == new);
        let without_prune = read(&write(&new)).unwrap().onto(&old, false);
        prop_assert!(diff(&old, &without_prune).iter().all(|change| change.fate != crate::quota::Fate::Removed));
        prop_assert_eq!(read(&write(&new)).unwrap().onto(&without_prune, false), without_prune);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[-a-z:{}\\[\\],&*!#'\"|> \\n\\t?%~0-9]{0,200}") {
        let _ = read(&text);
    }
}
