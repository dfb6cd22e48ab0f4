//! Choice among clusters that have room, by terms in a fixed order; the first that differs decides and is told.

use crate::{
    dispatch::{Ranked, Term, Waiting, gang_total, pack::Packing, room::Room, site::Open},
    id::ClusterId,
    preference,
    resources::Resources,
    sentence::{amount, count, list},
};

/// A cluster with room for the job. Terms in the order of their weight; smaller is better.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) cluster: ClusterId,
    pub(crate) name: String,
    pub(crate) packing: Packing,
    /// Free before the job is placed.
    free: Resources,
    /// Of the usable nodes when empty.
    total: Resources,
    /// Of all candidates of a job the same ones.
    terms: Vec<Term>,
}

impl Candidate {
    /// `borrows` says that the job's queue would go beyond its guarantee there.
    pub(crate) fn new(site: &Open<'_>, job: &Waiting, packing: Packing, borrows: bool) -> Candidate {
        let empty = &site.empty;
        let used: Vec<Resources> =
            packing.nodes.iter().filter_map(|index| empty.nodes.get(*index)).map(|n| n.1).collect();
        let load = load_permille(&packing.left, empty);
        let mut terms = vec![borrowing(borrows)];
        terms.extend(wishes(site, job, packing.price));
        terms.extend([
            idle_gpus(job, &used),
            node_size(&used),
            term("jobs_there", "jobs", site.attempts, format!("it runs {}", count(site.attempts, "job"))),
            term("fullness", "‰", load, format!("it would be {} % full", load / 10)),
        ]);
        let (name, free) = (site.cluster.name.clone(), site.free.total());
        Candidate { cluster: site.cluster.id, name, packing, free, total: empty.total(), terms }
    }

    fn key(&self) -> (Vec<i64>, &str, ClusterId) {
        (self.terms.iter().map(|term| term.value).collect(), &self.name, self.cluster)
    }

    /// Place of the first term that differs.
    fn differs_at(&self, other: &Candidate) -> Option<usize> {
        self.terms.iter().zip(&other.terms).position(|(ours, theirs)| ours.value != theirs.value)
    }

    /// What people are shown of it, with the term that decided between it and `rival`.
    fn told(&self, rival: Option<&Candidate>) -> Ranked {
        let decided = rival.and_then(|rival| self.differs_at(rival));
        let mut terms = self.terms.clone();
        if let Some(term) = decided.and_then(|at| terms.get_mut(at)) {
            term.decided = true;
        }
        Ranked { cluster: self.name.clone(), free: self.free, total: self.total, terms }
    }

    /// The clause that sets this candidate apart from `other`.
    fn better_than(&self, other: &Candidate) -> String {
        match self.differs_at(other) {
            Some(at) => {
                let (ours, theirs) = (&self.terms[at].clause, &other.terms[at].clause);
                format!("chosen over {}: {ours}, there {theirs}", other.name)
            }
            None => format!("equal to {} in every term, first by name", other.name),
        }
    }
}

/// The best candidate, why it is, and all of them ranked.
pub(crate) fn best(
    mut candidates: Vec<Candidate>,
    job: &Waiting,
) -> Option<(Candidate, String, Vec<Ranked>)> {
    candidates.sort_by_cached_key(|one| {
        let (values, name, id) = one.key();
        (values, name.to_owned(), id)
    });
    let (best, others) = candidates.split_first()?;
    let fits = format!(
        "{} has room: the job asks for {}, free are {}",
        best.name,
        amount(gang_total(&job.gang)),
        amount(best.free)
    );
    let because = match (job.pinned, others.first()) {
        (Some(_), _) => format!("the job is pinned to {}; {fits}", best.name),
        (None, Some(next)) => format!("{fits}; {}", best.better_than(next)),
        (None, None) => format!("{fits}; no other cluster has"),
    };
    let ranked = std::iter::once(best.told(others.first()))
        .chain(others.iter().map(|other| other.told(Some(best))))
        .collect();
    Some((best.clone(), because, ranked))
}

fn term(name: &str, unit: &str, value: impl TryInto<i64>, clause: String) -> Term {
    let value = value.try_into().unwrap_or(i64::MAX);
    Term { name: name.to_owned(), unit: unit.to_owned(), value, clause, decided: false }
}

/// What the job itself would rather have; nothing of what it does not speak of.
fn wishes(site: &Open<'_>, job: &Waiting, price: Option<i64>) -> Vec<Term> {
    let wished = &job.preferences;
    let mut terms = Vec::new();
    if !(wished.prefer.is_empty() && wished.avoid.is_empty()) {
        let (rank, clause) = site.location.rank(wished);
        terms.push(term("preference", "rank", rank, clause));
    }
    if !wished.data.is_empty() {
        terms.push(data(site, &wished.data));
    }
    if !wished.spread.is_empty() {
        let there = site.of_its_group(job);
        let clause = format!("it runs {} of group {}", count(there, "job"), wished.spread);
        terms.push(term("spread", "jobs", there, clause));
    }
    if let (Some(most), Some(price)) = (&wished.max_price, price) {
        let shown = preference::price(price, &most.currency);
        let unit = format!("{}/10000 an hour", most.currency);
        terms.push(term("price", &unit, price, format!("it would cost {shown} an hour")));
    }
    terms
}

fn data(site: &Open<'_>, sets: &[String]) -> Term {
    let lacks = site.location.lacks(sets);
    let clause = match lacks.as_slice() {
        [] => {
            format!("{} near it", if sets.len() == 1 { "its data set is" } else { "all its data sets are" })
        }
        missing => {
            let names: Vec<String> = missing.iter().map(|set| (*set).to_owned()).collect();
            format!("{} of its {} not near it: {}", names.len(), count(sets.len(), "data set"), list(&names))
        }
    };
    term("data", "data sets", lacks.len(), clause)
}

/// What is guaranteed is taken before anything is borrowed.
fn borrowing(borrows: bool) -> Term {
    let clause = if borrows { "its queue would borrow" } else { "its queue borrows nothing" };
    term("borrowing", "", i64::from(borrows), clause.to_owned())
}

/// GPUs on the nodes used that the job leaves alone: work without GPUs keeps off GPU nodes.
fn idle_gpus(job: &Waiting, used: &[Resources]) -> Term {
    let asked = gang_total(&job.gang).gpus;
    let there: i64 = used.iter().map(|node| node.gpus).sum();
    let blocked = if asked == 0 { there } else { 0 };
    term("idle_gpus", "GPUs", blocked, format!("it would take nodes with {blocked} GPUs without using them"))
}

/// The largest node used, in powers of two: small work keeps large nodes free for large work.
fn node_size(used: &[Resources]) -> Term {
    let gpus = used.iter().map(|node| node.gpus).max().unwrap_or(0);
    let cores = used.iter().map(|node| node.cpu_milli).max().unwrap_or(0) / 1_000;
    let class = i128::from(gpus) * 64 + i128::from(cores.max(1).ilog2());
    term("node_size", "class", class, format!("its nodes have up to {}", amount_of_node(gpus, cores)))
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
