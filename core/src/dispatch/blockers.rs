//! Blockers: what one cluster lacks for a job, in words.

use crate::{
    dispatch::{
        Blocker, Cause, Cluster, Standing, Waiting, gang_total,
        location::Location,
        mismatch::mismatch,
        price::{self, Dear},
        room::{NoFit, Room, closeness, pod},
    },
    preference::MaxPrice,
    resources::Resources,
    sentence::{amount, list, when},
};

/// A cluster as this pass left it.
pub(crate) struct Looked<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) free: &'a Room,
}

/// The pod that fits nowhere even when every known node is empty, ready or not.
fn never_fits(job: &Waiting, cluster: &Cluster) -> Option<NoFit> {
    Room::everything(cluster).pack(&job.gang).err()
}

/// It would not fit even if every node had the labels and taints that it accepts.
pub(crate) fn is_too_small(job: &Waiting, cluster: &Cluster) -> bool {
    let room = Room::everything(cluster);
    room.pack(&job.gang).err().is_some_and(|no_fit| mismatch(&cluster.name, &room, &no_fit).is_none())
}

pub(crate) fn nowhere(job: &Waiting, all: &[Looked<'_>]) -> Blocker {
    let pin = job.pinned.and_then(|pin| all.iter().find(|one| one.cluster.id == pin));
    match (job.pinned, pin) {
        (Some(_), found) => {
            let name = found
                .map_or_else(|| "a cluster that does not exist".to_owned(), |one| one.cluster.name.clone());
            Blocker {
                code: Cause::Pinned,
                cluster: found.map_or_else(String::new, |one| one.cluster.name.clone()),
                sentence: format!("the job is pinned to {name}, which is not accepted"),
                try_this: "accept that cluster, or cancel the job and submit it without --cluster".to_owned(),
                with: Vec::new(),
            }
        }
        (None, _) => Blocker {
            code: Cause::NoCluster,
            cluster: String::new(),
            sentence: "no cluster is accepted yet".to_owned(),
            try_this: "squadron cluster add NAME, install the agent, then squadron cluster accept NAME"
                .to_owned(),
            with: Vec::new(),
        },
    }
}

pub(crate) fn too_big(job: &Waiting, considered: &[&Looked<'_>]) -> Blocker {
    let mut largest: Vec<(i128, &Looked<'_>, NoFit)> = considered
        .iter()
        .filter_map(|one| never_fits(job, one.cluster).map(|no_fit| (*one, no_fit)))
        .map(|(one, no_fit)| {
            (best_closeness(&Room::everything(one.cluster).for_pod(&no_fit), no_fit.requests), one, no_fit)
        })
        .collect();
    largest.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cluster.name.cmp(&b.1.cluster.name)));
    match largest.first() {
        Some((_, one, no_fit)) => too_big_for(job, one.cluster, no_fit),
        None => nowhere(job, &[]),
    }
}

fn best_closeness(room: &Room, requests: Resources) -> i128 {
    room.nodes.iter().map(|(_, free)| closeness(*free, requests)).max().unwrap_or(0)
}

fn too_big_for(job: &Waiting, cluster: &Cluster, no_fit: &NoFit) -> Blocker {
    let room = Room::everything(cluster).for_pod(no_fit);
    let largest = room.roomiest_for(no_fit.requests).map(|(_, free)| *free).unwrap_or_default();
    let scope = if job.pinned.is_some() { "the cluster it is pinned to" } else { "any cluster" };
    let one_pod = !no_fit.requests.fits(largest);
    let sentence = if one_pod {
        format!(
            "it never fits on {scope}: its {} asks for {}, and the largest node{}, in {}, has {}",
            pod(&no_fit.role),
            amount(no_fit.requests),
            if no_fit.wish.is_empty() { "" } else { " that it may use" },
            cluster.name,
            amount(largest)
        )
    } else {
        format!(
            "it never fits on {scope}: its pods ask for {} together, and the nodes of {}, the largest, have {} in all",
            amount(gang_total(&job.gang)),
            cluster.name,
            amount(room.total())
        )
    };
    let try_this = if one_pod {
        format!(
            "ask for at most {} in the {}, or add a larger node; then cancel the job and submit it again",
            amount(largest),
            pod(&no_fit.role)
        )
    } else {
        "ask for fewer or smaller workers, or add nodes; then cancel the job and submit it again".to_owned()
    };
    Blocker { code: Cause::TooBig, cluster: String::new(), sentence, try_this, with: Vec::new() }
}

/// What one cluster lacks for a job that does not fit there now.
pub(crate) fn of_cluster(job: &Waiting, one: &Looked<'_>) -> Blocker {
    let name = &one.cluster.name;
    let blocker = |code, sentence: String, try_this: &str| Blocker {
        code,
        cluster: name.clone(),
        sentence,
        try_this: try_this.to_owned(),
        with: Vec::new(),
    };
    if let Standing::Silent { since } = one.cluster.standing {
        let sentence =
            format!("{name} is silent since {} and gets no new jobs until it is heard", when(since));
        return blocker(Cause::ClusterStale, sentence, "look at the agent there: squadron cluster list");
    }
    if one.cluster.standing == Standing::Untold {
        let sentence = format!(
            "{name} has not told what it holds since the database failed over and gets no new jobs until it has"
        );
        return blocker(
            Cause::ClusterStale,
            sentence,
            "wait for its next heartbeats; if that lasts, update its agent",
        );
    }
    if one.free.nodes.is_empty() {
        let sentence = format!("{name} has no node that is ready and not cordoned");
        return blocker(Cause::NoReadyNode, sentence, "make a node of that cluster ready");
    }
    if let Some(no_fit) = never_fits(job, one.cluster) {
        if let Some((sentence, next)) = mismatch(name, &Room::everything(one.cluster), &no_fit) {
            return blocker(Cause::NoMatchingNode, sentence, &next);
        }
        let sentence = format!(
            "{name} is too small for it even when empty: its {} asks for {}",
            pod(&no_fit.role),
            amount(no_fit.requests)
        );
        return blocker(Cause::ClusterFull, sentence, "");
    }
    let now = one.free.pack(&job.gang).err();
    if let Some((sentence, _)) = now.and_then(|no_fit| mismatch(name, one.free, &no_fit)) {
        let sentence = format!("{sentence}; those that would do are not ready");
        return blocker(Cause::NoReadyNode, sentence, "make such a node of that cluster ready");
    }
    blocker(Cause::ClusterFull, full_sentence(job, one), "")
}

fn full_sentence(job: &Waiting, one: &Looked<'_>) -> String {
    let name = &one.cluster.name;
    let asked = amount(gang_total(&job.gang));
    let free = amount(one.free.total());
    match one.free.pack(&job.gang) {
        Ok(_) => format!("{name} has room again; the next pass places the job"),
        Err(no_fit) => {
            let usable = one.free.for_pod(&no_fit);
            let narrower = usable.nodes.len() < one.free.nodes.len();
            let which = if narrower { "no node that it may use has" } else { "no node has" };
            let lacks = lacking(no_fit.requests, &usable);
            format!(
                "{name} is full: the job asks for {asked}, free are {free}; {which} {lacks} left for its {}",
                pod(&no_fit.role)
            )
        }
    }
}

/// The amounts that no single node has: `2 cores`, `4 GiB and 1 GPU`; all of them when only together they do not fit.
fn lacking(requests: Resources, free: &Room) -> String {
    let most = |of: fn(&Resources) -> i64| free.nodes.iter().map(|(_, node)| of(node)).max().unwrap_or(0);
    let mut parts = Vec::new();
    if requests.cpu_milli > most(|node| node.cpu_milli) {
        parts.push(crate::sentence::cores(requests.cpu_milli));
    }
    if requests.memory_bytes > most(|node| node.memory_bytes) {
        parts.push(crate::sentence::memory(requests.memory_bytes));
    }
    if requests.gpus > most(|node| node.gpus) {
        parts.push(crate::sentence::gpus(requests.gpus));
    }
    if parts.is_empty() { amount(requests) } else { list(&parts) }
}

/// The cluster is, or may be, outside of the regions that the job may run in.
pub(crate) fn elsewhere(job: &Waiting, location: &Location<'_>, name: &str) -> Option<Blocker> {
    location.elsewhere(&job.preferences).map(|why| Blocker {
        code: Cause::Residency,
        cluster: name.to_owned(),
        sentence: why.sentence,
        try_this: why.try_this,
        with: Vec::new(),
    })
}

/// The job would cost too much there, or the price is not known.
pub(crate) fn too_dear(name: &str, most: &MaxPrice, dear: &Dear) -> Blocker {
    let (sentence, try_this) = price::sentence(name, most, dear);
    Blocker { code: Cause::MaxPrice, cluster: name.to_owned(), sentence, try_this, with: Vec::new() }
}

/// Other clusters would take the job, were it not pinned.
pub(crate) fn pinned_elsewhere(here: &Cluster, others: &[String]) -> Option<Blocker> {
    (!others.is_empty()).then(|| Blocker {
        code: Cause::Pinned,
        cluster: here.name.clone(),
        sentence: format!("the job is pinned to {}; {} would take it now", here.name, list(others)),
        try_this: "cancel the job and submit it without --cluster".to_owned(),
        with: Vec::new(),
    })
}
