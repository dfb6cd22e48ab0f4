//! Refusals: for each accepted cluster that cannot take a job, why not, in the words of its blocker.

use crate::dispatch::{
    Blocker, Cause, Standing, Waiting,
    blockers::{Looked, of_cluster},
    choice::Refusal,
    room::Room,
};

/// Every accepted cluster but those that `takes` names, with its blocker, in the order of the input.
pub(crate) fn refused(
    job: &Waiting,
    all: &[Looked<'_>],
    takes: impl Fn(&Looked<'_>) -> bool,
) -> Vec<Refusal> {
    let others = all.iter().filter(|one| one.cluster.standing != Standing::NotAccepted && !takes(one));
    others
        .map(|one| Refusal {
            blocker: blocker(job, one),
            free: one.free.total(),
            total: Room::empty(one.cluster).total(),
        })
        .collect()
}

fn blocker(job: &Waiting, one: &Looked<'_>) -> Blocker {
    if job.pinned.is_none_or(|pin| pin == one.cluster.id) {
        return of_cluster(job, one);
    }
    Blocker {
        code: Cause::Pinned,
        cluster: one.cluster.name.clone(),
        sentence: format!("the job is pinned to another cluster, so {} is not looked at", one.cluster.name),
        try_this: String::new(),
    }
}
