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
    /// Those that pods which ask for GPUs are given the tolerations of, by the flavor of the node.
    #[serde(skip)]
    pub lifted: Vec<Taint>,
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
        self.labels.is_empty() || name_spot(&self.labels)
    }
}

/// Whether the labels mark nodes that their owner can take away at any time.
pub fn name_spot(labels: &Labels) -> bool {
    SPOT_LABELS.iter().any(|(name, value)| labels.get(*name).is_some_and(|has| has == value))
}

impl Taint {
    /// Whether Kubernetes sets it for a condition of the node, so that it comes and goes by itself.
    pub fn is_condition(&self) -> bool {
        self.key.starts_with("node.kubernetes.io/")
            || self.key.starts_with("node.cloudprovider.kubernetes.io/")
    }

    /// Whether it is named and valued as a label of nodes that can be taken away, as clouds and their guides do it.
    pub fn names_spot(&self) -> bool {
        SPOT_LABELS.contains(&(self.key.as_str(), self.value.as_str()))
    }

    /// What tolerates this taint and no other.
    pub fn toleration(&self) -> Toleration {
        let Taint { key, value, effect } = self.clone();
        Toleration { key, operator: "Equal".to_owned(), value, effect }
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

impl std::fmt::Display for Toleration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.operator.as_str(), self.key.as_str()) {
            ("Exists", "") => write!(f, "*")?,
            ("Exists", key) => write!(f, "{key}")?,
            (_, key) => write!(f, "{key}={}", self.value)?,
        }
        if self.effect.is_empty() { Ok(()) } else { write!(f, ":{}", self.effect) }
    }
}

impl Toleration {
    /// Whether a pod with it may run on a node with the taint.
    pub fn tolerates(&self, taint: &Taint) -> bool {
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
        let tolerated = |taint: &&Taint| self.tolerates(taint) || (gpus > 0 && is_gpu(&taint.key));
        let lifted = face.lifted.iter().filter(|_| gpus <= 0);
        face.taints.iter().chain(lifted).find(|taint| !tolerated(taint))
    }

    fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|one| one.tolerates(taint))
    }

    /// Accepts from now on only nodes that `other` requires as well, and puts up with what either does.
    pub fn bind(&mut self, other: &NodeWish) {
        self.affinity = both(&self.affinity, &other.affinity);
        let new = other.tolerations.iter().filter(|one| !self.tolerations.contains(one)).cloned();
        self.tolerations.extend(new.collect::<Vec<_>>());
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

/// The terms under which both hold. A term without expressions matches nothing, and nothing is required where there is no term.
fn both(ours: &[Vec<Requirement>], others: &[Vec<Requirement>]) -> Vec<Vec<Requirement>> {
    match (ours, others) {
        ([], terms) | (terms, []) => terms.to_vec(),
        _ => {
            let pairs = ours.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
            let never = |one: &[Requirement], other: &[Requirement]| one.is_empty() || other.is_empty();
            pairs
                .map(
                    |(one, other)| {
                        if never(one, other) { Vec::new() } else { [one.clone(), other.clone()].concat() }
                    },
                )
                .collect()
        }
    }
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
