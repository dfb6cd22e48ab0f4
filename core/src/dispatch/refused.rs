//! Refusals: for each accepted cluster that cannot take a job, why not, in the words of its blocker.

use crate::{
    desired::full,
    dispatch::{
        Blocker, Cause, Waiting,
        blockers::{Looked, elsewhere, of_cluster, too_dear},
        choice::Refusal,
        pack::Limits,
        price::{Dear, Prices},
        site::{Open, is_allowed},
    },
};

/// Why the job does not go to the cluster as the pass left it. `kept` says that it is kept for another job.
pub(crate) fn refusal(job: &Waiting, site: &Open<'_>, kept: bool, prices: Prices<'_>) -> Refusal {
    let (free, total) = (site.free.total(), site.empty.total());
    Refusal { blocker: blocker(job, site, kept, prices), free, total }
}

fn blocker(job: &Waiting, site: &Open<'_>, kept: bool, prices: Prices<'_>) -> Blocker {
    let name = &site.cluster.name;
    let of = |code, sentence| Blocker {
        code,
        cluster: name.clone(),
        sentence,
        try_this: String::new(),
        with: Vec::new(),
    };
    if !is_allowed(job.pinned, site.cluster.id) {
        return of(
            Cause::Pinned,
            format!("the job is pinned to another cluster, so {name} is not looked at"),
        );
    }
    if let Some(blocker) = elsewhere(job, &site.location, name) {
        return blocker;
    }
    if site.may_take(job) && !site.takes(job) {
        return full(name);
    }
    if !site.takes(job) || site.free.pack(&job.gang).is_err() {
        return of_cluster(job, &Looked { cluster: site.cluster, free: &site.free });
    }
    if let (Some(most), Err(dear)) =
        (&job.preferences.max_price, site.pack(&site.free, job, &Limits::None, prices))
        && dear != Dear::NoRoom
    {
        return too_dear(name, most, &dear);
    }
    if kept {
        return of(
            Cause::Reserved,
            format!(
                "{name} has room, but that is kept for another job, which has waited long or for which others stop"
            ),
        );
    }
    let queue = &job.queue;
    of(Cause::QuotaExhausted, format!("{name} has room, but {queue} may not take that much of it"))
}
