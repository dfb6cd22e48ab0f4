//! Epoch: the number of this life of the agent, drawn from a Lease in the agent's namespace.
//!
//! Invariant: the number only grows, and two processes never draw the same one: the Lease is written with the resource
//! version that was read, and whoever loses reads again.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Client, api::PostParams};

const LEASE: &str = "squadron-agent";
const EPOCH: &str = "squadron.dev/epoch";
const PAUSE: Duration = Duration::from_millis(200);
const TRIES: u32 = 20;

/// Draws the next epoch, greater than `floor` and than every one before.
pub async fn draw(client: Client, namespace: &str, holder: &str, floor: u64) -> anyhow::Result<u64> {
    let leases: Api<Lease> = Api::namespaced(client, namespace);
    for _ in 0..TRIES {
        let known = leases.get_opt(LEASE).await.context("cannot read the Lease squadron-agent")?;
        let (lease, epoch) = next(known.as_ref(), holder, floor);
        let written = match known {
            Some(_) => leases.replace(LEASE, &PostParams::default(), &lease).await,
            None => leases.create(&PostParams::default(), &lease).await,
        };
        match written {
            Ok(_) => return Ok(epoch),
            Err(kube::Error::Api(status)) if status.code == 409 => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error).context("cannot write the Lease squadron-agent"),
        }
    }
    anyhow::bail!("the Lease squadron-agent in namespace {namespace} is written by others all the time")
}

/// Makes sure that the next life draws an epoch above `floor`.
pub async fn raise(client: Client, namespace: &str, holder: &str, floor: u64) -> anyhow::Result<()> {
    draw(client, namespace, holder, floor.saturating_sub(1)).await.map(|_| ())
}

fn next(known: Option<&Lease>, holder: &str, floor: u64) -> (Lease, u64) {
    let mut lease = known.cloned().unwrap_or_else(|| Lease {
        metadata: ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() },
        spec: None,
    });
    let annotations = lease.metadata.annotations.get_or_insert_with(BTreeMap::new);
    let last = annotations.get(EPOCH).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let epoch = last.max(floor).saturating_add(1);
    annotations.insert(EPOCH.to_owned(), epoch.to_string());
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = Some(holder.to_owned());
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
    (lease, epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_grow_past_the_lease_and_past_the_floor() {
        let (lease, first) = next(None, "a", 0);
        let (lease, second) = next(Some(&lease), "b", 0);
        let (_, third) = next(Some(&lease), "c", 40);
        assert_eq!((first, second, third), (1, 2, 41));
    }
}
