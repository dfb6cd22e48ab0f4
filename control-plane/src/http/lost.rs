//! Lost clusters: an operator's word that nothing runs there any more, and what a queue says about such jobs.
//!
//! Invariant: a word needs a person and a reason, and both are in the audit log before the first attempt is closed; a
//! cluster that is heard cannot be declared dead. Repeating a word is harmless.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use squadron_api::{
    cluster::Cluster as ShownCluster,
    error::Code,
    job::Job as ShownJob,
    lost::{QueueLossRequest, WordRequest},
    route,
};
use squadron_core::{
    authz::{Action, Object},
    id::{AttemptId, ClusterId},
    lease::{Policy, Proof, Refusal, Word},
    name::QueueName,
};
use squadron_store::{audit, job::advance, loss};
use utoipa::OpenApi;

use super::{
    auth::Caller,
    clusters,
    error::{Api, Result},
    jobs, page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState, tasks::lost};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(declare_dead, vouch, set_queue))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .post(route::CLUSTER_DECLARE_DEAD, Access::Needs(Action::VouchForLoss), declare_dead)
        .post(route::JOB_VOUCH, Access::Needs(Action::VouchForLoss), vouch)
        .put(route::QUEUE_LOSS, Access::Needs(Action::ManageQueues), set_queue)
}

/// Says that nothing runs on a silent cluster any more: its jobs start elsewhere at once.
#[utoipa::path(post, path = route::CLUSTER_DECLARE_DEAD, tag = "clusters", params(("cluster" = String, Path)),
    request_body = WordRequest, responses((status = 200, body = ShownCluster)))]
async fn declare_dead(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
    Json(request): Json<WordRequest>,
) -> Result<Json<ShownCluster>> {
    let word = word(&caller, &request)?;
    let row = clusters::find(&app, &cluster).await?;
    if !is_silent(&app, row.last_heard_at) {
        return Err(heard(&row.name));
    }
    keep(&app, &caller.entry("cluster.declare_dead", &row.name, &request.reason)).await?;
    loop {
        let held = app.store.held_by(&[row.id]).await?;
        let mut closed = 0;
        for held in held.iter().filter(|held| held.live.cluster == row.id) {
            closed += u32::from(close(&app, held.live.id, row.id, &word).await?);
        }
        // What was given to it meanwhile, or did not fit into one look, is closed as well.
        if closed == 0 {
            break;
        }
    }
    app.wake.changed("cluster", row.id, row.version);
    clusters::shown(&app, row).await
}

/// Says that nothing of a job runs on its silent cluster any more: it starts elsewhere at once.
#[utoipa::path(post, path = route::JOB_VOUCH, tag = "jobs", params(("job" = String, Path)),
    request_body = WordRequest, responses((status = 200, body = ShownJob)))]
async fn vouch(
    State(app): State<AppState>,
    caller: Caller,
    Path(job): Path<String>,
    Json(request): Json<WordRequest>,
) -> Result<Json<ShownJob>> {
    let word = word(&caller, &request)?;
    let row = jobs::find_for(&app, &caller, &job).await?;
    let cluster = row.cluster.clone().filter(|_| !row.state.is_terminal());
    let Some(cluster) = cluster else { return Err(nowhere(&row.name)) };
    if !is_silent(&app, row.cluster_heard_at) {
        return Err(heard(&cluster));
    }
    let cluster = clusters::find(&app, &cluster).await?;
    keep(&app, &caller.entry("job.vouch", row.id, &request.reason)).await?;
    let attempt = AttemptId { job: row.id, number: row.attempt };
    if !close(&app, attempt, cluster.id, &word).await? {
        return Err(nowhere(&row.name));
    }
    let row = jobs::find(&app, &row.id.to_string()).await?;
    Ok(Json(jobs::show(&row, page::silence(&app))))
}

/// Sets what happens to a queue's jobs when their cluster is lost.
#[utoipa::path(put, path = route::QUEUE_LOSS, tag = "queues", request_body = QueueLossRequest,
    responses((status = 204)))]
async fn set_queue(
    State(app): State<AppState>,
    caller: Caller,
    Json(request): Json<QueueLossRequest>,
) -> Result<StatusCode> {
    let name = QueueName::new(request.name)?;
    let default = default(request.on_lost.as_deref())?;
    if request.allow_overlap {
        caller.may(&app, Action::AllowOverlap, Object::Any, name.as_str()).await?;
    }
    let detail = format!(
        "on lost: {}, overlap {}",
        default.map_or("as the job says", Policy::word),
        if request.allow_overlap { "allowed" } else { "not allowed" }
    );
    let input = (&name, default, request.allow_overlap, caller.entry("queue.loss", &name, detail));
    let found = app
        .store
        .txn("queue.loss", &input, |db, (name, default, overlap, entry)| {
            Box::pin(async move {
                let found = loss::set_queue(db, name.as_str(), *default, *overlap).await?;
                if found {
                    audit::insert(db, entry).await?;
                }
                Ok(found)
            })
        })
        .await?;
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(Api::not_found("queue", name, "squadron queue list")) }
}

fn default(word: Option<&str>) -> Result<Option<Policy>> {
    let Some(word) = word.filter(|word| !word.is_empty()) else { return Ok(None) };
    let policy: Policy =
        word.parse().map_err(|refusal: Refusal| bad(&refusal.to_string(), "choose wait or fence"))?;
    if policy == Policy::Rerun {
        return Err(bad(
            "a queue's default is never rerun: a job asks for two copies itself",
            "allow overlap in the queue and submit such jobs with --on-lost rerun",
        ));
    }
    Ok(Some(policy))
}

fn bad(detail: &str, next: &str) -> Api {
    Api::new(Code::BadRequest, detail.to_owned(), next.to_owned())
}

fn word(caller: &Caller, request: &WordRequest) -> Result<Word> {
    Word::new(&caller.actor.subject, &request.reason)
        .map_err(|refused| bad(&refused.to_string(), "say it again with a reason; nothing was changed"))
}

fn is_silent(app: &AppState, heard_at: Option<squadron_core::time::Timestamp>) -> bool {
    app.settings.silence(clock::now()).word(heard_at) != squadron_core::silence::Word::Heard
}

fn heard(cluster: &str) -> Api {
    Api::new(
        Code::Conflict,
        format!("{cluster} is heard, so its agent says itself what runs there"),
        "cancel the jobs to end them; a cluster is declared dead only while it is silent",
    )
}

fn nowhere(job: &str) -> Api {
    Api::new(
        Code::Conflict,
        format!("no attempt of {} is live", squadron_core::sentence::clip(job, 80)),
        "look at it with `squadron describe`; nothing was changed",
    )
}

async fn keep(app: &AppState, entry: &audit::Entry) -> Result<()> {
    let kept = app.store.txn("lost.word", entry, |db, entry| Box::pin(audit::insert(db, entry)));
    Ok(kept.await?)
}

/// Closes an attempt on an operator's word. False if it is not live there any more.
async fn close(app: &AppState, attempt: AttemptId, cluster: ClusterId, word: &Word) -> Result<bool> {
    let proof = Proof::operators_word(attempt, word);
    let version = app
        .store
        .txn("lost.word", &(attempt, cluster, proof), |db, (attempt, cluster, proof)| {
            Box::pin(async move {
                let Some(job) = advance::lock(db, attempt.job).await? else { return Ok(None) };
                let there = job.attempt.as_ref().is_some_and(|newest| newest.cluster == *cluster);
                if job.attempt_id() != Some(*attempt) || !there {
                    return Ok(None);
                }
                lost::save(db, &job, proof).await
            })
        })
        .await?;
    if let Some(version) = version {
        lost::tell(app, attempt, version);
    }
    Ok(version.is_some())
}
