//! Teller: turns observations of all watches into one ordered stream of facts.
//!
//! Owns what was told. Invariant: deciding that something is news and queueing it happen under one lock, so that an
//! inventory never leaves out an object whose fact stands before it in the stream. A full spool blocks the watches.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    fact::{Fact, InventoryFact},
    time::Timestamp,
};
use tokio::sync::Mutex;

use super::{FactSender, Kind};
use crate::facts::{Emitter, Observed};

/// An inventory of more pods is no record that the control plane takes; it then learns of lost pods from their own
/// facts only.
const MOST_PODS: usize = 5_000;

/// Kinds that an inventory speaks of.
const INVENTORIED: [Kind; 3] = [Kind::Pod, Kind::Node, Kind::RayJob];

/// What was told of every kind, and where the telling goes.
pub struct Teller {
    told: Mutex<Told>,
    out: FactSender,
    kubernetes_version: String,
}

#[derive(Default)]
struct Told {
    emitters: BTreeMap<Kind, Emitter>,
    listed: BTreeSet<Kind>,
}

impl Teller {
    pub fn new(out: FactSender, kubernetes_version: String) -> Teller {
        Teller { told: Mutex::default(), out, kubernetes_version }
    }

    pub async fn seen(&self, kind: Kind, observed: Observed, now: Timestamp) {
        let mut told = self.told.lock().await;
        let news = told.emitters.entry(kind).or_default().seen(observed);
        self.send(news, now).await;
    }

    pub async fn gone(&self, kind: Kind, observed: Observed, now: Timestamp, why: &str) {
        let mut told = self.told.lock().await;
        let news = told.emitters.entry(kind).or_default().gone(observed, now, why);
        self.send(news, now).await;
    }

    pub async fn list_begins(&self, kind: Kind) {
        self.told.lock().await.emitters.entry(kind).or_default().list_begins();
    }

    /// Tells what the list no longer holds, then what exists, if every inventoried kind was listed once.
    pub async fn list_ends(&self, kind: Kind, now: Timestamp, why: &str) {
        let mut told = self.told.lock().await;
        let lost = told.emitters.entry(kind).or_default().list_ends(now, why);
        self.send(lost, now).await;
        told.listed.insert(kind);
        if INVENTORIED.contains(&kind) && INVENTORIED.iter().all(|kind| told.listed.contains(kind)) {
            self.send(told.inventory(&self.kubernetes_version), now).await;
        }
    }

    async fn send(&self, facts: impl IntoIterator<Item = Fact>, now: Timestamp) {
        for fact in facts {
            // The receiver ends only with the process.
            let _ = self.out.send((now, fact)).await;
        }
    }
}

impl Told {
    fn inventory(&self, kubernetes_version: &str) -> Option<Fact> {
        let uids = |kind| -> Vec<String> {
            self.emitters.get(&kind).into_iter().flat_map(Emitter::uids).cloned().collect()
        };
        let pod_uids = uids(Kind::Pod);
        if pod_uids.len() > MOST_PODS {
            tracing::warn!(pods = pod_uids.len(), "the cluster has more pods than an inventory can name");
            return None;
        }
        Some(Fact::Inventory(InventoryFact {
            pod_uids,
            node_uids: uids(Kind::Node),
            attempts: self.attempts(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: kubernetes_version.to_owned(),
        }))
    }

    fn attempts(&self) -> BTreeMap<String, String> {
        let jobs = self.emitters.get(&Kind::RayJob).into_iter().flat_map(Emitter::facts);
        let named = jobs.filter_map(|fact| match fact {
            Fact::RayJob(job) => job.attempt.map(|attempt| (attempt.to_string(), job.uid.clone())),
            _ => None,
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use squadron_core::fact::{NodeFact, PodFact};
    use tokio::sync::mpsc;

    fn pod(uid: &str) -> Observed {
        let fact = PodFact { uid: uid.into(), ..PodFact::default() };
        Observed { uid: uid.into(), fact: Fact::Pod(Box::new(fact)) }
    }

    #[tokio::test]
    async fn inventory_comes_after_all_lists_and_names_what_was_told_meanwhile() {
        let (out, mut facts) = mpsc::channel(64);
        let teller = Teller::new(out, "v1.34.4".into());
        for kind in INVENTORIED {
            teller.list_begins(kind).await;
        }
        teller.seen(Kind::Pod, pod("listed"), Timestamp(1)).await;
        teller.list_ends(Kind::Pod, Timestamp(1), "").await;
        teller.seen(Kind::Pod, pod("later"), Timestamp(2)).await;
        let node = Fact::Node(NodeFact { uid: "n".into(), ..NodeFact::default() });
        teller.seen(Kind::Node, Observed { uid: "n".into(), fact: node }, Timestamp(2)).await;
        teller.list_ends(Kind::Node, Timestamp(2), "").await;
        teller.list_ends(Kind::RayJob, Timestamp(3), "").await;
        drop(teller);
        let mut told = Vec::new();
        while let Some((_, fact)) = facts.recv().await {
            told.push(fact);
        }
        assert_eq!(told.iter().map(Fact::kind).collect::<Vec<_>>(), ["pod", "pod", "node", "inventory"]);
        let Some(Fact::Inventory(inventory)) = told.pop() else { panic!("no inventory") };
        assert_eq!(inventory.pod_uids, ["later", "listed"]);
    }
}
