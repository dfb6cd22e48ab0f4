//! The log of a submitter pod, through the API server.
//!
//! Invariant: only the orderly end of a stream that was opened after the container ended is the end of the log. A stream
//! that broke is opened again from the line that was reached.

use std::{io, time::Duration};

use futures::{AsyncRead, AsyncReadExt};
use k8s_openapi::{api::core::v1::Pod, jiff};
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
/// A container that ended and whose log the API server refuses this often has none any more.
const REFUSALS_AFTER_END: u32 = 5;
/// Stands in the log where lines were rotated away before they were read.
const LOST: &[u8] = b"[squadron: lines are missing here; the node rotated them away before they were read]\n";

/// Why a log was not read to its end.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("the log cannot be opened: {0}")]
    Closed(#[from] kube::Error),
    #[error("the stream of the log broke: {0}")]
    Broken(#[from] io::Error),
}

impl Unread {
    /// Whether asking again changes nothing, unless the container has yet to start.
    fn is_refusal(&self) -> bool {
        matches!(self, Unread::Closed(kube::Error::Api(status)) if (400..500).contains(&status.code))
    }
}

/// Takes the whole log, whatever breaks in between.
pub(super) async fn follow(shared: &Shared, source: &Source) {
    let mut mark = Mark::load(&shared.folder, source.attempt, &source.uid, &shared.spooled);
    let mut refusals = 0;
    loop {
        let (ended, gone) = (has_ended(shared, source), pod(shared, source).is_none());
        match take(shared, source, &mut mark).await {
            Ok(()) if ended => return,
            Ok(()) => {}
            Err(error) => {
                tracing::debug!(%error, pod = %source.name, "the driver's log cannot be read yet");
                refusals += u32::from(ended && (gone || error.is_refusal()));
                if refusals >= REFUSALS_AFTER_END {
                    tracing::warn!(%error, pod = %source.name, "the end of the driver's log is lost");
                    return;
                }
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

fn pod(shared: &Shared, source: &Source) -> Option<squadron_ray::view::Object> {
    let pod = shared.cache.get(Kind::Pod, &source.namespace, &source.name);
    pod.filter(|pod| crate::watch::object::uid(pod) == source.uid)
}

/// Whether nothing more can be written to the log.
fn has_ended(shared: &Shared, source: &Source) -> bool {
    pod(shared, source).is_none_or(|pod| {
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

/// Reads the log from where the mark is to its end.
async fn take(shared: &Shared, source: &Source, mark: &mut Mark) -> Result<(), Unread> {
    let pods: Api<Pod> = Api::namespaced(shared.client.clone(), &source.namespace);
    let since = mark.line().and_then(|line| line.since());
    let params = LogParams {
        follow: true,
        container: Some(source.container.clone()),
        timestamps: true,
        since_time: since.and_then(|since| jiff::Timestamp::from_microsecond(since.0).ok()),
        ..LogParams::default()
    };
    let mut log = pods.log_stream(&source.name, &params).await?;
    let mut lines = mark.lines();
    loop {
        let piece = gather(&mut log).await;
        let fresh = lines.read(&piece.data);
        let data = if fresh.gap { [LOST, &fresh.data].concat() } else { fresh.data };
        if !data.is_empty() {
            let length = data.len();
            let chunk = Chunk { attempt: source.attempt, offset: mark.offset(), data };
            if !shared.keep(chunk).await {
                return Ok(());
            }
            block_in_place(|| mark.advance(length, lines.place()));
        }
        match piece.then {
            Then::More => {}
            Then::End => return Ok(()),
            Then::Broken(error) => return Err(error.into()),
        }
    }
}

/// Bytes of a stream, and what comes after them.
struct Piece {
    data: Vec<u8>,
    then: Then,
}

enum Then {
    More,
    End,
    Broken(io::Error),
}

/// The next bytes: as many as come within [`GATHER`] of the first.
async fn gather(log: &mut (impl AsyncRead + Unpin)) -> Piece {
    let mut data = vec![0; CHUNK];
    let (mut filled, mut then) = after(log.read(&mut data).await);
    let deadline = tokio::time::sleep(GATHER);
    tokio::pin!(deadline);
    while filled < CHUNK && matches!(then, Then::More) {
        tokio::select! {
            () = &mut deadline => break,
            read = log.read(&mut data[filled..]) => {
                let (count, next) = after(read);
                filled += count;
                then = next;
            }
        }
    }
    data.truncate(filled);
    Piece { data, then }
}

fn after(read: io::Result<usize>) -> (usize, Then) {
    match read {
        Ok(0) => (0, Then::End),
        Ok(count) => (count, Then::More),
        Err(error) => (0, Then::Broken(error)),
    }
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
        let piece = gather(&mut log).await;
        assert_eq!(piece.data, b"one two");
        assert!(matches!(piece.then, Then::End));
    }

    /// Gives some bytes, then fails for ever.
    struct Breaking(&'static [u8]);

    impl AsyncRead for Breaking {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            into: &mut [u8],
        ) -> std::task::Poll<io::Result<usize>> {
            let given = std::mem::take(&mut self.0);
            into[..given.len()].copy_from_slice(given);
            let broken = io::Error::from(io::ErrorKind::ConnectionReset);
            std::task::Poll::Ready(if given.is_empty() { Err(broken) } else { Ok(given.len()) })
        }
    }

    #[tokio::test]
    async fn a_broken_stream_is_no_end_and_gives_what_came_before() {
        let mut log = Breaking(b"40 of 100 MiB");
        let piece = gather(&mut log).await;
        assert_eq!(piece.data, b"40 of 100 MiB");
        assert!(matches!(piece.then, Then::Broken(_)));
        assert!(matches!(gather(&mut log).await.then, Then::Broken(_)));
    }

    #[test]
    fn only_the_api_servers_no_is_final() {
        let refused = kube::core::Status { code: 404, ..kube::core::Status::default() };
        assert!(Unread::Closed(kube::Error::Api(Box::new(refused.clone()))).is_refusal());
        let busy = kube::core::Status { code: 503, ..refused };
        assert!(!Unread::Closed(kube::Error::Api(Box::new(busy))).is_refusal());
        assert!(!Unread::Broken(io::Error::from(io::ErrorKind::ConnectionReset)).is_refusal());
    }
}
