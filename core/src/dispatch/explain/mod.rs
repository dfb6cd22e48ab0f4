//! Explaining: why a job waits, with the change that starts it first.
//!
//! Owns the rank of blockers. Each names one thing that could change, and in `with` what must change besides; that is found
//! by trying what would be if it had changed ([`whatif`]), not by guessing. Invariants: there is at least one; those of which
//! one change is enough stand first, among them the most actionable. Equal jobs are explained once.

mod phrase;
mod quota;
#[cfg(test)]
mod tests;
mod view;
mod whatif;

use std::{cmp::Reverse, sync::Arc};

pub use self::phrase::{MOST_OVERTAKERS, Place, waits};

use crate::{
    desired::full,
    dispatch::{
        Blocked, Blocker, Cause, Standing, Waiting,
        blockers::{
            Looked, elsewhere, is_too_small, nowhere, of_cluster, pinned_elsewhere, too_big, too_dear,
        },
        explain::{
            view::{View, Views},
            whatif::{Case, words},
        },
        plan::Pass,
        preempt::{CUT, TOO_EARLY, waits_for},
        site::is_allowed,
        urgency::Urgency,
    },
    id::JobId,
    time::Timestamp,
};

/// Every job that still waits, with its blockers, those of a queue in the order of its line.
pub(super) fn blocked(mut pass: Pass<'_>) -> Vec<Blocked> {
    let strict: Vec<_> = pass.groups.iter().map(|group| pass.quotas.limits(group.place)).collect();
    pass.release_kept_quota();
    pass.release_claimed_quota();
    let mut views = Views::new(&pass);
    let mut left: Vec<Left<'_>> = Vec::new();
    for (group, strict) in pass.groups.iter().zip(strict) {
        let Some(job) = group.head() else { continue };
        let case = Case::new(&pass, job, group.place, strict);
        let views = views.of(&pass, group.place);
        let blockers = Arc::new(explain(&case, &views));
        let borrows = group.place.is_some() && !case.is_guaranteed(&views);
        let now = pass.input.now;
        let waiting = group.waiting().iter();
        left.extend(waiting.map(|job| Left::new(job, borrows, Arc::clone(&blockers), now)));
    }
    for coming in &pass.claimed.coming {
        let waits = waits_for(coming, &pass.sites[coming.site].cluster.name, pass.input.now);
        left.push(Left::new(coming.job, false, Arc::new(vec![waits]), pass.input.now));
    }
    left.sort_by_key(Left::order);
    left.into_iter().map(|left| told(&pass, left)).collect()
}

/// A job that keeps waiting.
struct Left<'a> {
    job: &'a Waiting,
    /// Whether, by itself, it could start only beyond what is left of a guarantee.
    borrows: bool,
    turn: (Reverse<i32>, Urgency, Timestamp, JobId),
    blockers: Arc<Vec<Blocker>>,
}

impl<'a> Left<'a> {
    fn new(job: &'a Waiting, borrows: bool, blockers: Arc<Vec<Blocker>>, now: Timestamp) -> Left<'a> {
        Left { job, borrows, turn: job.turn(now), blockers }
    }

    /// The line of each queue: as turns go.
    fn order(&self) -> (&'a str, bool, (Reverse<i32>, Urgency, Timestamp, JobId)) {
        (&self.job.queue, self.borrows, self.turn)
    }
}

fn told(pass: &Pass<'_>, left: Left<'_>) -> Blocked {
    let Left { job, borrows, blockers, .. } = left;
    let mut note = kept_for(pass, job);
    note.push_str(if pass.claimed.cut.contains(&job.job) { CUT } else { "" });
    note.push_str(if pass.claimed.early.contains(&job.job) { TOO_EARLY } else { "" });
    Blocked { job: job.job, blockers, borrows, note }
}

fn kept_for(pass: &Pass<'_>, job: &Waiting) -> String {
    let kept = pass.kept.as_ref().filter(|kept| kept.job == job.job);
    kept.map_or_else(String::new, |kept| {
        let cluster = &pass.sites[kept.site].cluster.name;
        format!("; it has waited long, so {cluster} is kept for it")
    })
}

/// Why the job fits on none of the clusters that it may use. Never empty.
fn explain(case: &Case<'_>, views: &[View<'_>]) -> Vec<Blocker> {
    let job = case.job;
    if let Some(broken) = quota::broken(case) {
        return vec![broken];
    }
    let accepted: Vec<&View<'_>> =
        views.iter().filter(|view| view.cluster.standing != Standing::NotAccepted).collect();
    let considered: Vec<&View<'_>> =
        accepted.iter().filter(|view| is_allowed(job.pinned, view.cluster.id)).copied().collect();
    let looked: Vec<Looked<'_>> = views.iter().map(View::looked).collect();
    if considered.is_empty() {
        let pinned = views.iter().find(|view| Some(view.cluster.id) == job.pinned);
        return vec![case.besides(nowhere(job, &looked), pinned)];
    }
    if let Some(too_big) = bigger_than_all(case, &considered) {
        return vec![too_big];
    }
    let mut blockers: Vec<Blocker> = considered.iter().filter_map(|view| of_view(case, view)).collect();
    blockers.extend(quota::of_queue(case, &considered));
    let others = accepted.iter().filter(|view| !is_allowed(job.pinned, view.cluster.id));
    let mut takers: Vec<String> =
        others.filter(|view| case.fits(view, &[])).map(|view| view.cluster.name.clone()).collect();
    takers.sort();
    blockers.extend(pinned_elsewhere(considered[0].cluster.as_ref(), &takers));
    blockers.sort_by(|a, b| (a.with.len(), a.code, &a.cluster).cmp(&(b.with.len(), b.code, &b.cluster)));
    blockers
}

/// No cluster could hold it even when empty, whatever its queue may use there.
fn bigger_than_all(case: &Case<'_>, considered: &[&View<'_>]) -> Option<Blocker> {
    let with_nodes: Vec<&&View<'_>> = considered.iter().filter(|view| !view.whole.nodes.is_empty()).collect();
    if with_nodes.is_empty() || !with_nodes.iter().all(|view| is_too_small(case.job, view.whole)) {
        return None;
    }
    let looked: Vec<Looked<'_>> =
        with_nodes.iter().map(|view| Looked { cluster: view.whole, free: &view.free }).collect();
    let blocker = too_big(case.job, &looked.iter().collect::<Vec<_>>());
    let needs = with_nodes.iter().filter_map(|view| case.needs(view, &[blocker.code]));
    let with = needs.min_by_key(Vec::len).unwrap_or_default();
    Some(case.also(blocker, with))
}

/// What the cluster lacks; nothing if all it lacks is quota.
fn of_view(case: &Case<'_>, view: &View<'_>) -> Option<Blocker> {
    let needs = case.needs(view, &[])?;
    let blocker = match needs.as_slice() {
        [Cause::QuotaExhausted] => return None,
        needs if needs.contains(&Cause::Residency) => {
            elsewhere(case.job, &view.location, &view.cluster.name)?
        }
        needs if needs.contains(&Cause::MaxPrice) => dear(case, view, needs)?,
        _ if case.is_only_dear(view) => dear(case, view, &[Cause::MaxPrice])?,
        [Cause::Reserved, ..] => reserved(case, view),
        needs if needs.contains(&Cause::NoFlavor) => quota::no_flavor(case, view),
        [Cause::ClusterFull, ..] if !view.set.takes(case.job.manifest) => full(&view.cluster.name),
        _ => of_cluster(case.job, &view.looked()),
    };
    Some(case.besides(blocker, Some(view)))
}

/// What it would cost where only its maximum keeps it off, once the rest of what it `needs` has changed.
fn dear(case: &Case<'_>, view: &View<'_>, needs: &[Cause]) -> Option<Blocker> {
    let most = case.job.preferences.max_price.as_ref()?;
    let rest: Vec<Cause> = needs.iter().copied().filter(|cause| *cause != Cause::MaxPrice).collect();
    Some(too_dear(&view.cluster.name, most, &case.pack(view, &rest).err()?))
}

fn reserved(case: &Case<'_>, view: &View<'_>) -> Blocker {
    let name = &view.cluster.name;
    let gang = case.kept_name();
    if !case.is_kept_at(view) {
        return Blocker {
            code: Cause::Reserved,
            cluster: name.clone(),
            sentence: format!("{name} has room for it, but others stop there to make room for another job"),
            try_this: "wait until that job has started".to_owned(),
            with: Vec::new(),
        };
    }
    Blocker {
        code: Cause::Reserved,
        cluster: name.clone(),
        sentence: format!(
            "{name} has room for it, but that is kept for {gang}, which has waited longer than {} hours; only what fits \
             beside that gang may start there",
            crate::dispatch::STARVES_AFTER_MS / 3_600_000
        ),
        try_this: format!("wait until {gang} runs, or cancel it"),
        with: Vec::new(),
    }
}

impl Case<'_> {
    /// The blocker with what must change besides, so that the job starts.
    fn besides(&self, blocker: Blocker, view: Option<&View<'_>>) -> Blocker {
        let with = match view {
            Some(view) => self.needs(view, &[blocker.code]).unwrap_or_default(),
            None => self.quota_needs(),
        };
        self.also(blocker, with)
    }

    fn also(&self, mut blocker: Blocker, with: Vec<Cause>) -> Blocker {
        if !with.is_empty() {
            blocker.sentence.push_str(&format!("; besides, {}", words(&with, &self.job.queue)));
        }
        Blocker { with, ..blocker }
    }
}
