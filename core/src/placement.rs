//! Placement: which nodes a pod accepts and which accept it, by labels and taints, as kube-scheduler judges.
//!
//! Owns the meaning of node selectors, required node affinity, taints and tolerations. Invariant: a node that the
//! scheduler would take for its labels and taints is never refused here. What cannot be judged from what is stored
//! (labels that an agent did not tell, operators of a later Kubernetes, fields of a node) counts as matching, but for a
//! job that excludes spot. Fails towards trying: the cluster's own scheduler has the last word, and its refusal is told as
//! UNSCHEDULABLE.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::resources::is_gpu;

/// The label by which nodes tell their region.
pub const REGION_LABEL: &str = "topology.kubernetes.io/region";

/// The label by which nodes tell their zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Labels that name the GPU model of a node, most telling first.
const GPU_MODEL_LABELS: [&str; 4] = [
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "amd.com/gpu.product-name",
    "gpu.intel.com/product",
];

/// Labels that mark nodes which their owner can take away at any time.
pub const SPOT_LABELS: [(&str, &str); 7] = [
    ("squadron.dev/market", "spot"),
    ("karpenter.sh/capacity-type", "spot"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
];

/// Labels by name.
pub type Labels = BTreeMap<String, String>;

/// A taint that keeps pods away. One that only advises (`PreferNoSchedule`) is not kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Taint {
    pub key: String,
    pub value: String,
    /// `NoSchedule` or `NoExecute`.
    pub effect: String,
}

/// What a pod puts up with. Empty fields are as Kubernetes reads them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Toleration {
    /// Empty with `Exists`: every taint.
    pub key: String,
    /// `Equal` if empty.
    pub operator: String,
    pub value: String,
    /// Empty: every effect.
    pub effect: String,
}

/// One expression over a label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Requirement {
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    pub operator: String,
    pub values: Vec<String>,
}

/// What a pod's template says about nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeWish {
    /// `nodeSelector`: all of them.
    pub labels: Labels,
    /// Required node affinity: all expressions of any one term; nothing is required if there is no term.
    pub affinity: Vec<Vec<Requirement>>,
    pub tolerations: Vec<Toleration>,
    /// Nodes that their owner can take away at any time will not do, nor those of which that is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_spot: bool,
}

/// A node as pods look at it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Face {
    /// Empty where the agent did not tell them: every node of Kubernetes has labels.
    pub labels: Labels,
    pub taints: Vec<Taint>,
}

impl Face {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The region that it reports.
    pub fn region(&self) -> Option<&str> {
        self.label(REGION_LABEL)
    }

    /// The zone that it reports.
    pub fn zone(&self) -> Option<&str> {
        self.label(ZONE_LABEL)
    }

    /// The GPU model that it reports; empty for none.
    pub fn gpu_model(&self) -> &str {
        GPU_MODEL_LABELS.iter().find_map(|name| self.label(name)).unwrap_or_default()
    }

    /// Whether its owner can take it away at any time. A node without labels was not told, so it may be.
    pub fn may_be_spot(&self) -> bool {
        self.labels.is_empty() || SPOT_LABELS.iter().any(|(name, value)| self.label(name) == Some(value))
    }
}

impl Taint {
    /// Whether Kubernetes sets it for a condition of the node, so that it comes and goes by itself.
    pub fn is_condition(&self) -> bool {
        self.key.starts_with("node.kubernetes.io/")
            || self.key.starts_with("node.cloudprovider.kubernetes.io/")
    }
}

impl std::fmt::Display for Taint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.value.as_str() {
            "" => write!(f, "{}:{}", self.key, self.effect),
            value => write!(f, "{}={value}:{}", self.key, self.effect),
        }
    }
}

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        let key = self.key.is_empty() || self.key == taint.key;
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        key && effect
            && match self.operator.as_str() {
                "" | "Equal" => !self.key.is_empty() && self.value == taint.value,
                _ => true,
            }
    }
}

impl Requirement {
    fn holds(&self, labels: &Labels) -> bool {
        let found = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => found.is_some_and(|value| self.values.contains(value)),
            "NotIn" => found.is_none_or(|value| !self.values.contains(value)),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            "Gt" => self.compare(found).is_some_and(|(has, limit)| has > limit),
            "Lt" => self.compare(found).is_some_and(|(has, limit)| has < limit),
            _ => true,
        }
    }

    fn compare(&self, found: Option<&String>) -> Option<(i64, i64)> {
        Some((found?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.values.as_slice() {
            [] => write!(f, "{} {}", self.key, self.operator),
            values => write!(f, "{} {} [{}]", self.key, self.operator, values.join(", ")),
        }
    }
}

impl NodeWish {
    pub fn is_empty(&self) -> bool {
        *self == NodeWish::default()
    }

    /// Whether the node has every label of the selector.
    pub fn selects(&self, face: &Face) -> bool {
        face.labels.is_empty() || self.labels.iter().all(|(key, value)| face.labels.get(key) == Some(value))
    }

    /// Whether the node meets the required affinity. A term without expressions matches nothing, as in Kubernetes.
    pub fn is_met_by(&self, face: &Face) -> bool {
        let term =
            |term: &Vec<Requirement>| !term.is_empty() && term.iter().all(|one| one.holds(&face.labels));
        face.labels.is_empty() || self.affinity.is_empty() || self.affinity.iter().any(term)
    }

    /// The first taint of the node that the pod does not tolerate. A taint named after a GPU resource is put up with by
    /// pods that ask for GPUs, because many clusters add that toleration at admission.
    pub fn kept_off_by<'a>(&self, face: &'a Face, gpus: i64) -> Option<&'a Taint> {
        let tolerated = |taint: &&Taint| {
            self.tolerations.iter().any(|one| one.tolerates(taint)) || (gpus > 0 && is_gpu(&taint.key))
        };
        face.taints.iter().find(|taint| !tolerated(taint))
    }

    /// Whether a pod that asks for `gpus` may run on the node as far as labels and taints go.
    pub fn accepts(&self, face: &Face, gpus: i64) -> bool {
        self.selects(face)
            && self.is_met_by(face)
            && self.puts_up_with_market(face)
            && self.kept_off_by(face, gpus).is_none()
    }

    /// Whether the node is not one that the job excludes because it can be taken away.
    pub fn puts_up_with_market(&self, face: &Face) -> bool {
        !(self.no_spot && face.may_be_spot())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn taint(key: &str, value: &str, effect: &str) -> Taint {
        Taint { key: key.into(), value: value.into(), effect: effect.into() }
    }

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        Toleration { key: key.into(), operator: operator.into(), value: value.into(), effect: effect.into() }
    }

    fn requirement(key: &str, operator: &str, values: &[&str]) -> Requirement {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Requirement { key: key.into(), operator: operator.into(), values }
    }

    fn face() -> Face {
        Face { labels: labels(&[("gpu", "h100"), ("rack", "7")]), taints: vec![] }
    }

    #[test]
    fn expressions_mean_what_they_mean_in_kubernetes() {
        for (key, operator, values, expected) in [
            ("gpu", "In", vec!["a100", "h100"], true),
            ("gpu", "In", vec!["a100"], false),
            ("zone", "In", vec!["a"], false),
            ("gpu", "NotIn", vec!["h100"], false),
            ("zone", "NotIn", vec!["a"], true),
            ("gpu", "Exists", vec![], true),
            ("zone", "Exists", vec![], false),
            ("gpu", "DoesNotExist", vec![], false),
            ("zone", "DoesNotExist", vec![], true),
            ("rack", "Gt", vec!["6"], true),
            ("rack", "Gt", vec!["7"], false),
            ("rack", "Lt", vec!["8"], true),
            ("gpu", "Lt", vec!["8"], false),
            ("gpu", "InSomeLaterWay", vec!["x"], true),
        ] {
            let one = requirement(key, operator, &values);
            assert_eq!(one.holds(&face().labels), expected, "{one}");
        }
    }

    #[test]
    fn any_term_is_enough_and_an_empty_one_matches_nothing() {
        let no = requirement("zone", "Exists", &[]);
        let yes = requirement("gpu", "Exists", &[]);
        let met =
            |affinity: Vec<Vec<Requirement>>| NodeWish { affinity, ..NodeWish::default() }.is_met_by(&face());
        assert!(met(vec![]));
        assert!(met(vec![vec![no.clone()], vec![yes.clone()]]));
        assert!(!met(vec![vec![no, yes]]));
        assert!(!met(vec![vec![]]));
    }

    #[test]
    fn tolerations_cover_key_value_and_effect() {
        let tainted = taint("dedicated", "ml", "NoSchedule");
        for (one, expected) in [
            (toleration("dedicated", "", "ml", ""), true),
            (toleration("dedicated", "Equal", "ml", "NoSchedule"), true),
            (toleration("dedicated", "Equal", "web", ""), false),
            (toleration("dedicated", "Exists", "", "NoExecute"), false),
            (toleration("dedicated", "Exists", "", ""), true),
            (toleration("", "Exists", "", ""), true),
            (toleration("", "", "", ""), false),
            (toleration("other", "Exists", "", ""), false),
        ] {
            assert_eq!(one.tolerates(&tainted), expected, "{one:?}");
        }
    }

    #[test]
    fn gpu_taint_keeps_off_only_pods_without_gpus() {
        let face = Face { taints: vec![taint("nvidia.com/gpu", "present", "NoSchedule")], ..face() };
        let wish = NodeWish::default();
        assert!(wish.accepts(&face, 1));
        assert_eq!(
            wish.kept_off_by(&face, 0).map(ToString::to_string).as_deref(),
            Some("nvidia.com/gpu=present:NoSchedule")
        );
    }

    #[test]
    fn a_node_that_can_be_taken_away_is_known_by_its_label_and_an_unknown_one_may_be() {
        let wish = NodeWish { no_spot: true, ..NodeWish::default() };
        let with = |pairs: &[(&str, &str)]| Face { labels: labels(pairs), taints: vec![] };
        for (name, value) in SPOT_LABELS {
            assert!(!wish.accepts(&with(&[(name, value)]), 0), "{name}");
            assert!(NodeWish::default().accepts(&with(&[(name, value)]), 0));
        }
        assert!(wish.accepts(&with(&[("karpenter.sh/capacity-type", "on-demand")]), 0));
        assert!(!wish.accepts(&Face::default(), 0), "its labels were not told");
    }

    #[test]
    fn labels_that_were_not_told_match() {
        let wish = NodeWish {
            labels: labels(&[("gpu", "h100")]),
            affinity: vec![vec![requirement("zone", "Exists", &[])]],
            ..NodeWish::default()
        };
        assert!(wish.accepts(&Face::default(), 0));
        assert!(!wish.accepts(&face(), 0), "the affinity");
        assert!(!wish.selects(&Face { labels: labels(&[("gpu", "a100")]), taints: vec![] }));
    }
}
