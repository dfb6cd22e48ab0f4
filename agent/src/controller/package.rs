//! Package: a job's file, from the control plane to the Ray head.
//!
//! Owns the way between the two streams: no part of it touches the disk, and one part at a time is in memory.
//! Invariant: a head gets a whole file or none, because the request announces the size and the last bytes come only
//! after the digest was right.

use futures::stream::try_unfold;
use squadron_core::id::AttemptId;

use super::dashboard::{Dashboards, unwelcome};
use crate::uplink::{Incoming, LinkError, Peer};

/// Brings the package to the head, unless it is there.
pub async fn deliver(
    peer: &Peer,
    dashboards: &Dashboards,
    dashboard: &str,
    attempt: AttemptId,
    name: &str,
) -> Result<(), String> {
    let (code, _) = dashboards.package(dashboard, name).await.map_err(|error| error.to_string())?;
    if code == 200 {
        return Ok(());
    }
    let incoming = peer.package(attempt, name).await.map_err(|error| error.to_string())?;
    let bytes = incoming.bytes;
    let body = reqwest::Body::wrap_stream(try_unfold(incoming, step));
    let sent = dashboards.put_package(dashboard, name, bytes, body).await;
    let (code, answer) = sent.map_err(|error| error.to_string())?;
    if code == 200 {
        tracing::info!(%attempt, name, bytes, "brought a package to Ray");
        return Ok(());
    }
    Err(unwelcome("the package", code, &answer))
}

async fn step(mut incoming: Incoming) -> Result<Option<(prost::bytes::Bytes, Incoming)>, LinkError> {
    Ok(incoming.part().await?.map(|part| (part, incoming)))
}
