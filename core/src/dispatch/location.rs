//! Location: where a cluster is and what is near it, as jobs with preferences look at it.
//!
//! Owns what is known: the regions and zones that nodes report, and the labels that operators give to clusters. What nodes
//! report counts; an operator's region or zone stands for the nodes that report none. Invariant: a job with a residency goes
//! only to a cluster of which every node is known to be in one of its regions, because the cluster's scheduler may take any
//! of them. Fails by refusing what is not known, with what would make it known.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::Cluster,
    preference::{DATA, Pick, Preferences, REGION, ZONE},
    sentence::list,
};

/// What is known of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Location<'a> {
    name: &'a str,
    /// Values by label; nodes may report several regions or zones.
    labels: BTreeMap<&'a str, BTreeSet<&'a str>>,
    nodes: usize,
    /// Nodes whose region nobody told.
    unplaced: usize,
}

/// Why a residency keeps a job off, and what would help.
pub(crate) struct Elsewhere {
    pub(crate) sentence: String,
    pub(crate) try_this: String,
}

impl<'a> Location<'a> {
    pub(crate) fn of(cluster: &'a Cluster) -> Location<'a> {
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (key, value) in &cluster.labels {
            labels.entry(key).or_default().insert(value);
        }
        let told = |label: &str| cluster.labels.get(label).map(String::as_str);
        let faces = || cluster.nodes.iter().map(|node| &node.face);
        let regions: Vec<Option<&str>> = faces().map(|face| face.region().or(told(REGION))).collect();
        let zones: Vec<Option<&str>> = faces().map(|face| face.zone().or(told(ZONE))).collect();
        for (key, values) in [(REGION, &regions), (ZONE, &zones)] {
            if !values.is_empty() {
                labels.insert(key, values.iter().flatten().copied().collect());
            }
        }
        let unplaced = regions.iter().filter(|region| region.is_none()).count();
        Location { name: &cluster.name, labels, nodes: cluster.nodes.len(), unplaced }
    }

    fn values(&self, key: &str) -> impl Iterator<Item = &'a str> + '_ {
        self.labels.get(key).into_iter().flatten().copied()
    }

    /// Whether the pick means this cluster.
    pub(crate) fn is(&self, pick: &Pick) -> bool {
        match pick {
            Pick::Cluster(name) => name == self.name,
            Pick::Label { key, value } => self.values(key).any(|known| known == value),
        }
    }

    /// The data sets that are not near.
    pub(crate) fn lacks<'d>(&self, data: &'d [String]) -> Vec<&'d str> {
        let near = |set: &str| self.labels.contains_key(format!("{DATA}{set}").as_str());
        data.iter().map(String::as_str).filter(|set| !near(set)).collect()
    }

    /// Whether a job may run here as far as its residency goes.
    pub(crate) fn admits(&self, preferences: &Preferences) -> bool {
        let allowed = &preferences.residency;
        allowed.is_empty() || self.is_placed() && self.values(REGION).all(|region| is_in(allowed, region))
    }

    fn is_placed(&self) -> bool {
        self.unplaced == 0 && self.values(REGION).next().is_some()
    }

    /// Why it may not.
    pub(crate) fn elsewhere(&self, preferences: &Preferences) -> Option<Elsewhere> {
        if self.admits(preferences) {
            return None;
        }
        let allowed = list(&preferences.residency);
        let name = self.name;
        let others: Vec<String> = self
            .values(REGION)
            .filter(|one| !is_in(&preferences.residency, one))
            .map(str::to_owned)
            .collect();
        if others.is_empty() {
            let which = match (self.nodes, self.unplaced) {
                (0, _) => String::new(),
                (nodes, unplaced) if nodes == unplaced => "; its nodes report none".to_owned(),
                (_, 1) => " for all of it; 1 node reports none".to_owned(),
                (_, unplaced) => format!(" for all of it; {unplaced} nodes report none"),
            };
            let sentence =
                format!("the region of {name} is not known{which}, and the job may run only in {allowed}");
            let try_this = format!(
                "label its nodes with {}, or say it for the cluster: squadron cluster label {name} region=REGION",
                crate::placement::REGION_LABEL
            );
            return Some(Elsewhere { sentence, try_this });
        }
        let sentence =
            format!("{name} has nodes in {}, and the job may run only in {allowed}", list(&others));
        let try_this =
            "add a cluster there, or cancel the job and submit it with another --residency".to_owned();
        Some(Elsewhere { sentence, try_this })
    }

    /// How much the job wants to be here, as a rank of which 0 is best, and in words.
    pub(crate) fn rank(&self, preferences: &Preferences) -> (i64, String) {
        let Preferences { prefer, avoid, .. } = preferences;
        let neutral = i64::try_from(prefer.len()).unwrap_or(i64::MAX);
        if let Some(pick) = avoid.iter().find(|pick| self.is(pick)) {
            return (neutral.saturating_add(1), format!("the job avoids {pick}"));
        }
        match prefer.iter().enumerate().find(|(_, pick)| self.is(pick)) {
            Some((at, pick)) => (i64::try_from(at).unwrap_or(i64::MAX), format!("the job prefers {pick}")),
            None => (neutral, "the job neither prefers nor avoids it".to_owned()),
        }
    }
}

fn is_in(allowed: &[String], region: &str) -> bool {
    allowed.iter().any(|one| one == region)
}
