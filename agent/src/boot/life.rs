//! Life: the Lease, the epoch that it gives, and the spool under that epoch.
//!
//! Invariant: what earlier lives left is recovered before the next epoch is taken, so that the epoch is above all of it.

use kube::Client;
use tokio::task::JoinSet;

use super::{ControllerArgs, Ended};
use crate::{
    epoch::{self, Held, Holder},
    logs::Spooled,
    spool::{self, Limits, Spool},
    uplink::LinkError,
};

const MIB: u64 = 1024 * 1024;

/// One life of the agent.
pub struct Life {
    pub spool: Spool,
    /// Ends of the logs that earlier lives spooled.
    pub spooled: Spooled,
    pub held: Held,
}

/// Recovers the spool, waits for the Lease, and goes on under the new epoch.
pub async fn begin(
    client: &Client,
    args: &ControllerArgs,
    parts: &mut JoinSet<Ended>,
) -> anyhow::Result<Life> {
    let holder = Holder {
        namespace: args.pod_namespace.clone(),
        pod: args.pod_name.clone(),
        pod_uid: args.pod_uid.clone(),
    };
    let folder = args.spool.join("records");
    let (mut newest, mut spooled) = (0, Spooled::default());
    let recovered = spool::recover(&folder, |record| {
        newest = newest.max(record.stream.epoch);
        spooled.note(record);
    })?;
    for path in &recovered.damaged {
        tracing::error!(path = %path.display(), "a damaged spool file was put aside; its readable records go on");
    }
    let held = epoch::take(client, &holder, newest).await?;
    tracing::info!(epoch = held.epoch, waiting = recovered.index.load().records, "this life of the agent");
    let total = args.spool_mib.saturating_mul(MIB);
    let limits = Limits { total, logs: total / 2, segment: 16 * MIB };
    let (spool, writing) = Spool::start(&folder, held.epoch, limits, recovered.index);
    parts.spawn(async move {
        match writing.await {
            Ok(Ok(())) => anyhow::anyhow!("the spool ended"),
            Ok(Err(error)) => anyhow::Error::new(error).context("the spool's disk failed"),
            Err(error) => anyhow::Error::new(error).context("the spool ended"),
        }
    });
    Ok(Life { spool, spooled, held })
}

/// Leaves the Lease so that the next life can take it at once. If another life is in charge at the control plane, the
/// next one gets an epoch above that one's: whoever holds the Lease is the agent of this cluster.
pub async fn hand_over(held: &mut Held, ended: &anyhow::Result<()>) {
    if let Err(error) = ended
        && let Some(LinkError::Replaced { epoch_above, .. }) = error.downcast_ref()
        && let Err(error) = held.raise(*epoch_above).await
    {
        tracing::warn!(%error, "the Lease cannot be raised");
        return;
    }
    held.release().await;
}
