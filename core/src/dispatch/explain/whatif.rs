//! What if: whether a job would start on a cluster if some of what keeps it off had changed.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    dispatch::{
        Cause, GangPart, Waiting,
        explain::view::{Kinds, View},
        keep::Kept,
        pack::{Kind, Limit, Limits, Packing},
        plan::Pass,
        price::{Dear, Ground, Prices},
        quota::{Place, Quotas},
        room::Room,
        site::is_allowed,
    },
    placement::{Face, NodeWish, Toleration},
    resources::Resources,
    sentence::list,
};

/// What can change for a cluster, in the order in which it is tried. Quota stands for all that is declared about amounts.
const CHANGES: [Cause; 10] = [
    Cause::Reserved,
    Cause::QuotaExhausted,
    Cause::ClusterFull,
    Cause::NoReadyNode,
    Cause::NoFlavor,
    Cause::NoMatchingNode,
    Cause::TooBig,
    Cause::MaxPrice,
    Cause::Residency,
    Cause::ClusterStale,
];

/// A job that waits, with what its queue may take.
pub(super) struct Case<'a> {
    pub(super) job: &'a Waiting,
    pub(super) place: Option<Place>,
    pub(super) quotas: &'a Quotas,
    pub(super) prices: Prices<'a>,
    kept: Option<(&'a Kept, &'a str)>,
    /// What may be taken of clusters where others stop for somebody.
    claimed: &'a BTreeMap<usize, Room>,
    /// With the quota that is kept for a starving gang counted as used.
    strict: Limits,
    limits: Limits,
    pub(super) idle: Limits,
    pub(super) named: Limits,
    /// If it might use any node: one more flavor stands for nodes without any.
    opened: Limits,
    /// The job's gang on nodes that it accepts whatever their labels and taints are.
    anywhere: Vec<GangPart>,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        pass: &'a Pass<'_>,
        job: &'a Waiting,
        place: Option<Place>,
        strict: Limits,
    ) -> Case<'a> {
        let quotas = &pass.quotas;
        let anywhere = job.gang.iter().map(|part| GangPart { wish: tolerant(), ..part.clone() }).collect();
        let name = |kept: &Kept| pass.groups[kept.group].head().map_or("", |job| job.name.as_str());
        Case {
            job,
            place,
            quotas,
            prices: pass.prices(),
            kept: pass.kept.as_ref().filter(|kept| kept.job != job.job).map(|kept| (kept, name(kept))),
            claimed: &pass.claimed.beside,
            strict,
            limits: quotas.limits(place),
            idle: quotas.limits_if_idle(place),
            named: quotas.limits_by_name(place),
            opened: if place.is_some() { opened(quotas.flavors.len()) } else { Limits::None },
            anywhere,
        }
    }

    pub(super) fn kept_name(&self) -> &str {
        self.kept.map_or("", |(_, name)| name)
    }

    /// Whether the cluster is kept for a gang that has starved.
    pub(super) fn is_kept_at(&self, view: &View<'_>) -> bool {
        self.kept.is_some_and(|(kept, _)| kept.site == view.site)
    }

    /// Whether the job would start on the cluster if these had changed.
    pub(super) fn fits(&self, view: &View<'_>, changed: &[Cause]) -> bool {
        self.packing(view, changed).is_some()
    }

    /// Whether another price is all that it takes, even if some other change would do as well.
    pub(super) fn is_only_dear(&self, view: &View<'_>) -> bool {
        self.job.preferences.max_price.is_some() && self.fits(view, &[Cause::MaxPrice])
    }

    /// Where it would go then.
    pub(super) fn packing(&self, view: &View<'_>, changed: &[Cause]) -> Option<Packing> {
        let is = |cause| changed.contains(&cause);
        if view.cluster.standing.is_away() && !is(Cause::ClusterStale) {
            return None;
        }
        if !view.location.admits(&self.job.preferences) && !is(Cause::Residency) {
            return None;
        }
        if !view.set.takes(self.job.manifest) && !is(Cause::ClusterFull) {
            return None;
        }
        self.pack(view, changed).ok()
    }

    /// The same, wherever the cluster is and whether it takes more jobs or not; or what the price has to do with it.
    pub(super) fn pack(&self, view: &View<'_>, changed: &[Cause]) -> Result<Packing, Dear> {
        let is = |cause| changed.contains(&cause);
        let limits = self.limits(changed);
        if is(Cause::TooBig) {
            let Kinds { room, kinds } = boundless(limits);
            return self.pack_into(&room, &kinds, view, &self.anywhere, changed);
        }
        let gang = if is(Cause::NoMatchingNode) { &self.anywhere } else { &self.job.gang };
        let at = match (is(Cause::ClusterFull), is(Cause::NoReadyNode)) {
            (false, false) => &view.now,
            (true, false) => &view.empty,
            (false, true) => &view.ready,
            (true, true) => &view.everything,
        };
        let free_of_holds = is(Cause::Reserved) || is(Cause::ClusterFull) || is(Cause::NoReadyNode);
        let at = if is(Cause::NoFlavor) { &at.opened(self.quotas.flavors.len()) } else { at };
        let kept = self.kept.filter(|(kept, _)| kept.site == view.site).map(|(kept, _)| &kept.beside);
        let holds: Vec<&Room> = kept.into_iter().chain(self.claimed.get(&view.site)).collect();
        if holds.is_empty() || free_of_holds {
            return self.pack_into(&at.room, &at.kinds, view, gang, changed);
        }
        let room = holds.into_iter().fold(at.room.clone(), |room, beside| room.least(beside));
        self.pack_into(&room, &at.kinds, view, gang, changed)
    }

    fn pack_into(
        &self,
        room: &Room,
        kinds: &[Kind],
        view: &View<'_>,
        gang: &[GangPart],
        changed: &[Cause],
    ) -> Result<Packing, Dear> {
        let limits = self.limits(changed);
        let most = self.job.preferences.max_price.as_ref();
        match most.filter(|_| !changed.contains(&Cause::MaxPrice)) {
            Some(most) => {
                let ground = Ground { cluster: &view.cluster.name, room, kinds };
                self.prices.pack_below(ground, gang, limits, most)
            }
            None => room.pack_within(kinds, gang, limits).map_err(|_| Dear::NoRoom),
        }
    }

    fn limits(&self, changed: &[Cause]) -> &Limits {
        if changed.contains(&Cause::NoFlavor) {
            &self.opened
        } else if changed.contains(&Cause::QuotaExhausted) || changed.contains(&Cause::QuotaNever) {
            &self.named
        } else if changed.contains(&Cause::Reserved) {
            &self.limits
        } else {
            &self.strict
        }
    }

    /// The fewest changes that start the job on the cluster together with `changed`, which are not repeated. `None` if it
    /// would take everything at once.
    pub(super) fn needs(&self, view: &View<'_>, changed: &[Cause]) -> Option<Vec<Cause>> {
        let useful: Vec<Cause> = CHANGES.into_iter().filter(|cause| self.may_help(view, *cause)).collect();
        smallest(&useful, |more| {
            let all: Vec<Cause> = changed.iter().chain(more).copied().collect();
            self.fits(view, &all)
        })
    }

    /// What of quota must change for a job that would have all the room it could want.
    pub(super) fn quota_needs(&self) -> Vec<Cause> {
        let useful = [Cause::Reserved, Cause::QuotaExhausted, Cause::NoFlavor];
        let useful: Vec<Cause> = useful.into_iter().filter(|cause| self.is_there(*cause)).collect();
        smallest(&useful, |changed| self.fits_boundless(self.limits(changed))).unwrap_or_default()
    }

    /// Whether the limits would let it start on nodes that are large enough.
    pub(super) fn fits_boundless(&self, limits: &Limits) -> bool {
        boundless(limits).pack(&self.anywhere, limits).is_some()
    }

    /// Whether some cluster, were it empty, would take the job within a guarantee of its queue. What fits no cluster at all
    /// is judged by its quota alone.
    pub(super) fn is_guaranteed(&self, views: &[View<'_>]) -> bool {
        let own = within_guarantee(&self.limits);
        if !self.fits_boundless(&own) {
            return false;
        }
        let takes = |limits: &Limits| {
            let allowed = views.iter().filter(|view| is_allowed(self.job.pinned, view.cluster.id));
            allowed.into_iter().any(|view| view.everything.pack(&self.job.gang, limits).is_some())
        };
        takes(&own) || !takes(&self.named)
    }

    fn is_there(&self, cause: Cause) -> bool {
        match cause {
            Cause::Reserved => self.kept.is_some() || !self.claimed.is_empty(),
            _ => self.place.is_some(),
        }
    }

    fn may_help(&self, view: &View<'_>, cause: Cause) -> bool {
        match cause {
            Cause::Reserved | Cause::QuotaExhausted | Cause::NoFlavor => self.is_there(cause),
            Cause::ClusterStale => view.cluster.standing.is_away(),
            Cause::Residency => !view.location.admits(&self.job.preferences),
            Cause::MaxPrice => self.job.preferences.max_price.is_some(),
            _ => true,
        }
    }
}

/// No limit, in a fleet of so many flavors.
fn opened(flavors: usize) -> Limits {
    let all = boundless_amount();
    Limits::Flavors((0..=flavors).map(|flavor| Limit { flavor, left: all, own: all }).collect())
}

/// What is left of guarantees alone.
fn within_guarantee(limits: &Limits) -> Limits {
    match limits {
        Limits::None => Limits::None,
        Limits::Flavors(flavors) => {
            Limits::Flavors(flavors.iter().map(|limit| Limit { left: limit.own, ..*limit }).collect())
        }
    }
}

fn boundless_amount() -> Resources {
    Resources { cpu_milli: i64::MAX, memory_bytes: i64::MAX, gpus: i64::MAX }
}

impl Kinds {
    /// The same with a flavor for nodes that have none.
    fn opened(&self, flavors: usize) -> Kinds {
        let kind = |index: usize| self.kinds.get(index).copied().flatten().or(Some(flavors));
        Kinds { room: self.room.clone(), kinds: (0..self.room.nodes.len()).map(kind).collect() }
    }

    pub(super) fn pack(&self, gang: &[GangPart], limits: &Limits) -> Option<Packing> {
        self.room.pack_within(&self.kinds, gang, limits).ok()
    }
}

/// A node of each allowed flavor that holds whatever is asked for.
fn boundless(limits: &Limits) -> Kinds {
    let kinds: Vec<_> = match limits {
        Limits::None => vec![None],
        Limits::Flavors(limits) => limits.iter().map(|limit| Some(limit.flavor)).collect(),
    };
    let nodes = kinds.iter().map(|_| (Arc::from(""), boundless_amount())).collect();
    let faces = Arc::new(vec![Face::default(); kinds.len()]);
    Kinds { room: Room { nodes, faces }, kinds }
}

/// Every label and taint will do.
fn tolerant() -> NodeWish {
    let everything = Toleration { operator: "Exists".to_owned(), ..Toleration::default() };
    NodeWish { tolerations: vec![everything], ..NodeWish::default() }
}

/// The first of the smallest sets that is enough.
fn smallest(of: &[Cause], is_enough: impl Fn(&[Cause]) -> bool) -> Option<Vec<Cause>> {
    (0..=of.len()).find_map(|size| combination(of, size, &mut Vec::new(), &is_enough))
}

fn combination(
    of: &[Cause],
    size: usize,
    chosen: &mut Vec<Cause>,
    is_enough: &impl Fn(&[Cause]) -> bool,
) -> Option<Vec<Cause>> {
    if size == 0 {
        return is_enough(chosen).then(|| chosen.clone());
    }
    for (at, cause) in of.iter().enumerate() {
        chosen.push(*cause);
        if let Some(found) = combination(&of[at + 1..], size - 1, chosen, is_enough) {
            return Some(found);
        }
        chosen.pop();
    }
    None
}

/// What must change besides, in words.
pub(super) fn words(with: &[Cause], queue: &str) -> String {
    let all: Vec<String> = with.iter().map(|cause| word(*cause, queue)).collect();
    list(&all)
}

fn word(cause: Cause, queue: &str) -> String {
    match cause {
        Cause::Reserved => "room is kept for another job".to_owned(),
        Cause::MakingRoom => "others stop for it".to_owned(),
        Cause::QuotaExhausted | Cause::QuotaNever => format!("the quota of {queue} is not enough"),
        Cause::ClusterFull => "there is no room now".to_owned(),
        Cause::NoReadyNode => "nodes are not ready".to_owned(),
        Cause::NoFlavor => format!("{queue} has no quota for those nodes"),
        Cause::NoMatchingNode => "labels or taints of nodes do not match".to_owned(),
        Cause::TooBig => "the nodes are too small".to_owned(),
        Cause::ClusterStale => "the cluster is silent, or has yet to tell what it holds".to_owned(),
        Cause::Residency => "the cluster is not known to be in a region that the job may run in".to_owned(),
        Cause::MaxPrice => "the price is above the job's maximum or not known".to_owned(),
        Cause::Pinned => "the job is pinned elsewhere".to_owned(),
        Cause::NoCluster => "no cluster is accepted".to_owned(),
        Cause::Failover => "the database lost its newest commits".to_owned(),
    }
}
