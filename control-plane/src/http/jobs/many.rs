//! Many submissions in one request: a sweep is checked as a whole and stored as a whole.
//!
//! Invariant: all of the jobs are stored or none is, each with its own key and its own audit row, and each is checked exactly as
//! one that comes alone. What is wrong is told of every job, by its number from 0. Fails as a whole; a repeat with the same key
//! finds what was stored.

use axum::{Json, extract::State, http::HeaderMap};
use squadron_api::{
    error::{Code, FieldProblem},
    job::{MOST_SUBMISSIONS, SubmitManyReply, SubmitManyRequest, SubmitRequest, Submitted},
    route,
};
use squadron_core::id::JobId;
use squadron_ray::manifest::ParsedRayJob;
use squadron_store::{idempotency::Found, job::NewJob};

use super::{
    desk::{self, Ask},
    known::Names,
    submit::{another, checked, entry, key, key_of, new_job, warnings},
};
use crate::{
    http::{
        auth::Caller,
        error::{Api, Result},
        fields::Fields,
    },
    state::AppState,
};

/// Greatest request body, in bytes.
pub const BODY_LIMIT: usize = 8 << 20;
/// Fields that a refusal names.
const MOST_FIELDS: usize = 100;

/// A job that can be submitted, with what is probably not meant.
type Checked = (SubmitRequest, NewJob, Vec<String>);

/// Submits many RayJobs, all or none.
#[utoipa::path(post, path = route::SUBMISSIONS, tag = "jobs", operation_id = "submit_many", request_body = SubmitManyRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "makes a repeat harmless")),
    responses((status = 200, body = SubmitManyReply)))]
pub async fn submit(
    State(app): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    Fields(request): Fields<SubmitManyRequest>,
) -> Result<Json<SubmitManyReply>> {
    let SubmitManyRequest { jobs, dry_run } = request;
    refuse_count(jobs.len())?;
    let key = key(&headers)?;
    let checked = check(&app, &caller, jobs).await?;
    if dry_run {
        let told = checked.into_iter().map(|(_, new, warnings)| submitted(new, None, warnings));
        return Ok(Json(SubmitManyReply { jobs: told.collect() }));
    }
    let (mut asks, mut told) = (Vec::new(), Vec::new());
    for (number, (request, new, warnings)) in checked.into_iter().enumerate() {
        let key = key.map(|text| key_of(format!("{text}/{number}"), &caller, &request));
        let entry = entry(&caller, &new);
        told.push(submitted(new.clone(), Some(new.id), warnings));
        asks.push(Ask { new, key, submission: None, entry });
    }
    let found = desk::commit_all(&app, asks).await?;
    for (number, (submitted, found)) in told.iter_mut().zip(found).enumerate() {
        match found {
            Found::Nothing => {}
            Found::Same(job) => (submitted.id, submitted.repeated) = (Some(job), true),
            Found::Other(job) => return Err(located(number, another(job))),
        }
    }
    Ok(Json(SubmitManyReply { jobs: told }))
}

fn submitted(new: NewJob, id: Option<JobId>, warnings: Vec<String>) -> Submitted {
    Submitted { id, name: new.name, queue: new.queue, repeated: false, warnings }
}

fn refuse_count(jobs: usize) -> Result<()> {
    let refused = |detail: String, next: &str| Err(Api::new(Code::BadRequest, detail, next));
    match jobs {
        0 => refused("the list of jobs is empty".to_owned(), "send at least one job"),
        1..=MOST_SUBMISSIONS => Ok(()),
        more => refused(
            format!("{more} jobs came in one request, and it may have {MOST_SUBMISSIONS} at most"),
            "send them in several requests; nothing was changed",
        ),
    }
}

/// All of them as they would be stored, or what is wrong with each that cannot be.
async fn check(app: &AppState, caller: &Caller, jobs: Vec<SubmitRequest>) -> Result<Vec<Checked>> {
    let (jobs, parsed) = parse(jobs).await;
    let (mut names, mut good, mut wrong) = (Names::of(app), Vec::new(), Vec::new());
    for (number, (request, parsed)) in jobs.iter().zip(parsed).enumerate() {
        let new = match parsed {
            Ok(parsed) => new_job(&mut names, caller, request, &parsed).await.map(|new| (new, parsed)),
            Err(refused) => Err(refused),
        };
        match new {
            Ok(new) => good.push(new),
            Err(error) if error.code.status() >= 500 => return Err(error),
            Err(error) => wrong.push((number, error)),
        }
    }
    refuse_wrong(wrong, jobs.len())?;
    let waiting = good.iter().map(|(new, _)| new.waiting()).collect();
    let lasting = desk::look(app, waiting).await?;
    let good = jobs.into_iter().zip(good).zip(lasting);
    Ok(good
        .map(|((request, (new, parsed)), lasting)| {
            let warnings = warnings(&new, &parsed, &lasting);
            (request, new, warnings)
        })
        .collect())
}

/// The manifests, read on a thread of their own, because reading many takes a while.
async fn parse(jobs: Vec<SubmitRequest>) -> (Vec<SubmitRequest>, Vec<Result<ParsedRayJob>>) {
    let work = tokio::task::spawn_blocking(move || {
        let parsed = jobs.iter().map(parse_one).collect();
        (jobs, parsed)
    });
    work.await.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
}

fn parse_one(job: &SubmitRequest) -> Result<ParsedRayJob> {
    if job.dry_run {
        let (detail, next) = ("it asks for a dry run of its own", "say dry_run once, for all jobs together");
        return Err(Api::new(Code::BadRequest, detail, next));
    }
    checked(&job.manifest)
}

/// The first refusal, with all that is wrong.
fn refuse_wrong(wrong: Vec<(usize, Api)>, of: usize) -> Result<()> {
    let (count, mut fields) = (wrong.len(), Vec::new());
    let mut first = None;
    for (number, error) in wrong {
        let error = located(number, error);
        fields.extend_from_slice(&error.fields);
        first.get_or_insert(error);
    }
    let Some(mut refusal) = first else { return Ok(()) };
    fields.truncate(MOST_FIELDS);
    if count > 1 {
        refusal.detail = format!("{count} of {of} jobs cannot be submitted; the first: {}", refusal.detail);
    }
    Err(refusal.fields(fields))
}

/// Says of which job an error speaks.
fn located(number: usize, error: Api) -> Api {
    let path = format!("jobs[{number}]");
    let mut fields = error.fields;
    for field in &mut fields {
        field.path = format!("{path}.{}", field.path);
    }
    if fields.is_empty() {
        fields.push(FieldProblem { path: path.clone(), problem: error.detail.clone() });
    }
    Api { detail: format!("{path}: {}", error.detail), fields, ..error }
}
