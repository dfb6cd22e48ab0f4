//! Guard: sees whether KubeRay's operator works in this cluster; two operators must never share objects.
//!
//! Owns the watch on the operator's leader Lease. Invariant: passes run only while no such Lease is being renewed. The
//! age of a Lease is measured by our own clock from the moment we saw it change, so a skewed clock cannot fool us.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::ListParams};

/// The name of KubeRay's leader Lease, in whatever namespace the operator runs.
const KUBERAY_LEASE: &str = "ray-operator-leader";
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a Lease counts as held after its last change; three times KubeRay's own duration of 15 s.
const HELD_FOR: Duration = Duration::from_secs(45);

/// What was last seen of each Lease: its version and since when it stands.
#[derive(Default)]
struct Seen(BTreeMap<String, (String, Instant)>);

/// One Lease as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Holding {
    lease: String,
    holder: String,
    version: String,
    /// Age by the cluster's clock; used only when the Lease is seen for the first time.
    renewed_ago: Duration,
}

impl Seen {
    /// The holder of a Lease that is being renewed, if any.
    fn judge(&mut self, leases: &[Holding], now: Instant) -> Option<Holding> {
        let before = std::mem::take(&mut self.0);
        let mut operating = None;
        for holding in leases.iter().filter(|holding| !holding.holder.is_empty()) {
            let since = match before.get(&holding.lease) {
                Some((version, since)) if *version == holding.version => *since,
                Some(_) => now,
                None => now.checked_sub(holding.renewed_ago.min(HELD_FOR)).unwrap_or(now),
            };
            self.0.insert(holding.lease.clone(), (holding.version.clone(), since));
            if now.duration_since(since) < HELD_FOR {
                operating = Some(holding.clone());
            }
        }
        operating
    }
}

/// Whether passes may run.
#[derive(Clone, Default)]
pub struct Permit(Arc<AtomicBool>);

impl Permit {
    pub fn is_given(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Looks for KubeRay's operator for ever, giving and taking the permit. `resumed` is called whenever it is given.
pub async fn keep(client: Client, permit: Permit, resumed: impl Fn()) {
    let leases: Api<Lease> = Api::all(client);
    let params = ListParams::default().fields(&format!("metadata.name={KUBERAY_LEASE}"));
    let mut seen = Seen::default();
    let mut told = None;
    loop {
        match leases.list(&params).await {
            Ok(list) => {
                let listed: Vec<Holding> = list.items.iter().map(holding).collect();
                let operating = seen.judge(&listed, Instant::now());
                let free = operating.is_none();
                if told != Some(free) {
                    tell(operating.as_ref());
                    told = Some(free);
                }
                if permit.0.swap(free, Ordering::AcqRel) != free && free {
                    resumed();
                }
            }
            Err(error) => tracing::warn!(%error, "KubeRay's leader Lease could not be looked up"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn tell(operating: Option<&Holding>) {
    match operating {
        Some(holding) => tracing::error!(
            lease = holding.lease,
            holder = holding.holder,
            "KubeRay's operator holds its leader Lease, so the agent does not operate and only observes; \
             scale the operator to 0 to hand over, or set the chart's value `operate` to false",
        ),
        None => tracing::info!("no KubeRay operator is active; the agent operates RayClusters and RayJobs"),
    }
}

fn holding(lease: &Lease) -> Holding {
    let spec = lease.spec.clone().unwrap_or_default();
    let renewed = spec.renew_time.map_or(0, |time| time.0.as_second());
    let now = crate::clock::now().millis() / 1_000;
    Holding {
        lease: lease.metadata.namespace.clone().unwrap_or_default(),
        holder: spec.holder_identity.unwrap_or_default(),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        renewed_ago: Duration::from_secs(u64::try_from(now - renewed).unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, version: &str, renewed_ago: u64) -> Vec<Holding> {
        vec![Holding {
            lease: "kuberay".into(),
            holder: holder.into(),
            version: version.into(),
            renewed_ago: Duration::from_secs(renewed_ago),
        }]
    }

    #[test]
    fn a_renewed_lease_forbids_and_a_standing_one_expires_by_our_clock() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(seen.judge(&lease("op", "1", 2), start).is_some());
        assert!(
            seen.judge(&lease("op", "2", 500), after(40)).is_some(),
            "it changed, whatever its clock says"
        );
        assert!(seen.judge(&lease("op", "2", 540), after(80)).is_some());
        assert!(seen.judge(&lease("op", "2", 545), after(86)).is_none());
    }

    #[test]
    fn an_old_or_released_lease_does_not_hold_us_up_at_start() {
        let mut seen = Seen::default();
        let start = Instant::now();
        assert!(seen.judge(&lease("op", "1", 3_600), start).is_none());
        assert!(seen.judge(&lease("", "2", 1), start).is_none());
        assert!(seen.judge(&[], start).is_none());
    }
}
