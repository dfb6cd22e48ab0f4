//! Where a job would go now: the dispatcher's own decision on a snapshot, without its effect.
//!
//! Invariant: a manifest is checked exactly as a submission is, and nothing is written. The decision is made on a thread of
//! its own, because it looks at everything that waits.

use std::sync::{Arc, LazyLock};

use axum::{
    Json,
    extract::{Path, State},
};
use squadron_api::{
    error::Code,
    job::SubmitRequest,
    placement::{Estimate, Where, WhereRequest},
    route,
};
use squadron_core::{
    dispatch::{
        Input, Outlook, Verdict, Waiting, estimate::Ask, estimate::SizeClass, gang_total, outlook, waits,
    },
    id::JobId,
};
use squadron_store::job::place::LineKey;
use tokio::sync::Semaphore;

use super::{find_for, priority, submit, wait};
use crate::{
    clock,
    http::{
        auth::Caller,
        error::{Api, Result},
    },
    state::AppState,
};

/// Looks that are made at one time; more wait, so that people who look never keep the dispatcher from deciding.
static LOOKS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(2)));

/// Where a manifest would go if it were submitted now.
#[utoipa::path(post, path = route::WHERE, tag = "jobs", operation_id = "where_manifest", request_body = WhereRequest,
    responses((status = 200, body = Where)))]
pub async fn of_manifest(
    State(app): State<AppState>,
    caller: Caller,
    Json(request): Json<WhereRequest>,
) -> Result<Json<Where>> {
    let WhereRequest { manifest, queue, cluster } = request;
    let request =
        SubmitRequest { manifest, queue, cluster, priority_class: None, on_lost: None, dry_run: true };
    let (new, parsed) = submit::check(&app, &caller, &request).await?;
    submit::refuse_extras(&parsed)?;
    let class = priority::of(&app, None, &parsed).await?;
    let mut input = submit::fleet(&app).await?;
    let job = new.waiting(class.map_or(0, |class| class.value));
    input.waiting.push(job.clone());
    Ok(Json(look(&app, input, job).await?))
}

/// Where a job that waits would go now.
#[utoipa::path(get, path = route::JOB_WHERE, tag = "jobs", operation_id = "where_job", params(("job" = String, Path)),
    responses((status = 200, body = Where)))]
pub async fn of_job(
    State(app): State<AppState>,
    caller: Caller,
    Path(job): Path<String>,
) -> Result<Json<Where>> {
    let row = find_for(&app, &caller, &job).await?;
    let waiting = app.store.waiting_job(row.id).await?;
    match waiting {
        Some(waiting) => {
            let mut input = submit::fleet(&app).await?;
            // One that stands far behind equal ones is not among those that a pass reads.
            if !input.waiting.iter().any(|other| other.job == waiting.job) {
                input.waiting.push(waiting.clone());
            }
            Ok(Json(look(&app, input, waiting).await?))
        }
        None => Err(Api::new(
            Code::Conflict,
            format!("job {} is {} and does not wait for a place", row.name, row.state),
            format!("see what was decided about it: squadron why {} --history", row.id),
        )),
    }
}

async fn look(app: &AppState, mut input: Input, job: Waiting) -> Result<Where> {
    let id = job.job;
    // The question is about this job; that more like those before it wait changes nothing for it.
    input.waiting.iter_mut().for_each(|one| one.more = false);
    let (input, found) = decide(input, id).await?;
    let found = found.ok_or_else(|| gone(id))?;
    let asks = gang_total(&job.gang);
    let name_of =
        |id| input.clusters.iter().find(|cluster| cluster.id == id).map(|cluster| cluster.name.clone());
    let choice = found.choice;
    let (cluster, sentence, blockers, position) = match found.verdict {
        Verdict::Placed { cluster, because } => (name_of(cluster), because, vec![], None),
        Verdict::Waits(blocked) => {
            let blockers = Arc::unwrap_or_clone(blocked.blockers);
            let key = LineKey::new(job.priority, job.submitted_at, job.job);
            let place = app.store.place(&job.queue, key).await?;
            let sentence = waits(&job.queue, Some(place), 0, &blockers, &blocked.note);
            (None, sentence, blockers, Some(place.position))
        }
    };
    let estimate = match position {
        None => now(),
        Some(position) => {
            let ask = Ask { class: SizeClass::of(asks), position, waited_ms: 0 };
            wait::expect(app, &job.queue, &blockers, ask).await?
        }
    };
    Ok(Where {
        name: job.name,
        queue: job.queue,
        requests: asks,
        cluster,
        sentence,
        candidates: choice.candidates.into_iter().map(Into::into).collect(),
        refused: choice.refused.into_iter().map(Into::into).collect(),
        left_out: choice.left_out,
        blockers: blockers.into_iter().map(Into::into).collect(),
        position,
        estimate,
        as_of: clock::now(),
    })
}

async fn decide(input: Input, job: JobId) -> Result<(Input, Option<Outlook>)> {
    // The permit goes with the work, which goes on when the caller has left.
    let permit = LOOKS.clone().acquire_owned().await.map_err(|closed| Api::internal(&closed))?;
    let work = tokio::task::spawn_blocking(move || {
        let found = outlook(&input, job);
        drop(permit);
        (input, found)
    });
    work.await.map_err(|panicked| Api::internal(&panicked))
}

fn now() -> Estimate {
    let sentence = "it gets its place at once".to_owned();
    Estimate { kind: "now".to_owned(), p50_ms: Some(0), p90_ms: Some(0), sentence, ..Estimate::default() }
}

fn gone(job: JobId) -> Api {
    Api::new(Code::Conflict, format!("job {job} changed at this moment"), "ask again")
}
