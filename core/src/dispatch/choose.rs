//! Choice among clusters that have room, by terms in a fixed order; the first that differs decides and is told.
//!
//! Of every candidate the values are found; words are made only of those that are kept with the decision, because a fleet may have
//! hundreds of clusters with room.

use std::{borrow::Cow, cmp::Ordering};

use crate::{
    dispatch::{Ranked, Term, Waiting, choice::KEPT, gang_total, pack::Packing, room::Room, site::Open},
    id::ClusterId,
    preference,
    resources::Resources,
    sentence::{amount, count, list},
};

/// A cluster with room for the job.
pub(crate) struct Candidate<'a> {
    site: &'a Open<'a>,
    job: &'a Waiting,
    packing: Cow<'a, Packing>,
    borrows: bool,
    /// Of all candidates of a job the same terms, in the order of their weight; smaller is better.
    values: Vec<i64>,
}

/// What the best candidate is, and why.
pub(crate) struct Best {
    pub(crate) cluster: ClusterId,
    pub(crate) packing: Packing,
    pub(crate) because: String,
    /// The best [`KEPT`], in their order.
    pub(crate) ranked: Vec<Ranked>,
}

impl<'a> Candidate<'a> {
    /// `borrows` says that the job's queue would go beyond its guarantee there.
    pub(crate) fn new(
        site: &'a Open<'a>,
        job: &'a Waiting,
        packing: Cow<'a, Packing>,
        borrows: bool,
    ) -> Candidate<'a> {
        let mut candidate = Candidate { site, job, packing, borrows, values: Vec::with_capacity(10) };
        let mut terms = Terms::default();
        candidate.terms(&mut terms);
        candidate.values = terms.values;
        candidate
    }

    fn terms(&self, terms: &mut Terms) {
        let Candidate { site, job, packing, .. } = self;
        let empty = &site.empty;
        let used: Vec<Resources> =
            packing.nodes.iter().filter_map(|index| empty.nodes.get(*index)).map(|n| n.1).collect();
        let load = load_permille(&packing.left, empty);
        borrowing(self.borrows, terms);
        wishes(site, job, packing.price, terms);
        idle_gpus(job, &used, terms);
        node_size(&used, terms);
        run(site, terms);
        terms.add("jobs_there", "jobs", site.attempts, || format!("it runs {}", count(site.attempts, "job")));
        terms.add("fullness", "‰", load, || format!("it would be {} % full", load / 10));
    }

    fn told_terms(&self) -> Vec<Term> {
        let mut terms = Terms { told: Some(Vec::new()), ..Terms::default() };
        self.terms(&mut terms);
        terms.told.unwrap_or_default()
    }

    fn name(&self) -> &str {
        &self.site.cluster.name
    }

    fn order(&self, other: &Candidate<'_>) -> Ordering {
        let by_name = || (self.name(), self.site.cluster.id).cmp(&(other.name(), other.site.cluster.id));
        self.values.cmp(&other.values).then_with(by_name)
    }

    /// Place of the first term that differs.
    fn differs_at(&self, other: &Candidate<'_>) -> Option<usize> {
        self.values.iter().zip(&other.values).position(|(ours, theirs)| ours != theirs)
    }

    /// What people are shown of it, with the term that decided between it and `rival`.
    fn told(&self, rival: Option<&Candidate<'_>>) -> Ranked {
        let decided = rival.and_then(|rival| self.differs_at(rival));
        let mut terms = self.told_terms();
        if let Some(term) = decided.and_then(|at| terms.get_mut(at)) {
            term.decided = true;
        }
        let (free, total) = (self.site.free.total(), self.site.empty.total());
        Ranked { cluster: self.name().to_owned(), free, total, terms }
    }

    /// The clause that sets this candidate apart from `other`.
    fn better_than(&self, other: &Candidate<'_>) -> String {
        let Some(at) = self.differs_at(other) else {
            return format!("equal to {} in every term, first by name", other.name());
        };
        let (ours, theirs) = (self.told_terms(), other.told_terms());
        format!("chosen over {}: {}, there {}", other.name(), ours[at].clause, theirs[at].clause)
    }
}

/// The best candidate, and the best of all ranked.
pub(crate) fn best(mut candidates: Vec<Candidate<'_>>, job: &Waiting) -> Option<Best> {
    if candidates.len() > KEPT {
        candidates.select_nth_unstable_by(KEPT, Candidate::order);
        candidates.truncate(KEPT);
    }
    candidates.sort_unstable_by(Candidate::order);
    let (best, others) = candidates.split_first()?;
    let because = because(best, others.first(), job);
    let ranked = std::iter::once(best.told(others.first()))
        .chain(others.iter().map(|other| other.told(Some(best))))
        .collect();
    Some(Best { cluster: best.site.cluster.id, packing: best.packing.clone().into_owned(), because, ranked })
}

fn because(best: &Candidate<'_>, next: Option<&Candidate<'_>>, job: &Waiting) -> String {
    let fits = format!(
        "{} has room: the job asks for {}, free are {}",
        best.name(),
        amount(gang_total(&job.gang)),
        amount(best.site.free.total())
    );
    match (job.pinned, next) {
        (Some(_), _) => format!("the job is pinned to {}; {fits}", best.name()),
        (None, Some(next)) => format!("{fits}; {}", best.better_than(next)),
        (None, None) => format!("{fits}; no other cluster has"),
    }
}

/// The terms of one candidate, in their order.
#[derive(Default)]
struct Terms {
    values: Vec<i64>,
    /// With their words, where these are wanted.
    told: Option<Vec<Term>>,
}

impl Terms {
    fn add(&mut self, name: &str, unit: &str, value: impl TryInto<i64>, clause: impl FnOnce() -> String) {
        let value = value.try_into().unwrap_or(i64::MAX);
        self.values.push(value);
        if let Some(told) = &mut self.told {
            let (name, unit) = (name.to_owned(), unit.to_owned());
            told.push(Term { name, unit, value, clause: clause(), decided: false });
        }
    }
}

/// What the job itself would rather have; nothing of what it does not speak of.
fn wishes(site: &Open<'_>, job: &Waiting, price: Option<i64>, terms: &mut Terms) {
    let wished = &job.preferences;
    if !(wished.prefer.is_empty() && wished.avoid.is_empty()) {
        let (rank, clause) = site.location.rank(wished);
        terms.add("preference", "rank", rank, || clause);
    }
    if !wished.data.is_empty() {
        data(site, &wished.data, terms);
    }
    if !wished.spread.is_empty() {
        let there = site.of_its_group(job);
        let clause = || format!("it runs {} of group {}", count(there, "job"), wished.spread);
        terms.add("spread", "jobs", there, clause);
    }
    if let (Some(most), Some(price)) = (&wished.max_price, price) {
        let unit = format!("{}/10000 an hour", most.currency);
        let clause = || format!("it would cost {} an hour", preference::price(price, &most.currency));
        terms.add("price", &unit, price, clause);
    }
}

fn data(site: &Open<'_>, sets: &[String], terms: &mut Terms) {
    let lacks = site.location.lacks(sets);
    let clause = || match lacks.as_slice() {
        [] => {
            format!("{} near it", if sets.len() == 1 { "its data set is" } else { "all its data sets are" })
        }
        missing => {
            let names: Vec<String> = missing.iter().map(|set| (*set).to_owned()).collect();
            format!("{} of its {} not near it: {}", names.len(), count(sets.len(), "data set"), list(&names))
        }
    };
    terms.add("data", "data sets", lacks.len(), clause);
}

/// What is guaranteed is taken before anything is borrowed.
fn borrowing(borrows: bool, terms: &mut Terms) {
    let clause = if borrows { "its queue would borrow" } else { "its queue borrows nothing" };
    terms.add("borrowing", "", i64::from(borrows), || clause.to_owned());
}

/// GPUs on the nodes used that the job leaves alone: work without GPUs keeps off GPU nodes.
fn idle_gpus(job: &Waiting, used: &[Resources], terms: &mut Terms) {
    let asked = gang_total(&job.gang).gpus;
    let there: i64 = used.iter().map(|node| node.gpus).sum();
    let blocked = if asked == 0 { there } else { 0 };
    let clause = || format!("it would take nodes with {blocked} GPUs without using them");
    terms.add("idle_gpus", "GPUs", blocked, clause);
}

/// The largest node used, in powers of two: small work keeps large nodes free for large work.
fn node_size(used: &[Resources], terms: &mut Terms) {
    let gpus = used.iter().map(|node| node.gpus).max().unwrap_or(0);
    let cores = used.iter().map(|node| node.cpu_milli).max().unwrap_or(0) / 1_000;
    let class = i128::from(gpus) * 64 + i128::from(cores.max(1).ilog2());
    terms
        .add("node_size", "class", class, || format!("its nodes have up to {}", amount_of_node(gpus, cores)));
}

/// In a large fleet, a cluster that was given jobs of this pass gets some more before the next one is given any.
fn run(site: &Open<'_>, terms: &mut Terms) {
    if let Some(goes_on) = site.goes_on() {
        let clause =
            if goes_on { "it is given jobs of this pass" } else { "it would be one more to be told" };
        terms.add("run", "", i64::from(!goes_on), || clause.to_owned());
    }
}

fn amount_of_node(gpus: i64, cores: i64) -> String {
    if gpus > 0 { format!("{cores} cores and {gpus} GPUs") } else { format!("{cores} cores") }
}

/// How full the cluster would be in its scarcest resource, in thousandths.
fn load_permille(left: &Room, empty: &Room) -> i128 {
    let (left, all) = (left.total(), empty.total());
    let full =
        |left: i64, all: i64| if all <= 0 { 0 } else { 1_000 - i128::from(left) * 1_000 / i128::from(all) };
    full(left.cpu_milli, all.cpu_milli)
        .max(full(left.memory_bytes, all.memory_bytes))
        .max(full(left.gpus, all.gpus))
}
