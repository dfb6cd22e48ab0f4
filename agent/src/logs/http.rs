//! The log of a job in HTTPMode, from Ray's dashboard.
//!
//! The dashboard gives the whole log each time, so it is asked once a second and only what is new is taken.

use std::time::Duration;

use serde::Deserialize;
use squadron_ray::view::Object;

use tokio::task::block_in_place;

use super::{Chunk, Shared, Source, mark::Mark};
use crate::watch::Kind;

const EVERY: Duration = Duration::from_secs(1);
/// Largest answer that is read, in bytes. A longer log is followed up to here.
const LIMIT: usize = 16 * 1024 * 1024;
/// Bytes of one chunk at most.
const CHUNK: usize = 64 * 1024;

#[derive(Deserialize)]
struct Answer {
    logs: String,
}

/// Takes the log until the RayJob ended or is gone.
pub(super) async fn follow(shared: &Shared, source: &Source) {
    let mut mark = Mark::load(&shared.folder, source.attempt, &source.uid, &shared.spooled);
    while let Some(job) = shared.cache.get(Kind::RayJob, &source.namespace, &source.name) {
        if crate::watch::object::uid(&job) != source.uid {
            return;
        }
        let state = job["status"]["jobDeploymentStatus"].as_str().unwrap_or_default();
        let ended = matches!(state, "Complete" | "Failed" | "ValidationFailed");
        if let Some(log) = ask(shared, &job).await
            && !take(shared, source, &mut mark, log.as_bytes()).await
        {
            return;
        }
        if ended {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn ask(shared: &Shared, job: &Object) -> Option<String> {
    let dashboard = job["status"]["dashboardURL"].as_str().filter(|text| !text.is_empty())?;
    let id = job["status"]["jobId"].as_str().filter(|text| !text.is_empty())?;
    match shared.dashboards.logs(dashboard, id, LIMIT).await {
        Ok((200, body)) => serde_json::from_slice::<Answer>(&body).ok().map(|answer| answer.logs),
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(%error, "the driver's log cannot be read");
            None
        }
    }
}

/// False when nobody takes chunks any more.
async fn take(shared: &Shared, source: &Source, mark: &mut Mark, log: &[u8]) -> bool {
    let known = usize::try_from(mark.taken()).unwrap_or(usize::MAX);
    for data in log.get(known..).unwrap_or_default().chunks(CHUNK) {
        let chunk = Chunk { attempt: source.attempt, offset: mark.offset(), data: data.to_vec() };
        if !shared.keep(chunk).await {
            return false;
        }
        block_in_place(|| mark.advance(data.len()));
    }
    true
}
