//! Usage: node time split among those who held it.
//!
//! Each node's life is cut at every start and end of a pod and every change of price. In each piece the pods take what
//! they ask for in the order in which they came; what nobody took is idle. So the parts of a piece sum to its capacity. The
//! pieces are swept from left to right with the set of pods that hold something, so the work grows with the pods and not
//! with their square.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    fact::PodFact,
    meter::{Price, Priced, Rate, Sheet, TooLarge},
    resources::Resources,
    sentence::{clip, when},
    time::Timestamp,
};

/// Whose a part of the capacity was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Pods of jobs.
    Team,
    /// Pods of nobody's job, outside the system's namespaces.
    Shared,
    /// Pods of the system and of the agent, and what nodes keep back from pods.
    Overhead,
    /// What nobody held.
    Idle,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Team => "team",
            Kind::Shared => "shared",
            Kind::Overhead => "overhead",
            Kind::Idle => "idle",
        }
    }
}

/// The finest row of a report. Columns that do not apply are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowKey {
    pub kind: Kind,
    pub cluster: String,
    /// Queue of the job.
    pub team: String,
    pub job: String,
}

/// A node and when it existed with this capacity: `[from, to)`. A node whose capacity changed has several spans.
#[derive(Clone, Debug)]
pub struct NodeSpan {
    /// Name of the cluster.
    pub cluster: String,
    pub uid: String,
    pub name: String,
    pub gpu_model: String,
    pub capacity: Resources,
    pub allocatable: Resources,
    pub from: Timestamp,
    /// None while it exists.
    pub to: Option<Timestamp>,
}

/// A pod and when it held these requests: `[from, to)`. A pod that was resized has several spans.
#[derive(Clone, Debug)]
pub struct PodSpan {
    pub cluster: String,
    pub uid: String,
    /// Name of the node.
    pub node: String,
    pub requests: Resources,
    pub from: Timestamp,
    /// None while it holds them.
    pub to: Option<Timestamp>,
    pub owner: Owner,
}

/// Whose a pod is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owner {
    Job { team: String, job: String },
    Shared,
    System,
}

impl Owner {
    /// Jobs own their pods; the system's namespaces and that of the agent are overhead; everybody else shares. `job` is the
    /// queue and the job, `agent` the agent's subject, `system:serviceaccount:<namespace>:<name>`.
    pub fn of(job: Option<(String, String)>, namespace: &str, agent: &str) -> Owner {
        if let Some((team, job)) = job {
            return Owner::Job { team, job };
        }
        let agent = agent.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split(':').next());
        if namespace == "kube-system" || Some(namespace) == agent { Owner::System } else { Owner::Shared }
    }
}

/// When a pod holds its requests: from when it was bound to a node, by its own word or else by when it was seen, to when it
/// ended. The word of a clock that is ahead moves nothing behind `seen`, and no pod ends before it began.
pub fn held(pod: &PodFact, seen: Timestamp) -> (Option<Timestamp>, Option<Timestamp>) {
    let bound = pod.bound_at.or(pod.started_at).or(pod.created_at).unwrap_or(seen).min(seen);
    let bound = (!pod.node.is_empty()).then_some(bound);
    let ended = pod.finished_at.or_else(|| pod.gone.then_some(seen)).map(|end| end.max(bound.unwrap_or(end)));
    (bound, ended)
}

/// What a time span comes to.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    pub rows: BTreeMap<RowKey, Priced>,
    /// Capacity of all nodes over the time, computed from the nodes alone.
    pub capacity: Priced,
    /// Sentences on what is estimated or left out, in a stable order.
    pub notes: BTreeSet<String>,
}

/// Usage in `[from, to)`. Nothing is counted after `to`, so `to` in the future reads as now where the caller says so.
pub fn usage(
    nodes: &[NodeSpan],
    pods: &[PodSpan],
    sheet: Option<&Sheet>,
    from: Timestamp,
    to: Timestamp,
) -> Result<Report, TooLarge> {
    let mut report = Report::default();
    let mut by_node: BTreeMap<(&str, &str), Vec<&PodSpan>> = BTreeMap::new();
    for pod in pods {
        by_node.entry((&pod.cluster, &pod.node)).or_default().push(pod);
    }
    for list in by_node.values_mut() {
        list.sort_by(|a, b| (a.from, &a.uid).cmp(&(b.from, &b.uid)));
        list.dedup_by(|a, b| (a.from, &a.uid) == (b.from, &b.uid));
    }
    let mut sorted: Vec<&NodeSpan> = nodes.iter().collect();
    sorted.sort_by(|a, b| (&a.cluster, &a.uid, a.from).cmp(&(&b.cluster, &b.uid, b.from)));
    sorted.dedup_by(|a, b| (&a.cluster, &a.uid, a.from) == (&b.cluster, &b.uid, b.from));
    for node in sorted {
        let none = Vec::new();
        let held = by_node.get(&(node.cluster.as_str(), node.name.as_str())).unwrap_or(&none);
        meter_node(node, held, sheet, (from.millis(), to.millis()), &mut report)?;
    }
    note_homeless(nodes, &by_node, &mut report);
    Ok(report)
}

/// Half-open interval in milliseconds.
type Span = (i64, i64);

fn clip_span(from: Timestamp, to: Option<Timestamp>, within: Span) -> Option<Span> {
    let start = from.millis().max(within.0);
    let end = to.map_or(within.1, Timestamp::millis).min(within.1);
    (start < end).then_some((start, end))
}

fn meter_node(
    node: &NodeSpan,
    pods: &[&PodSpan],
    sheet: Option<&Sheet>,
    window: Span,
    report: &mut Report,
) -> Result<(), TooLarge> {
    let Some(life) = clip_span(node.from, node.to, window) else { return Ok(()) };
    let held: Vec<(Span, &PodSpan)> =
        pods.iter().filter_map(|pod| Some((clip_span(pod.from, pod.to, life)?, *pod))).collect();
    let prices = sheet.map_or(&[][..], |sheet| sheet.for_node(&node.cluster, &node.gpu_model));
    let cuts: Vec<i64> = cuts(life, &held, prices).into_iter().collect();
    let mut sweep = Sweep::new(&held);
    for piece in cuts.windows(2) {
        let span = (piece[0], piece[1]);
        let rate = rate_at(prices, span.0);
        if sheet.is_some() && rate.is_none() {
            note_unpriced(node, report);
        }
        let active = sweep.at(span.0);
        meter_piece(node, &active, span.1 - span.0, rate.unwrap_or_default(), report)?;
    }
    Ok(())
}

/// Which pods hold something, from left to right. Indices lead into the held spans, which stand in the order in which
/// pods came.
struct Sweep<'a> {
    held: &'a [(Span, &'a PodSpan)],
    /// By start and by end; those before the positions are done.
    starts: Vec<usize>,
    ends: Vec<usize>,
    begun: usize,
    over: usize,
    active: BTreeSet<usize>,
}

impl<'a> Sweep<'a> {
    fn new(held: &'a [(Span, &'a PodSpan)]) -> Sweep<'a> {
        let ordered = |key: fn(Span) -> i64| {
            let mut order: Vec<usize> = (0..held.len()).collect();
            order.sort_by_key(|index| held.get(*index).map(|(span, _)| key(*span)));
            order
        };
        let (starts, ends) = (ordered(|span| span.0), ordered(|span| span.1));
        Sweep { held, starts, ends, begun: 0, over: 0, active: BTreeSet::new() }
    }

    /// The pods that hold something from `millis` on. Moments must not go back.
    fn at(&mut self, millis: i64) -> Vec<&'a PodSpan> {
        let span = |index: usize| self.held.get(index).map(|(span, _)| *span);
        while let Some(index) = self.starts.get(self.begun).copied()
            && span(index).is_some_and(|span| span.0 <= millis)
        {
            self.active.insert(index);
            self.begun += 1;
        }
        while let Some(index) = self.ends.get(self.over).copied()
            && span(index).is_some_and(|span| span.1 <= millis)
        {
            self.active.remove(&index);
            self.over += 1;
        }
        self.active.iter().filter_map(|index| self.held.get(*index).map(|(_, pod)| *pod)).collect()
    }
}

fn cuts(life: Span, held: &[(Span, &PodSpan)], prices: &[Price]) -> BTreeSet<i64> {
    let ends = held.iter().flat_map(|((start, end), _)| [*start, *end]);
    let changes =
        prices.iter().flat_map(|price| [Some(price.from), price.to]).flatten().map(Timestamp::millis);
    let inside = ends.chain(changes).filter(|cut| life.0 < *cut && *cut < life.1);
    inside.chain([life.0, life.1]).collect()
}

fn rate_at(prices: &[Price], millis: i64) -> Option<Rate> {
    let in_force =
        |price: &&Price| price.from.millis() <= millis && price.to.is_none_or(|to| millis < to.millis());
    prices.iter().find(in_force).map(|price| price.rate)
}

/// Splits the capacity of one piece.
fn meter_piece(
    node: &NodeSpan,
    pods: &[&PodSpan],
    millis: i64,
    rate: Rate,
    report: &mut Report,
) -> Result<(), TooLarge> {
    let none = Resources::default();
    let capacity = node.capacity.max(none);
    let allocatable = least(node.allocatable.max(none), capacity);
    report.capacity.add(Priced::held(capacity, millis, rate)?)?;
    let mut left = allocatable;
    let book = |report: &mut Report, kind, team: &str, job: &str, part: Resources| {
        let key = RowKey { kind, cluster: node.cluster.clone(), team: team.to_owned(), job: job.to_owned() };
        report.rows.entry(key).or_default().add(Priced::held(part, millis, rate)?)
    };
    for pod in pods {
        let taken = least(pod.requests.max(none), left);
        left = left - taken;
        if taken != pod.requests {
            note_excess(node, report);
        }
        match &pod.owner {
            Owner::Job { team, job } => book(report, Kind::Team, team, job, taken)?,
            Owner::Shared => book(report, Kind::Shared, "", "", taken)?,
            Owner::System => book(report, Kind::Overhead, "", "", taken)?,
        }
    }
    book(report, Kind::Overhead, "", "", capacity - allocatable)?;
    book(report, Kind::Idle, "", "", left)
}

fn least(a: Resources, b: Resources) -> Resources {
    Resources {
        cpu_milli: a.cpu_milli.min(b.cpu_milli),
        memory_bytes: a.memory_bytes.min(b.memory_bytes),
        gpus: a.gpus.min(b.gpus),
    }
}

fn note_excess(node: &NodeSpan, report: &mut Report) {
    report.notes.insert(format!(
        "estimated: pods on node {} of {} asked for more than it has, so they are counted only for what it has",
        clip(&node.name, 100),
        node.cluster
    ));
}

fn note_unpriced(node: &NodeSpan, report: &mut Report) {
    let model = if node.gpu_model.is_empty() {
        String::new()
    } else {
        format!(" with {}", clip(&node.gpu_model, 100))
    };
    report.notes.insert(format!(
        "the price sheet has no price for nodes of {}{model} in a part of this time; there the amount is 0",
        node.cluster
    ));
}

/// Pods on nodes that were never seen are not counted, and that is said.
fn note_homeless(nodes: &[NodeSpan], pods: &BTreeMap<(&str, &str), Vec<&PodSpan>>, report: &mut Report) {
    let known: BTreeSet<(&str, &str)> =
        nodes.iter().map(|node| (node.cluster.as_str(), node.name.as_str())).collect();
    for ((cluster, node), pods) in pods.iter().filter(|(place, _)| !known.contains(*place)) {
        if let Some(first) = pods.first() {
            report.notes.insert(format!(
                "estimated: node {} of {cluster} is not known, so its pods since {} are not counted",
                clip(node, 100),
                when(first.from)
            ));
        }
    }
}
