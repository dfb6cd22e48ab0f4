//! Teller: turns observations of all watches into one ordered stream of facts.
//!
//! Owns what was told. Invariant: deciding that something is news and queueing it happen under one lock, so that an
//! inventory never leaves out an object whose fact stands before it in the stream. A full spool blocks the watches.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    fact::{Fact, InventoryFact, ListedFact, ListedKind},
    time::Timestamp,
};
use tokio::sync::Mutex;

use super::{FactSender, Kind};
use crate::facts::{Emitter, Observed};

/// Most uids in one record: the control plane takes no fact of more than 256 KiB.
const MOST_UIDS: usize = 5_000;

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

    /// Tells what the list no longer holds, then what exists.
    pub async fn list_ends(&self, kind: Kind, now: Timestamp, why: &str) {
        let mut told = self.told.lock().await;
        let lost = told.emitters.entry(kind).or_default().list_ends(now, why);
        self.send(lost, now).await;
        told.listed.insert(kind);
        if INVENTORIED.contains(&kind) {
            self.send(told.inventory(&self.kubernetes_version), now).await;
        }
    }

    /// Tells everything that stands once more, whoever took it may have forgotten it.
    pub async fn again(&self, now: Timestamp) {
        let told = self.told.lock().await;
        let all: Vec<Fact> = told.emitters.values().flat_map(Emitter::facts).cloned().collect();
        self.send(all, now).await;
        self.send(told.inventory(&self.kubernetes_version), now).await;
    }

    async fn send(&self, facts: impl IntoIterator<Item = Fact>, now: Timestamp) {
        for fact in facts {
            // The receiver ends only with the process.
            let _ = self.out.send((now, fact)).await;
        }
    }
}

impl Told {
    /// What exists, as one fact or in parts; nothing before every inventoried kind was listed once.
    fn inventory(&self, kubernetes_version: &str) -> Vec<Fact> {
        if !INVENTORIED.iter().all(|kind| self.listed.contains(kind)) {
            return Vec::new();
        }
        let uids = |kind| -> Vec<String> {
            self.emitters.get(&kind).into_iter().flat_map(Emitter::uids).cloned().collect()
        };
        let (pod_uids, node_uids, attempts) = (uids(Kind::Pod), uids(Kind::Node), self.attempts());
        // An attempt takes about as much room as two uids.
        if pod_uids.len() + node_uids.len() + 2 * attempts.len() > MOST_UIDS {
            let nodes = parts(ListedKind::Node, &node_uids);
            return parts(ListedKind::Pod, &pod_uids).chain(nodes).collect();
        }
        vec![Fact::Inventory(InventoryFact {
            pod_uids,
            node_uids,
            attempts,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: kubernetes_version.to_owned(),
        })]
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

/// Sorted uids in parts that together cover every uid there could be, so that none is in two and a lost one is in one.
fn parts(of: ListedKind, uids: &[String]) -> impl Iterator<Item = Fact> {
    let starts = (0..uids.len().max(1)).step_by(MOST_UIDS);
    starts.map(move |start| {
        let end = start + MOST_UIDS;
        let from = if start == 0 { String::new() } else { uids[start].clone() };
        let until = uids.get(end).cloned().unwrap_or_default();
        Fact::Listed(ListedFact { of, from, until, uids: uids[start..end.min(uids.len())].to_vec() })
    })
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

    #[tokio::test]
    async fn everything_that_stands_is_told_again_when_it_may_be_forgotten() {
        let (out, mut facts) = mpsc::channel(20);
        let teller = Teller::new(out, "v1.34.4".into());
        for kind in INVENTORIED {
            teller.list_begins(kind).await;
            teller.list_ends(kind, Timestamp(1), "").await;
        }
        teller.seen(Kind::Pod, pod("a"), Timestamp(2)).await;
        teller.seen(Kind::Pod, pod("a"), Timestamp(3)).await;
        teller.again(Timestamp(4)).await;
        let mut told = Vec::new();
        while let Ok((at, fact)) = facts.try_recv() {
            told.push((at.0, fact.kind()));
        }
        assert_eq!(told, [(1, "inventory"), (2, "pod"), (4, "pod"), (4, "inventory")]);
    }

    /// The parts of an inventory of so many pods and two nodes.
    fn listed(pods: usize) -> Vec<Fact> {
        let mut told = Told { listed: INVENTORIED.into(), ..Told::default() };
        for number in 0..pods {
            told.emitters.entry(Kind::Pod).or_default().seen(pod(&format!("{number:036}")));
        }
        for uid in ["n1", "n2"] {
            let node = Fact::Node(NodeFact { uid: uid.into(), ..NodeFact::default() });
            told.emitters.entry(Kind::Node).or_default().seen(Observed { uid: uid.into(), fact: node });
        }
        told.inventory("v1.34.4")
    }

    #[test]
    fn a_large_cluster_is_told_in_parts_that_leave_no_uid_out() {
        assert!(matches!(listed(4_998).as_slice(), [Fact::Inventory(_)]));
        let parts: Vec<ListedFact> = listed(12_000)
            .into_iter()
            .map(|fact| match fact {
                Fact::Listed(part) => part,
                other => panic!("{}", other.kind()),
            })
            .collect();
        let (nodes, pods): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.of == ListedKind::Node);
        assert_eq!((nodes.len(), nodes[0].uids.len()), (1, 2));
        assert_eq!(pods.iter().map(|part| part.uids.len()).collect::<Vec<_>>(), [5_000, 5_000, 2_000]);
        assert_eq!((pods[0].from.as_str(), pods[2].until.as_str()), ("", ""));
        for pair in pods.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
        }
        for part in &pods {
            let inside = |uid: &String| *uid >= part.from && (part.until.is_empty() || *uid < part.until);
            assert!(part.uids.iter().all(inside));
            assert!(serde_json::to_string(&Fact::Listed(part.clone())).unwrap().len() < 256 * 1024);
        }
    }

    #[test]
    fn no_node_at_all_is_told_too() {
        let empty: Vec<Fact> = parts(ListedKind::Node, &[]).collect();
        assert_eq!(empty, [Fact::Listed(ListedFact { of: ListedKind::Node, ..ListedFact::default() })]);
    }
}
