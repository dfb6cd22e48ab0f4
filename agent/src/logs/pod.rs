//! The log of a submitter pod, through the API server.

use std::time::Duration;

use futures::{AsyncRead, AsyncReadExt};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use serde_json::Value;

use tokio::task::block_in_place;

use super::{Chunk, Shared, Source, mark::Mark};
use crate::watch::Kind;

/// Bytes of one chunk at most.
const CHUNK: usize = 64 * 1024;
/// A chunk waits this long for more.
const GATHER: Duration = Duration::from_millis(250);
const RETRY: Duration = Duration::from_millis(500);
/// A pod that ended and whose log still cannot be opened after this many tries has none.
const TRIES_AFTER_END: u32 = 5;

/// Takes the whole log, whatever breaks in between.
pub(super) async fn follow(shared: &Shared, source: &Source) {
    let mut mark = Mark::load(&shared.folder, source.attempt, &source.uid, &shared.spooled);
    let mut failed_after_end = 0;
    loop {
        let ended = has_ended(shared, source);
        let took = take(shared, source, &mut mark).await;
        match took {
            Ok(()) if ended => return,
            Err(_) if ended && failed_after_end >= TRIES_AFTER_END => return,
            Err(error) => {
                failed_after_end += u32::from(ended);
                tracing::debug!(%error, pod = %source.name, "the driver's log cannot be read yet");
            }
            Ok(()) => {}
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Whether nothing more can be written to the log.
fn has_ended(shared: &Shared, source: &Source) -> bool {
    let pod = shared.cache.get(Kind::Pod, &source.namespace, &source.name);
    let pod = pod.filter(|pod| crate::watch::object::uid(pod) == source.uid);
    pod.is_none_or(|pod| {
        let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        ended || has_terminated(&pod, &source.container)
    })
}

/// Whether this container of the pod ended. A submitter is not started again in the same pod.
fn has_terminated(pod: &Value, container: &str) -> bool {
    let statuses = pod["status"]["containerStatuses"].as_array();
    let mut ours = statuses.into_iter().flatten().filter(|status| status["name"] == container);
    ours.any(|status| status["state"]["terminated"].is_object())
}

/// Reads the log from its start to its end, leaving out what was taken before.
async fn take(shared: &Shared, source: &Source, mark: &mut Mark) -> Result<(), kube::Error> {
    let pods: Api<Pod> = Api::namespaced(shared.client.clone(), &source.namespace);
    let params =
        LogParams { follow: true, container: Some(source.container.clone()), ..LogParams::default() };
    let mut log = pods.log_stream(&source.name, &params).await?;
    let mut skip = mark.taken();
    while let Some(mut data) = gather(&mut log).await {
        let known = usize::try_from(skip).unwrap_or(usize::MAX).min(data.len());
        skip -= known as u64;
        data.drain(..known);
        if data.is_empty() {
            continue;
        }
        let length = data.len();
        let chunk = Chunk { attempt: source.attempt, offset: mark.offset(), data };
        if !shared.keep(chunk).await {
            return Ok(());
        }
        block_in_place(|| mark.advance(length));
    }
    Ok(())
}

/// The next bytes: as many as come within [`GATHER`] of the first. `None` at the end, or when the stream broke.
async fn gather(log: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut data = vec![0; CHUNK];
    let mut filled = log.read(&mut data).await.ok().filter(|count| *count > 0)?;
    let deadline = tokio::time::sleep(GATHER);
    tokio::pin!(deadline);
    while filled < CHUNK {
        tokio::select! {
            () = &mut deadline => break,
            count = log.read(&mut data[filled..]) => match count {
                Ok(count) if count > 0 => filled += count,
                _ => break,
            },
        }
    }
    data.truncate(filled);
    Some(data)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_submitter_may_end_before_the_head() {
        let pod = serde_json::json!({"status": {"phase": "Running", "containerStatuses": [
            {"name": "ray-head", "state": {"running": {}}},
            {"name": "ray-job-submitter", "state": {"terminated": {"exitCode": 0}}}]}});
        assert!(has_terminated(&pod, "ray-job-submitter"));
        assert!(!has_terminated(&pod, "ray-head"));
    }

    #[tokio::test]
    async fn bytes_are_gathered_until_the_stream_ends() {
        let mut log = futures::io::Cursor::new(b"one two".to_vec());
        assert_eq!(gather(&mut log).await.unwrap(), b"one two");
        assert_eq!(gather(&mut log).await, None);
    }
}
