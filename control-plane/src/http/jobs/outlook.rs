//! Where a job would go now: the dispatcher's own decision on a snapshot, without its effect.
//!
//! Invariant: a manifest is checked exactly as a submission is, and nothing is written. The decision is made on a thread of
//! its own, because it looks at everything that waits.

use std::sync::Arc;

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
use squadron_store::job::place::{LineKey, Part};

use super::{find_for, submit, wait};
use crate::{
    clock,
    http::{
        auth::Caller,
        error::{Api, Result},
        fields::Fields,
        looks::{self, Seat},
    },
    state::AppState,
};

/// What is said of a job for which there is room, were it not for those before it that were not read.
const BEHIND: &str =
    "more jobs that go before it wait than one look reads; there is room for it once they have theirs";

/// Where a manifest would go if it were submitted now.
#[utoipa::path(post, path = route::WHERE, tag = "jobs", operation_id = "where_manifest", request_body = WhereRequest,
    responses((status = 200, body = Where)))]
pub async fn of_manifest(
    State(app): State<AppState>,
    caller: Caller,
    Fields(request): Fields<WhereRequest>,
) -> Result<Json<Where>> {
    let WhereRequest { manifest, queue, cluster, preferences } = request;
    let request = SubmitRequest {
        manifest,
        queue,
        cluster,
        priority_class: None,
        on_lost: None,
        preferences,
        dry_run: true,
    };
    let (new, parsed) = submit::check(&app, &caller, &request).await?;
    submit::refuse_extras(&parsed)?;
    let job = new.waiting();
    let seat = looks::seat().await?;
    let input = submit::fleet(&app, vec![job.clone()]).await?;
    Ok(Json(look(&app, seat, input, job).await?))
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
    match app.store.waiting_job(row.id).await? {
        Some(waiting) => {
            let seat = looks::seat().await?;
            let input = submit::fleet(&app, vec![waiting.clone()]).await?;
            Ok(Json(look(&app, seat, input, waiting).await?))
        }
        None => Err(Api::new(
            Code::Conflict,
            format!("job {} is {} and does not wait for a place", row.name, row.state),
            format!("see what was decided about it: squadron why {} --history", row.id),
        )),
    }
}

async fn look(app: &AppState, seat: Seat, input: Input, job: Waiting) -> Result<Where> {
    let id = job.job;
    let (input, found) = decide(seat, input, id).await?;
    let found = found.ok_or_else(|| gone(id))?;
    let asks = gang_total(&job.gang);
    let name_of =
        |id| input.clusters.iter().find(|cluster| cluster.id == id).map(|cluster| cluster.name.clone());
    let choice = found.choice;
    let (cluster, sentence, blockers, position) = match found.verdict {
        Verdict::Placed { .. } if found.behind_unread => {
            let key = LineKey::new(Part::Unlooked, job.priority, 0.0, job.submitted_at, job.job);
            let place = app.store.place_of_new(&job.queue, key, input.now).await?;
            let sentence = format!("{}{BEHIND}", waits(&job.queue, Some(place), 0, &[], ""));
            (None, sentence, vec![], Some(place.position))
        }
        Verdict::Placed { cluster, because } => (name_of(cluster), because, vec![], None),
        Verdict::Waits(blocked) => {
            let part = Part::of(Some(blocked.borrows));
            let blockers = Arc::unwrap_or_clone(blocked.blockers);
            let size = input.waiting.iter().find(|one| one.job == id).map_or(0.0, Waiting::size);
            let key = LineKey::new(part, job.priority, size, job.submitted_at, job.job);
            let place = app.store.place(&job.queue, key, input.now).await?;
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

async fn decide(seat: Seat, input: Input, job: JobId) -> Result<(Input, Option<Outlook>)> {
    seat.look(move || {
        let found = outlook(&input, job);
        (input, found)
    })
    .await
}

fn now() -> Estimate {
    let sentence = "it gets its place at once".to_owned();
    Estimate { kind: "now".to_owned(), p50_ms: Some(0), p90_ms: Some(0), sentence, ..Estimate::default() }
}

fn gone(job: JobId) -> Api {
    Api::new(Code::Conflict, format!("job {job} changed at this moment"), "ask again")
}
