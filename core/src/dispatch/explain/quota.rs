//! Blockers of quota: which queue's limit keeps a job waiting, who uses what it has, and what would help.

use crate::{
    dispatch::{
        Blocker, Cause,
        explain::{view::View, whatif::Case},
        pack::Limits,
        quota::{Place, Tree, parts},
        tenants::Tenants,
    },
    quota::Resource,
    sentence::{cores, gpus, list, memory},
};

/// The declared quotas of its tree cannot be counted, so nothing of the tree starts.
pub(super) fn broken(case: &Case<'_>) -> Option<Blocker> {
    let tree = &case.quotas.trees[case.place?.tree];
    let problem = tree.broken()?;
    Some(Blocker {
        code: Cause::QuotaNever,
        cluster: String::new(),
        sentence: format!("the quotas of {} cannot be counted: {problem}", tree.name(0)),
        try_this: "correct them and apply them again: squadron apply -f FILE".to_owned(),
        with: Vec::new(),
    })
}

/// Nodes would do, but not those of a flavor that the queue may use.
pub(super) fn no_flavor(case: &Case<'_>, view: &View<'_>) -> Blocker {
    let queue = &case.job.queue;
    let there = flavors_there(case, view);
    let there = match there.as_slice() {
        [] => "no flavor".to_owned(),
        names => format!("the flavor {}", list(names)),
    };
    let may = named(case);
    let may = if may.is_empty() { "none".to_owned() } else { list(&may) };
    Blocker {
        code: Cause::NoFlavor,
        cluster: view.cluster.name.clone(),
        sentence: format!(
            "the nodes of {} that would do have {there}, and {queue} may not use those for all that the job asks for; it \
             may use {may}",
            view.cluster.name
        ),
        try_this: format!(
            "give {queue} a quota of that flavor that names cpu, memory and gpu: squadron apply -f FILE"
        ),
        with: Vec::new(),
    }
}

/// Flavors of the nodes that some pod of the job accepts.
fn flavors_there(case: &Case<'_>, view: &View<'_>) -> Vec<String> {
    let faces = view.everything.room.faces.iter().zip(&view.everything.kinds);
    let accepted = faces
        .filter(|(face, _)| case.job.gang.iter().any(|part| part.wish.accepts(face, part.requests.gpus)));
    let mut names: Vec<String> =
        accepted.filter_map(|(_, kind)| Some(case.quotas.flavors.name((*kind)?).to_owned())).collect();
    names.sort();
    names.dedup();
    names
}

/// `h100 (gpu)` for each flavor that the queue may use.
fn named(case: &Case<'_>) -> Vec<String> {
    let Limits::Flavors(limits) = &case.named else { return Vec::new() };
    let of = |limit: &crate::dispatch::pack::Limit| {
        let left = limit.left;
        let all = [("cpu", left.cpu_milli), ("memory", left.memory_bytes), ("gpu", left.gpus)];
        let words: Vec<&str> = all.into_iter().filter(|(_, left)| *left > 0).map(|(word, _)| word).collect();
        format!("{} ({})", case.quotas.flavors.name(limit.flavor), words.join(", "))
    };
    limits.iter().map(of).collect()
}

/// The queue's quota, if more of it would start the job on a cluster, alone or with the fewest other changes.
pub(super) fn of_queue(case: &Case<'_>, considered: &[&View<'_>]) -> Option<Blocker> {
    let place = case.place?;
    let needs = considered.iter().filter_map(|view| {
        let needs = case.needs(view, &[])?;
        let others: Vec<Cause> =
            needs.iter().copied().filter(|cause| *cause != Cause::QuotaExhausted).collect();
        (others.len() < needs.len()).then_some((view, needs, others))
    });
    let (view, needs, with) = needs.min_by_key(|(view, _, others)| (others.len(), view.site))?;
    let charge = case.packing(view, &needs)?.charge;
    let code = if is_never(case, considered) { Cause::QuotaNever } else { Cause::QuotaExhausted };
    let tree = &case.quotas.trees[place.tree];
    let refused = parts(&charge).find_map(|(flavor, resource, amount)| {
        let now = tree.book(flavor, resource)?;
        let idle = tree.idle(flavor, resource)?;
        let book = if code == Cause::QuotaNever { idle } else { now };
        Some(Refusal {
            tree,
            place,
            flavor,
            resource,
            amount,
            at: book.refuses(place.node, amount)?,
            now,
            idle,
        })
    });
    let (sentence, try_this) = match &refused {
        Some(refusal) => (refusal.sentence(case, code), refusal.try_this(case, code)),
        None => (format!("the quota of {} is kept for another job", case.job.queue), String::new()),
    };
    let blocker = Blocker { code, cluster: String::new(), sentence, try_this, with: Vec::new() };
    Some(case.also(blocker, with))
}

/// Whether the queue could not take it even if nothing ran.
fn is_never(case: &Case<'_>, considered: &[&View<'_>]) -> bool {
    let possible =
        |limits| considered.iter().any(|view| view.everything.pack(&case.job.gang, limits).is_some());
    if possible(&case.named) { !possible(&case.idle) } else { !case.fits_boundless(&case.idle) }
}

/// A limit of the tree that a job meets.
struct Refusal<'a> {
    tree: &'a Tree,
    place: Place,
    flavor: usize,
    resource: Resource,
    amount: i64,
    /// The node whose limit it is.
    at: usize,
    now: &'a Tenants,
    idle: &'a Tenants,
}

impl Refusal<'_> {
    fn sentence(&self, case: &Case<'_>, code: Cause) -> String {
        let (node, flavor) = (self.tree.name(self.at), case.quotas.flavors.name(self.flavor));
        let asked = amount(self.resource, self.amount);
        if code == Cause::QuotaNever {
            let most = self.idle.available(self.place.node).max(0);
            return format!(
                "{} may never use {asked} of {flavor}: the limits of {node} allow it at most {}, even if nothing ran",
                case.job.queue,
                amount(self.resource, most)
            );
        }
        let used = self.now.used(self.at);
        let over = used > self.most();
        let after = if over {
            "; that is more than its quota since that was lowered, and nothing is stopped for it"
        } else {
            ""
        };
        format!(
            "{node} may use {} of {flavor} and uses {}{}; the job asks for {asked}{after}",
            self.allowed(),
            amount(self.resource, used),
            self.users()
        )
    }

    /// With what it may borrow.
    fn most(&self) -> i64 {
        let quota = self.now.nominal(self.at);
        match self.tree.parent(self.at) {
            Some(_) => quota.saturating_add(self.now.borrowing_limit(self.at).unwrap_or(0)),
            None => quota,
        }
    }

    fn allowed(&self) -> String {
        let quota = amount(self.resource, self.now.nominal(self.at));
        match (self.tree.parent(self.at), self.now.borrowing_limit(self.at)) {
            (Some(_), Some(limit)) => format!("{quota} and borrow {}", amount(self.resource, limit)),
            _ => quota,
        }
    }

    /// ` (vision 6, speech 2)`.
    fn users(&self) -> String {
        let users = self.tree.users(self.flavor, self.resource, self.at);
        let shown: Vec<String> = users
            .iter()
            .take(5)
            .map(|(queue, used)| format!("{queue} {}", amount(self.resource, *used)))
            .collect();
        let more = if users.len() > 5 { format!(" and {} more", users.len() - 5) } else { String::new() };
        if shown.is_empty() { String::new() } else { format!(" ({}{more})", shown.join(", ")) }
    }

    fn try_this(&self, case: &Case<'_>, code: Cause) -> String {
        let (node, flavor) = (self.tree.name(self.at), case.quotas.flavors.name(self.flavor));
        let raise = |book: &Tenants| {
            let arrives = self.tree.arrives(book, self.place.node, self.at, self.amount);
            let missing = book.used(self.at).saturating_add(arrives).saturating_sub(self.most());
            let missing = amount(self.resource, missing);
            format!("have the quota of {node} raised by {missing} of {flavor}: squadron apply -f FILE")
        };
        match code {
            Cause::QuotaNever => {
                let most = amount(self.resource, self.idle.available(self.place.node).max(0));
                format!("ask for at most {most} of {flavor} and submit it again, or {}", raise(self.idle))
            }
            _ => format!("wait until jobs that use it end, or {}", raise(self.now)),
        }
    }
}

fn amount(resource: Resource, amount: i64) -> String {
    match resource {
        Resource::Cpu => cores(amount),
        Resource::Memory => memory(amount),
        Resource::Gpu => gpus(amount),
    }
}
