//! Policies with one fault each, and one without.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::quota::{Flavor, Quota, Resource};

fn flavor(name: &str, labels: &[(&str, &str)]) -> Flavor {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Flavor { name: name.to_owned(), node_labels: labels.collect(), ..Flavor::default() }
}

fn queue(name: &str, parent: Option<&str>) -> Queue {
    Queue {
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        weight: 1_000,
        quotas: BTreeMap::new(),
        preemption: None,
    }
}

fn with(queue: Queue, flavor: &str, resource: Resource, quota: Quota) -> Queue {
    let mut queue = queue;
    queue.quotas.entry(flavor.to_owned()).or_default().insert(resource, quota);
    queue
}

fn gpus(nominal: i64) -> Quota {
    Quota { nominal, ..Quota::default() }
}

fn sound() -> Policy {
    Policy {
        flavors: vec![flavor("a100", &[("gpu", "a100")]), flavor("h100", &[("gpu", "h100")])],
        queues: vec![
            with(queue("acme", None), "h100", Resource::Gpu, gpus(2)),
            with(
                queue("acme/text", Some("acme")),
                "h100",
                Resource::Gpu,
                Quota { nominal: 8, borrowing_limit: Some(0), lending_limit: Some(8) },
            ),
            queue("lab", None),
        ],
        priority_classes: vec![PriorityClass { name: "high".into(), value: 10, description: "now".into() }],
    }
}

/// The faults of the sound policy after one edit.
fn faults(edit: impl FnOnce(&mut Policy)) -> Vec<String> {
    let mut policy = sound();
    edit(&mut policy);
    check(&policy).iter().map(ToString::to_string).collect()
}

#[test]
fn a_sound_policy_and_an_empty_one_have_no_fault() {
    assert_eq!(faults(|_| {}), [""; 0]);
    assert_eq!(check(&Policy::default()), []);
}

#[test]
fn circles_are_told_once_with_their_path() {
    let circle = faults(|policy| {
        policy.queues =
            vec![queue("c", Some("a")), queue("b", Some("c")), queue("a", Some("b")), queue("x", Some("a"))];
    });
    assert_eq!(
        circle,
        ["queue a, parent: makes a circle: a → b → c → a; one of these must have another parent or none"]
    );
    let own = faults(|policy| policy.queues[2].parent = Some("lab".into()));
    assert_eq!(own, ["queue lab, parent: is the queue itself; leave it out for a root"]);
}

#[test]
fn what_does_not_exist_is_named_with_what_was_meant() {
    let parent = faults(|policy| policy.queues[1].parent = Some("acem".into()));
    assert_eq!(parent, ["queue acme/text, parent: there is no queue \"acem\"; did you mean \"acme\"?"]);
    let flavor = faults(|policy| {
        let quota = policy.queues[0].quotas.remove("h100").unwrap();
        policy.queues[0].quotas.insert("h10".into(), quota);
    });
    assert_eq!(flavor, ["queue acme, quotas.h10: there is no flavor \"h10\"; did you mean \"h100\"?"]);
}

#[test]
fn duplicates_and_bad_names_are_refused() {
    let twice = faults(|policy| {
        policy.queues.push(queue("lab", None));
        policy.flavors.push(flavor("h100", &[("gpu", "h100")]));
        policy.priority_classes.push(policy.priority_classes[0].clone());
    });
    assert_eq!(
        twice,
        [
            "flavor h100: stands there 2 times",
            "queue lab: stands there 2 times",
            "priority class high: stands there 2 times"
        ]
    );
    let names = faults(|policy| {
        policy.queues[2].name = "Lab".into();
        policy.priority_classes[0].name = String::new();
        policy.flavors[0].name = "a_100".into();
    });
    assert_eq!(names.len(), 3, "{names:?}");
    let labels = faults(|policy| policy.flavors[0].node_labels = [("a b".into(), "c".into())].into());
    assert_eq!(
        labels,
        ["flavor a100, nodeLabels.a b: \"a b\" with the value \"c\" is no label of Kubernetes"]
    );
}

#[test]
fn amounts_are_not_negative_and_add_up() {
    let negative =
        faults(|policy| policy.queues[2] = with(queue("lab", None), "a100", Resource::Gpu, gpus(-1)));
    assert_eq!(negative, ["queue lab, quotas.a100.gpu.nominalQuota: is -1, which is negative"]);
    let huge = faults(|policy| {
        policy.queues[0] = with(queue("acme", None), "h100", Resource::Gpu, gpus(i64::MAX));
    });
    assert_eq!(
        huge,
        [
            "queue acme, quotas.h100.gpu.nominalQuota: with what stands below it, and what it may borrow, is more than can be \
          counted"
        ]
    );
    let borrowed = faults(|policy| {
        let quota = Quota { nominal: 1, borrowing_limit: Some(i64::MAX), lending_limit: None };
        policy.queues[1] = with(queue("acme/text", Some("acme")), "h100", Resource::Gpu, quota);
    });
    assert_eq!(borrowed.len(), 1, "{borrowed:?}");
}

#[test]
fn limits_without_meaning_are_refused() {
    let root = faults(|policy| {
        let quota = Quota { nominal: 1, borrowing_limit: Some(1), lending_limit: None };
        policy.queues[2] = with(queue("lab", None), "a100", Resource::Gpu, quota);
    });
    assert_eq!(
        root,
        [
            "queue lab, quotas.a100.gpu.borrowingLimit: has no meaning without a parent: nobody is there to borrow from or \
          to lend to"
        ]
    );
    let lends = faults(|policy| {
        let quota = Quota { nominal: 8, borrowing_limit: None, lending_limit: Some(9) };
        policy.queues[1] = with(queue("acme/text", Some("acme")), "h100", Resource::Gpu, quota);
    });
    assert_eq!(
        lends,
        [
            "queue acme/text, quotas.h100.gpu.lendingLimit: limits nothing: the queue has 8 to lend at most; write less, or \
          leave it out"
        ]
    );
    let empty = faults(|policy| {
        policy.queues[2].quotas.insert("a100".into(), BTreeMap::new());
    });
    assert_eq!(
        empty,
        ["queue lab, quotas.a100: names no resource; write cpu, memory or gpu, or leave it out"]
    );
}

#[test]
fn weights_and_flavors_that_could_never_count_are_refused() {
    let weight = faults(|policy| policy.queues[0].weight = 0);
    assert_eq!(
        weight,
        [
            "queue acme, weight: is 0, which would never get a share; write 0.001 or more, or leave it out for 1"
        ]
    );
    let flavors = faults(|policy| {
        policy.flavors[0].weight = 0;
        policy.flavors[1].weight = MOST_WEIGHT + 1;
    });
    assert_eq!(
        flavors,
        [
            "flavor a100, weight: is 0, which would make its use free; write 0.001 or more, or leave it out for 1",
            "flavor h100, weight: is greater than 1000000"
        ]
    );
    assert_eq!(faults(|policy| policy.flavors.push(flavor("any", &[]))), [""; 0]);
    let twins = faults(|policy| policy.flavors.extend([flavor("any", &[]), flavor("other", &[])]));
    assert_eq!(twins.len(), 1, "{twins:?}");
    assert!(
        twins[0].starts_with("flavor other, nodeLabels: is the flavor of no node: any has "),
        "{twins:?}"
    );
}

#[test]
fn depth_and_numbers_are_bounded() {
    let chain = |length: usize| -> Vec<Queue> {
        (0..length)
            .map(|index| {
                queue(&format!("q{index}"), (index > 0).then(|| format!("q{}", index - 1)).as_deref())
            })
            .collect()
    };
    assert_eq!(faults(|policy| policy.queues = chain(MOST_DEPTH)), [""; 0]);
    assert_eq!(faults(|policy| policy.queues = chain(MOST_DEPTH + 1)).len(), 1);
    let many = faults(|policy| policy.queues = chain(MOST_QUEUES + 1));
    assert_eq!(many, ["queues: 5001 are too many; the most is 5000"]);
}
