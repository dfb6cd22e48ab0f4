//! Quota: who may use how much of the fleet, in Kueue's words.
//!
//! Owns declared policy: its nouns here, its check, its form as YAML, the difference between two of them, and where queues
//! stand with it. The nouns: flavors (kinds of capacity over the whole fleet), queues in a tree with their quotas, priority classes.
//! Invariant: a value of [`Policy`] that came through its check has no cycle, no missing parent, no negative or
//! overflowing amount, and no quota for a flavor that does not exist. Fails by refusing the whole change; repaired by who
//! wrote it.

pub mod amount;
pub mod check;
pub mod declared;
mod diff;
mod preemption;
pub mod standing;
pub mod yaml;

use std::{cmp::Reverse, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::placement::Toleration;

pub use self::{
    diff::{Change, Fate, FieldChange, Noun, diff, weight},
    preemption::{Preemption, Reclaim, Within},
};

/// What quotas count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Thousandths of a core.
    Cpu,
    /// Bytes.
    Memory,
    /// Whole devices of any extended resource that names a GPU.
    Gpu,
}

/// The weight of what says nothing about it, in thousandths.
pub const ORDINARY: u32 = 1_000;

/// Nodes of the fleet that are alike for quota: a GPU model on a market.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Flavor {
    pub name: String,
    /// A node with all of these labels has this flavor, unless another goes before it ([`Flavor::rank`]). Empty matches every
    /// node.
    pub node_labels: BTreeMap<String, String>,
    /// What pods that ask for GPUs and are charged to it put up with besides what their templates say.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
    /// What one of its GPUs counts as in shares and in what was used lately, in thousandths of an ordinary one. Cores and memory
    /// that are charged to it count by it too, because who takes those of a node keeps others from its GPUs.
    #[serde(default = "ordinary")]
    pub weight: u32,
}

fn ordinary() -> u32 {
    ORDINARY
}

impl Flavor {
    /// A node that has the labels of several has the flavor that is least by this: the one with the most labels, then the first
    /// by name.
    pub(crate) fn rank(&self) -> (Reverse<usize>, &str) {
        (Reverse(self.node_labels.len()), &self.name)
    }
}

/// Without a name, on every node, and ordinary.
impl Default for Flavor {
    fn default() -> Flavor {
        let (node_labels, tolerations) = (BTreeMap::new(), Vec::new());
        Flavor { name: String::new(), node_labels, tolerations, weight: ORDINARY }
    }
}

/// One amount with its limits, in the unit of its [`Resource`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Quota {
    pub nominal: i64,
    /// How far above its subtree's quota it may go; `None` means as far as others lend.
    pub borrowing_limit: Option<i64>,
    /// How much of its subtree's quota others may use; `None` means all.
    pub lending_limit: Option<i64>,
}

/// Of one flavor, by resource. A resource that is not named here cannot be used in that flavor.
pub type FlavorQuota = BTreeMap<Resource, Quota>;

/// A node of the tree. Jobs wait in leaves; an inner node is what Kueue calls a cohort.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Queue {
    /// Unique over the fleet.
    pub name: String,
    pub parent: Option<String>,
    /// Thousandths; 1000 is an ordinary weight.
    pub weight: u32,
    /// By name of the flavor. A root that neither has quotas nor has any below it is not limited by quota.
    pub quotas: BTreeMap<String, FlavorQuota>,
    /// `None`: as the queue above it says, and never where none says anything.
    #[serde(default)]
    pub preemption: Option<Preemption>,
}

/// How urgent jobs are; higher values go first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PriorityClass {
    pub name: String,
    pub value: i32,
    pub description: String,
}

/// Everything that people declare about the use of the fleet.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Policy {
    pub flavors: Vec<Flavor>,
    pub queues: Vec<Queue>,
    pub priority_classes: Vec<PriorityClass>,
}

impl Policy {
    /// Whether any queue may ever have others stopped.
    pub fn preempts(&self) -> bool {
        self.queues.iter().any(|queue| queue.preemption.is_some_and(|says| !says.is_never()))
    }

    /// Queues with how many stand above each: roots by name, each followed by what stands below it. Queues that hang on
    /// nothing, or in a circle, come last.
    pub fn in_order(&self) -> Vec<(usize, &Queue)> {
        let mut children = BTreeMap::<&str, Vec<&Queue>>::new();
        for queue in &self.queues {
            children.entry(queue.parent.as_deref().unwrap_or_default()).or_default().push(queue);
        }
        for siblings in children.values_mut() {
            siblings.sort_by(|a, b| b.name.cmp(&a.name));
        }
        let with = |depth| move |queue| (depth, queue);
        let mut open: Vec<(usize, &Queue)> =
            children.remove("").unwrap_or_default().into_iter().map(with(0)).collect();
        let mut ordered = Vec::new();
        while let Some((depth, queue)) = open.pop() {
            ordered.push((depth, queue));
            open.extend(
                children.remove(queue.name.as_str()).unwrap_or_default().into_iter().map(with(depth + 1)),
            );
        }
        ordered.extend(children.into_values().flatten().map(with(0)));
        ordered
    }
}
