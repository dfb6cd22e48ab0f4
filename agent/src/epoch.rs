//! Epoch: which life of the agent acts in this cluster, by a Lease in the agent's namespace.
//!
//! Owns the Lease `squadron-agent`, its annotation with the epoch and the one that counts renewals. Invariants: each process that
//! takes the Lease gets a greater epoch than all before it, because taking it is one conditional write; the control plane is told
//! no greater count of renewals than the Lease holds, so that the next life knows as many. Without the Lease nothing else of the
//! controller runs. If someone else took it, this process stops what it does and starts over.

use std::time::{Duration, Instant};

use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::Pod,
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff,
};
use kube::{Api, Client, api::PostParams};
use squadron_core::lease::Standing;

use crate::{clock, fencer::mark, lease::Lease as Promised};

/// Name of the Lease.
pub const NAME: &str = "squadron-agent";
/// Annotation: the epoch of the holder.
const EPOCH: &str = "squadron.dev/epoch";
/// A Lease that did not change for this long has no holder any more.
const EXPIRES_AFTER: Duration = Duration::from_secs(15);
const RENEW_EVERY: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The Lease is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("the agent's Lease in namespace {namespace} cannot be {step}")]
    Api {
        step: &'static str,
        namespace: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("another agent took the Lease")]
    Lost,
}

/// Who takes the Lease.
#[derive(Clone, Debug)]
pub struct Holder {
    pub namespace: String,
    pub pod: String,
    pub pod_uid: String,
}

impl Holder {
    /// Pod and uid, so that a pod that was made anew is someone else.
    fn identity(&self) -> String {
        format!("{}_{}", self.pod, self.pod_uid)
    }
}

/// The Lease, held.
pub struct Held {
    leases: Api<Lease>,
    namespace: String,
    lease: Lease,
    /// The epoch of this life.
    pub epoch: u64,
    /// Renewals that the lives before counted.
    pub renewals: u64,
}

/// Takes the Lease as soon as it is free, and with it the next epoch, greater than `floor`.
pub async fn take(client: &Client, holder: &Holder, floor: u64) -> Result<Held, LeaseError> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), &holder.namespace);
    let mut seen: Option<(String, Instant)> = None;
    let mut told = false;
    loop {
        let found = leases.get_opt(NAME).await.map_err(error("read", holder))?;
        let version =
            found.as_ref().and_then(|lease| lease.metadata.resource_version.clone()).unwrap_or_default();
        let since = match &seen {
            Some((known, since)) if *known == version => *since,
            _ => Instant::now(),
        };
        seen = Some((version, since));
        let waited = since.elapsed();
        let free = match &found {
            None => true,
            Some(lease) => waited >= EXPIRES_AFTER || is_free(client, lease, holder).await,
        };
        if free && let Some(held) = claim(&leases, found, holder, floor).await? {
            return Ok(held);
        }
        if !told {
            let namespace = &holder.namespace;
            tracing::info!(namespace, "another agent holds the Lease; waiting until it is free");
            told = true;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Nobody holds it, or an earlier life of this pod, or a pod that is gone.
async fn is_free(client: &Client, lease: &Lease, holder: &Holder) -> bool {
    let identity = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default();
    if identity.is_empty() || identity == holder.identity() {
        return true;
    }
    let Some((pod, uid)) = identity.split_once('_') else { return false };
    let pods: Api<Pod> = Api::namespaced(client.clone(), &holder.namespace);
    match pods.get_opt(pod).await {
        Ok(found) => found.is_none_or(|found| found.metadata.uid.as_deref() != Some(uid)),
        Err(_) => false,
    }
}

/// `None` when someone else was quicker.
async fn claim(
    leases: &Api<Lease>,
    found: Option<Lease>,
    holder: &Holder,
    floor: u64,
) -> Result<Option<Held>, LeaseError> {
    let exists = found.is_some();
    let lease = next(found, &holder.identity(), floor);
    let written = match exists {
        true => leases.replace(NAME, &PostParams::default(), &lease).await,
        false => leases.create(&PostParams::default(), &lease).await,
    };
    match written {
        Ok(lease) => {
            let (leases, namespace) = (leases.clone(), holder.namespace.clone());
            let (epoch, renewals) = (epoch_of(&lease), number(&lease, mark::RENEWALS));
            Ok(Some(Held { leases, namespace, epoch, renewals, lease }))
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(cause) => Err(error("taken", holder)(cause)),
    }
}

/// The Lease as the next life writes it.
fn next(found: Option<Lease>, identity: &str, floor: u64) -> Lease {
    let before = found.as_ref().map_or(0, epoch_of);
    let mut lease = found.unwrap_or_default();
    lease.metadata.name = Some(NAME.to_owned());
    lease.metadata.managed_fields = None;
    annotate(&mut lease, EPOCH, &before.max(floor).saturating_add(1));
    let transitions = lease.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(EXPIRES_AFTER.as_secs()).ok(),
        lease_transitions: Some(transitions.saturating_add(1)),
        acquire_time: Some(now()),
        renew_time: Some(now()),
        ..LeaseSpec::default()
    });
    lease
}

impl Held {
    /// Renews for ever, and with every promise of the control plane; returns when someone else has the Lease. An API
    /// server that is away is waited for: nobody else can take the Lease meanwhile either.
    pub async fn keep(&mut self, promised: &Promised) -> LeaseError {
        let mut promises = promised.promises();
        loop {
            tokio::select! {
                () = tokio::time::sleep(often(promised.standing(clock::tick()).1)) => {}
                Ok(()) = promises.changed() => {}
            }
            match self.renew(promised).await {
                Ok(()) => {}
                Err(LeaseError::Lost) => return LeaseError::Lost,
                Err(error) => tracing::warn!(%error, "the Lease could not be renewed"),
            }
        }
    }

    /// Repeats the fencer's newest mark with the time that is left. The mark is read before the clock, so the fencer
    /// counts from a moment that was earlier.
    async fn renew(&mut self, promised: &Promised) -> Result<(), LeaseError> {
        match mark::read(&self.leases).await {
            Ok(Some(left)) => self.echo(&left.mark, promised),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the fencer's mark cannot be read"),
        }
        let renewals = promised.renewals();
        annotate(&mut self.lease, mark::RENEWALS, &renewals);
        self.write(|spec| spec.renew_time = Some(now())).await?;
        promised.note(renewals);
        Ok(())
    }

    fn echo(&mut self, mark: &str, promised: &Promised) {
        let now = clock::tick();
        let (standing, length) = promised.standing(now);
        if standing == Standing::Unknown || mark.is_empty() {
            return;
        }
        annotate(&mut self.lease, mark::ECHO, &mark);
        annotate(&mut self.lease, mark::LEFT, &promised.left(now));
        if length > 0 {
            annotate(&mut self.lease, mark::LENGTH, &length);
        }
    }

    /// Lets the next process take the Lease at once.
    pub async fn release(&mut self) {
        if let Err(error) = self.write(|spec| spec.holder_identity = Some(String::new())).await {
            tracing::warn!(%error, "the Lease could not be released");
        }
    }

    /// The control plane knows of `epoch`: the next life must be greater. Fails if the Lease is no longer ours.
    pub async fn raise(&mut self, epoch: u64) -> Result<(), LeaseError> {
        let raised = epoch.max(self.epoch);
        annotate(&mut self.lease, EPOCH, &raised);
        self.write(|spec| spec.renew_time = Some(now())).await
    }

    async fn write(&mut self, change: impl FnOnce(&mut LeaseSpec)) -> Result<(), LeaseError> {
        let mut lease = self.lease.clone();
        change(lease.spec.get_or_insert_default());
        match self.leases.replace(NAME, &PostParams::default(), &lease).await {
            Ok(written) => {
                self.lease = written;
                Ok(())
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(LeaseError::Lost),
            Err(cause) => Err(LeaseError::Api {
                step: "written",
                namespace: self.namespace.clone(),
                cause: Box::new(cause),
            }),
        }
    }
}

/// The pause between renewals under a lease of `length` milliseconds, 0 if there is none: the fencer counts from a mark that
/// is at most this much older, so it is short where the lease is.
fn often(length: u64) -> Duration {
    if length == 0 { RENEW_EVERY } else { RENEW_EVERY.min(Duration::from_millis((length / 10).max(1_000))) }
}

fn error(step: &'static str, holder: &Holder) -> impl FnOnce(kube::Error) -> LeaseError {
    let namespace = holder.namespace.clone();
    move |cause| LeaseError::Api { step, namespace, cause: Box::new(cause) }
}

fn epoch_of(lease: &Lease) -> u64 {
    number(lease, EPOCH)
}

/// An annotation that counts; one that is missing or no number counts nothing.
fn number(lease: &Lease, key: &str) -> u64 {
    mark::annotation(lease, key).parse().unwrap_or(0)
}

fn annotate(lease: &mut Lease, key: &str, value: &impl ToString) {
    lease.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_string());
}

fn now() -> MicroTime {
    MicroTime(jiff::Timestamp::from_microsecond(clock::now().0).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_grow_past_the_lease_and_past_the_floor() {
        let first = next(None, "a_1", 0);
        let second = next(Some(first.clone()), "b_2", 0);
        let third = next(Some(second.clone()), "b_2", 40);
        let epochs = [&first, &second, &third].map(epoch_of);
        assert_eq!(epochs, [1, 2, 41]);
        let transitions = third.spec.and_then(|spec| spec.lease_transitions);
        assert_eq!(transitions, Some(3));
    }

    #[test]
    fn the_next_life_finds_the_renewals_of_those_before() {
        let mut lease = next(None, "a_1", 0);
        assert_eq!(number(&lease, mark::RENEWALS), 0);
        annotate(&mut lease, mark::RENEWALS, &71);
        assert_eq!(number(&next(Some(lease), "b_2", 0), mark::RENEWALS), 71);
    }

    #[test]
    fn an_annotation_that_is_no_number_counts_as_none() {
        let mut lease = next(None, "a_1", 7);
        lease.metadata.annotations.get_or_insert_default().insert(EPOCH.to_owned(), "many".to_owned());
        assert_eq!(epoch_of(&next(Some(lease), "a_1", 8)), 9);
    }
}
