//! Cancelling: the decider says what becomes of the job; the agent ends what runs.

use axum::{
    Json,
    extract::{Path, State},
};
use squadron_api::{
    error::Code,
    job::{CancelRequest, Job},
    route,
};
use squadron_core::{
    attempt::{Event, Refused, advance as decide},
    authz::{Action, Object},
    id::JobId,
};
use squadron_store::{
    PgConnection, audit,
    job::{JobRow, advance},
};

use super::{find, find_for, view};
use crate::{
    clock,
    http::{
        auth::Caller,
        error::{Api, Result, reason},
        fields::Fields,
        page,
    },
    state::AppState,
    wake::Topic,
};

/// Asks for the end of a job. Asking twice is harmless.
#[utoipa::path(post, path = route::JOB_CANCEL, tag = "jobs", params(("job" = String, Path)),
    request_body = CancelRequest, responses((status = 200, body = Job)))]
pub async fn cancel(
    State(app): State<AppState>,
    caller: Caller,
    Path(job): Path<String>,
    Fields(request): Fields<CancelRequest>,
) -> Result<Json<Job>> {
    let why = reason(&request.reason)?;
    let row = find_for(&app, &caller, &job).await?;
    caller.may(&app, Action::CancelJob, Object::OwnedBy(&row.owner), &row.id.to_string()).await?;
    match ask(&app, &caller, row.id, why).await? {
        Some(Ok(()) | Err(Refused::AlreadyStopping)) => {}
        Some(Err(refused)) => return Err(over(&row, &refused)),
        None => return Err(Api::not_found("job", row.id, "squadron list")),
    }
    let row = find(&app, &row.id.to_string()).await?;
    Ok(Json(view::job(&row, page::silence(&app))))
}

/// Asks for the end, audits and tells. `None` when there is no such job.
pub async fn ask(
    app: &AppState,
    caller: &Caller,
    job: JobId,
    reason: &str,
) -> Result<Option<std::result::Result<(), Refused>>> {
    let entry = caller.entry("job.cancel", job, reason);
    let event = Event::CancelRequested { by: &caller.actor.subject, why: reason };
    let done = app
        .store
        .txn("job.cancel", &(job, event, entry), |db, (job, event, entry)| {
            Box::pin(async move {
                let done = step(db, *job, *event).await?;
                if matches!(done, Some(Ok(_))) {
                    audit::insert(db, entry).await?;
                }
                Ok(done)
            })
        })
        .await?;
    Ok(done.map(|done| done.map(|version| tell(app, &job.to_string(), version))))
}

async fn step(
    db: &mut PgConnection,
    job: JobId,
    event: Event<'_>,
) -> squadron_store::Result<Option<std::result::Result<i64, Refused>>> {
    let Some(before) = advance::lock(db, job).await? else { return Ok(None) };
    match decide(&before, event, clock::now()) {
        Ok(step) => Ok(Some(Ok(advance::save(db, &step).await?))),
        Err(refused) => Ok(Some(Err(refused))),
    }
}

fn tell(app: &AppState, job: &str, version: i64) {
    app.wake.changed("job", job, version);
    app.wake.notify(Topic::Desired);
    app.wake.notify(Topic::Dispatch);
}

fn over(row: &JobRow, refused: &Refused) -> Api {
    Api::new(
        Code::Conflict,
        format!("job {} cannot be cancelled: {refused}", row.name),
        format!("look at it with `squadron describe {}`; to run it again, submit it again", row.id),
    )
}
