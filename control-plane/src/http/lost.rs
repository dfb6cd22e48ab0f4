//! Lost clusters: an operator's word that nothing runs there any more, and what a queue says about such jobs.
//!
//! Invariant: a word needs a person and a reason, and both are in the audit log before the first attempt is closed; a
//! cluster that is heard cannot be declared dead, and one that is heard while a word is carried out keeps what was not
//! closed by then. Repeating a word is harmless.

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
    id::AttemptId,
    lease::{Policy, Proof, Refusal, Word},
    name::QueueName,
    sentence::count,
};
use squadron_store::{audit, loss};
use utoipa::OpenApi;

use super::{
    auth::Caller,
    clusters,
    error::{Api, Result},
    fields::Fields,
    jobs, page,
    routes::{Access, Routes},
};
use crate::{
    clock,
    state::AppState,
    tasks::lost::{self, HeardAgain, Provided},
};

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
    Fields(request): Fields<WordRequest>,
) -> Result<Json<ShownCluster>> {
    let word = word(&caller, &request)?;
    let row = clusters::find(&app, &cluster).await?;
    let before = app.store.last_word(row.id).await?;
    if !is_silent(&app, before.heard_at) {
        return Err(heard(&row.name));
    }
    keep(&app, &caller.entry("cluster.declare_dead", &row.name, &request.reason)).await?;
    if let Err(again) = lost::close_on_a_word(&app, row.id, before, &word).await? {
        return Err(heard_again(&row.name, again));
    }
    app.store.forget_renewals(row.id, before).await?;
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
    Fields(request): Fields<WordRequest>,
) -> Result<Json<ShownJob>> {
    let word = word(&caller, &request)?;
    let row = jobs::find_for(&app, &caller, &job).await?;
    let cluster = row.cluster.clone().filter(|_| !row.state.is_terminal());
    let Some(cluster) = cluster else { return Err(nowhere(&row.name)) };
    let cluster = clusters::find(&app, &cluster).await?;
    let before = app.store.last_word(cluster.id).await?;
    if !is_silent(&app, before.heard_at) {
        return Err(heard(&cluster.name));
    }
    keep(&app, &caller.entry("job.vouch", row.id, &request.reason)).await?;
    let proof = Proof::operators_word(AttemptId { job: row.id, number: row.attempt }, &word);
    match lost::close(&app, cluster.id, Provided::Unheard(before), &[proof]).await? {
        Some(0) => return Err(nowhere(&row.name)),
        Some(_) => {}
        None => return Err(heard_again(&cluster.name, HeardAgain { closed: 0 })),
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
    Fields(request): Fields<QueueLossRequest>,
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

fn heard_again(cluster: &str, again: HeardAgain) -> Api {
    let closed = count(again.closed, "attempt");
    Api::new(
        Code::Conflict,
        format!(
            "{cluster} was heard again while the word was carried out; {closed} had been given up by then"
        ),
        "its agent stops what was given up and says itself what else runs there; look at it with `squadron cluster list`",
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
