//! Mismatch: which label or taint keeps every node of a cluster from a pod, and what to do about it.

use crate::{
    dispatch::room::{NoFit, Room, pod},
    placement::{Face, NodeWish, Taint},
    sentence::list,
};

/// Why no node will do, and the next step. `None` where some node would do, were there room.
pub(crate) fn mismatch(name: &str, room: &Room, no_fit: &NoFit) -> Option<(String, String)> {
    let (wish, gpus) = (&no_fit.wish, no_fit.requests.gpus);
    if room.faces.is_empty() || room.faces.iter().any(|face| wish.accepts(face, gpus)) {
        return None;
    }
    let selected: Vec<&Face> = room.faces.iter().filter(|face| wish.selects(face)).collect();
    let met: Vec<&Face> = selected.iter().filter(|face| wish.is_met_by(face)).copied().collect();
    let lasting: Vec<&Face> = met.iter().filter(|face| wish.puts_up_with_market(face)).copied().collect();
    let whose = format!("its {} asks for", pod(&no_fit.role));
    Some(if selected.is_empty() {
        no_label(name, room, wish, &whose)
    } else if met.is_empty() {
        no_affinity(name, wish, &whose)
    } else if lasting.is_empty() {
        only_spot(name, &met, no_fit)
    } else {
        tainted(name, &lasting, no_fit)
    })
}

fn no_label(name: &str, room: &Room, wish: &NodeWish, whose: &str) -> (String, String) {
    let nowhere: Vec<String> = wish
        .labels
        .iter()
        .filter(|(key, value)| !room.faces.iter().any(|face| face.labels.get(*key) == Some(value)))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let all: Vec<String> = wish.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let sentence = match nowhere.as_slice() {
        [] => format!("no node of {name} has all the labels {} that {whose}", list(&all)),
        [one] => format!("no node of {name} has the label {one} that {whose}"),
        several => format!("no node of {name} has the labels {} that {whose}", list(several)),
    };
    let missing = if nowhere.is_empty() { &all } else { &nowhere };
    let next = format!(
        "kubectl label node NODE {}, or correct the nodeSelector; then cancel the job and submit it again",
        missing.join(" ")
    );
    (sentence, next)
}

fn no_affinity(name: &str, wish: &NodeWish, whose: &str) -> (String, String) {
    let terms: Vec<String> = wish
        .affinity
        .iter()
        .map(|term| term.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))
        .collect();
    let sentence =
        format!("no node of {name} meets the node affinity ({}) that {whose}", terms.join("; or "));
    let next = "label a node accordingly, or correct the affinity; then cancel the job and submit it again";
    (sentence, next.to_owned())
}

fn only_spot(name: &str, met: &[&Face], no_fit: &NoFit) -> (String, String) {
    let whose = pod(&no_fit.role);
    let sentence = if met.iter().all(|face| face.labels.is_empty()) {
        format!(
            "whether nodes of {name} can be taken away is not known, and its {whose} may not run on spot nodes"
        )
    } else {
        format!(
            "every node of {name} that its {whose} may use can be taken away, and it may not run on spot nodes"
        )
    };
    let next = "add nodes that are not spot, or cancel the job and submit it with --spot allow";
    (sentence, next.to_owned())
}

fn tainted(name: &str, met: &[&Face], no_fit: &NoFit) -> (String, String) {
    let off = |face: &&Face| no_fit.wish.kept_off_by(face, no_fit.requests.gpus).cloned();
    let mut taints: Vec<Taint> = met.iter().filter_map(off).collect();
    taints.sort();
    taints.dedup();
    let shown: Vec<String> = taints.iter().take(5).map(|taint| format!("{taint}")).collect();
    let sentence = format!(
        "every node of {name} that its {} may use is tainted with {}, which it does not tolerate",
        pod(&no_fit.role),
        list(&shown)
    );
    let next = format!(
        "add a toleration of {} to the pod template and submit the job again, or take the taint off a node",
        shown.first().map_or("it", String::as_str)
    );
    (sentence, next)
}
