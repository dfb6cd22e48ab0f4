//! `preemption: {withinClusterQueue, reclaimWithinCohort}` of our own queues and of Kueue's.

use super::{
    fields::{Reader, under},
    node::Node,
};
use crate::{
    quota::{Preemption, Reclaim, Within},
    sentence::clip,
};

/// What the map says, and its line. `more` are fields that somebody else reads.
pub(super) fn preemption(
    reader: &mut Reader,
    node: Option<&&Node>,
    more: &[&str],
) -> (Option<Preemption>, Option<u32>) {
    let Some(node) = node else { return (None, None) };
    let path = "spec.preemption";
    let known: Vec<&str> =
        ["withinClusterQueue", "reclaimWithinCohort"].iter().chain(more).copied().collect();
    let fields = reader.map(node, path, &known);
    let within = &under(path, "withinClusterQueue");
    let within = word(
        reader,
        fields.get("withinClusterQueue"),
        within,
        Within::from_word,
        Within::ALL.map(Within::word),
    );
    let reclaim = &under(path, "reclaimWithinCohort");
    let all = Reclaim::ALL.map(Reclaim::word);
    let reclaim = word(reader, fields.get("reclaimWithinCohort"), reclaim, Reclaim::from_word, all);
    (Some(Preemption { within, reclaim }), Some(node.line))
}

fn word<T: Default, const N: usize>(
    reader: &mut Reader,
    node: Option<&&Node>,
    path: &str,
    read: fn(&str) -> Option<T>,
    all: [&'static str; N],
) -> T {
    let Some(text) = reader.text(node, path) else { return T::default() };
    read(text).unwrap_or_else(|| {
        let problem = format!("is {:?}; write one of {}", clip(text, 60), all.join(", "));
        reader.problem(node.map_or(0, |node| node.line), path, problem);
        T::default()
    })
}
