//! POST `/api/jobs/`: a submission becomes a job.

use axum::{Json, body::Bytes, extract::State};
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};
use squadron_api::{error::Code, job::SubmitRequest};
use squadron_core::name::QueueName;
use squadron_ray::{
    manifest,
    submission::{self, Choices, Submission},
};
use squadron_store::ray_submission::{ID_TAKEN, NewSubmission, PACKAGE_GONE};
use uuid::Uuid;

use super::{
    JOBS,
    refusal::{Refusal, Result},
};
use crate::{
    clock,
    http::{
        auth::Caller,
        error::Api,
        jobs::{
            self,
            desk::{self, Ask},
        },
    },
    state::AppState,
};

/// The queue of a submission that names none.
const DEFAULT_QUEUE: &str = "default";
/// Ray's alphabet for generated ids: none that is easily confused.
const ALPHABET: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ123456789";

/// Submits a job as Ray's client does.
#[utoipa::path(post, path = JOBS, tag = "ray_jobs", request_body = Object, responses((status = 200, body = Object)))]
pub async fn submit(State(app): State<AppState>, caller: Caller, body: Bytes) -> Result<Json<Value>> {
    let body: Value = serde_json::from_slice(&body)
        .map_err(|error| Refusal::bad(format!("the request is no JSON: {error}")))?;
    let submission = submission::read(&body)?;
    let id = submission.submission_id.clone().unwrap_or_else(new_id);
    let choices = submission::choices(&submission).map_err(|errors| Refusal::fields(&errors))?;
    let request = request(&app, &submission, &id, &choices).await?;
    let (new, _) = jobs::submit::check(&app, &caller, &request).await.map_err(queue_by_metadata)?;
    let kept = NewSubmission {
        submission_id: id.clone(),
        entrypoint: submission.entrypoint.clone(),
        metadata: submission.metadata.as_ref().map(|metadata| json!(metadata).to_string()),
        runtime_env: submission.runtime_env.as_ref().map(|env| json!(env).to_string()),
        packages: packages(&app, &caller, &submission).await?,
    };
    let entry = jobs::submit::entry(&caller, &new);
    match desk::commit(&app, Ask { new, key: None, submission: Some(kept), entry }).await {
        Ok(_) => Ok(Json(json!({"job_id": id, "submission_id": id}))),
        Err(error) if error.violates(ID_TAKEN) => Err(Refusal::failed(format!(
            "ValueError: Job with submission_id {id} already exists. Please use a different submission_id."
        ))),
        Err(error) if error.violates(PACKAGE_GONE) => {
            Err(Refusal::bad("ValueError: a package was removed because nobody used it; submit again"))
        }
        Err(error) => Err(error.into()),
    }
}

/// The submission as `squadron submit` would have sent it.
async fn request(
    app: &AppState,
    submission: &Submission,
    id: &str,
    choices: &Choices,
) -> Result<SubmitRequest> {
    let queue = choices.queue.clone().unwrap_or_else(|| DEFAULT_QUEUE.to_owned());
    let template = match QueueName::new(queue.as_str()) {
        Ok(name) => template(app, &name).await?,
        // The check of every submission says what is wrong with the name.
        Err(_) => None,
    };
    let job =
        submission::rayjob(submission, id, template.as_ref()).map_err(|errors| Refusal::fields(&errors))?;
    Ok(SubmitRequest {
        manifest: job.to_string(),
        queue,
        cluster: choices.cluster.clone(),
        priority_class: None,
        on_lost: None,
        preferences: choices.preferences.clone(),
        dry_run: false,
    })
}

async fn template(app: &AppState, queue: &QueueName) -> Result<Option<Value>> {
    let text = app.store.queue_template(queue).await?.filter(|text| !text.is_empty());
    let Some(text) = text else { return Ok(None) };
    let broken = |errors: Vec<manifest::FieldError>| {
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Refusal::bad(format!("the template of queue {queue} is not legal any more: {}", shown.join("; ")))
    };
    submission::check_template(&text).map(Some).map_err(broken)
}

/// Ray's client names the queue in its metadata.
fn queue_by_metadata(mut error: Api) -> Api {
    if error.code == Code::UnknownQueue {
        "name one of them with --metadata-json '{\"queue\": \"NAME\"}', or have an operator add it"
            .clone_into(&mut error.next_step);
    }
    error
}

/// The caller's packages that the runtime environment names.
async fn packages(app: &AppState, caller: &Caller, submission: &Submission) -> Result<Vec<Uuid>> {
    let names = submission.runtime_env.as_ref().map(submission::package_names).unwrap_or_default();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let package = app.store.package(&caller.actor.subject, &name, clock::now()).await?;
        let package = package.ok_or_else(|| {
            let name = squadron_core::sentence::clip(&name, 200);
            Refusal::bad(format!(
                "ValueError: Package gcs://{name} does not exist among those that you uploaded"
            ))
        })?;
        found.push(package.id);
    }
    Ok(found)
}

fn new_id() -> String {
    let mut random = rand::rng();
    let drawn = (0..16).filter_map(|_| ALPHABET.choose(&mut random)).map(|byte| char::from(*byte));
    format!("raysubmit_{}", drawn.collect::<String>())
}
