//! Submission: check everything, then have it stored with its key and its audit row, all or nothing.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderName},
};
use sha2::{Digest as _, Sha256};
use squadron_api::{
    error::{Code, FieldProblem},
    job::{SubmitReply, SubmitRequest},
    route,
};
use squadron_core::{
    dispatch::{Blocker, GangPart, Input, Waiting},
    id::JobId,
    job::JobState,
    lease::choose,
    name::K8sName,
    placement::NodeWish,
    preference::{Preferences, read},
};
use squadron_ray::{
    manifest::{self, LONGEST_MANIFEST, ParsedRayJob},
    submission::EXTRAS_ANNOTATION,
};
use squadron_store::{
    audit,
    idempotency::{Found, Key},
    job::{
        NewJob,
        place::{LineKey, Part},
        waiting,
    },
    preempt, run_time,
};
use uuid::Uuid;

use super::{
    desk::{self, Ask},
    find,
    known::Names,
    view,
    wish::{policy_refused, preferences_refused, wish},
};
use crate::{
    clock,
    http::{
        auth::Caller,
        error::{Api, Result},
        fields::Fields,
        page,
    },
    state::AppState,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Submits a RayJob.
#[utoipa::path(post, path = route::JOBS, tag = "jobs", request_body = SubmitRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "makes a repeat harmless")),
    responses((status = 200, body = SubmitReply)))]
pub async fn submit(
    State(app): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    Fields(request): Fields<SubmitRequest>,
) -> Result<Json<SubmitReply>> {
    let key = key(&headers)?.map(|text| key_of(text, &caller, &request));
    let (new, parsed) = check(&app, &caller, &request).await?;
    refuse_extras(&parsed)?;
    let warnings = warnings(&new, &parsed, &desk::lasting(&app, new.waiting()).await?);
    if request.dry_run {
        let key = LineKey::new(Part::Unlooked, new.urgency(), 0.0, new.submitted_at, new.id);
        let place = app.store.place_of_new(&new.queue, key, new.submitted_at).await?;
        let link = format!("{}/jobs", app.settings.public_url);
        return Ok(Json(SubmitReply { job: None, position: Some(place.position), link, warnings }));
    }
    let entry = entry(&caller, &new);
    let id = commit(&app, Ask { new, key, submission: None, entry }).await?;
    reply(&app, id, warnings).await
}

/// Checks everything that can be checked before the insert.
pub async fn check(
    app: &AppState,
    caller: &Caller,
    request: &SubmitRequest,
) -> Result<(NewJob, ParsedRayJob)> {
    let parsed = parse(&request.manifest)?;
    let new = new_job(&mut Names::of(app), caller, request, &parsed).await?;
    Ok((new, parsed))
}

/// Reads and checks a manifest that did not come with packages of Ray's client.
pub fn checked(text: &str) -> Result<ParsedRayJob> {
    let parsed = parse(text)?;
    refuse_extras(&parsed)?;
    Ok(parsed)
}

/// The pods that must run at the same time, as they are stored.
pub fn gang(parsed: &ParsedRayJob, preferences: &Preferences) -> Vec<GangPart> {
    let no_spot = preferences.no_spot;
    let parts = parsed.gang.iter().map(|member| GangPart {
        role: member.role.clone(),
        count: member.count,
        most: member.most,
        requests: member.requests,
        wish: NodeWish { no_spot, ..member.wish.clone() },
    });
    parts.collect()
}

/// What the dispatcher would look at now if it might stop others, with these jobs as well if they are not among those read.
pub async fn fleet(app: &AppState, more: Vec<Waiting>) -> Result<Input> {
    let asked = (page::silence(app), more);
    let look = app.store.txn("job.look", &asked, |db, (silence, more)| {
        Box::pin(async move {
            let mut input = waiting::snapshot(db, *silence).await?.input;
            let read: BTreeSet<JobId> = input.waiting.iter().map(|job| job.job).collect();
            let mut more: Vec<Waiting> =
                more.iter().filter(|job| !read.contains(&job.job)).cloned().collect();
            run_time::expect(db, &mut more).await?;
            input.waiting.append(&mut more);
            preempt::add_stakes(db, &mut input.clusters).await?;
            waiting::add_prices(db, &mut input).await?;
            Ok(input)
        })
    });
    Ok(Input { terms: app.settings.preemption(), ..look.await? })
}

/// What the dispatcher would look at now, with how many jobs wait behind those that it reads.
pub async fn counted_fleet(app: &AppState) -> Result<Input> {
    let silence = page::silence(app);
    let look = app.store.txn("policy.look", &silence, |db, silence| {
        Box::pin(async move {
            let mut snapshot = waiting::snapshot(db, *silence).await?;
            waiting::count_behind(db, &mut snapshot).await?;
            preempt::add_stakes(db, &mut snapshot.input.clusters).await?;
            Ok(snapshot.input)
        })
    });
    Ok(Input { terms: app.settings.preemption(), ..look.await? })
}

async fn reply(app: &AppState, id: JobId, warnings: Vec<String>) -> Result<Json<SubmitReply>> {
    let row = find(app, &id.to_string()).await?;
    let position = match row.state {
        JobState::Queued if row.borrows.is_some() => {
            Some(app.store.place(&row.queue, row.key(), clock::now()).await?.position)
        }
        JobState::Queued => Some(app.store.place_of_new(&row.queue, row.key(), clock::now()).await?.position),
        _ => None,
    };
    Ok(Json(SubmitReply {
        job: Some(view::job(&row, page::silence(app))),
        position,
        link: app.settings.job_link(id),
        warnings,
    }))
}

/// The key of the request, if it brings one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=200).contains(&text.len())).ok_or_else(|| {
        Api::new(
            Code::BadRequest,
            "the header Idempotency-Key is empty, longer than 200 characters or not ASCII",
            "send another key, for example a UUID",
        )
    })?;
    Ok(Some(text))
}

/// The key of one submission.
pub(super) fn key_of(text: impl Into<String>, caller: &Caller, request: &SubmitRequest) -> Key {
    let mut body = Sha256::new();
    let optional = |part: &Option<String>| part.clone().unwrap_or_default();
    let mut parts = vec![request.manifest.clone(), request.queue.clone(), optional(&request.cluster)];
    parts.extend(request.priority_class.clone());
    for part in &parts {
        body.update((part.len() as u64).to_be_bytes());
        body.update(part.as_bytes());
    }
    if let Some(on_lost) = &request.on_lost {
        body.update(on_lost.as_bytes());
    }
    if !request.preferences.is_empty() {
        body.update(serde_json::json!(request.preferences).to_string().as_bytes());
    }
    Key { owner: caller.actor.subject.clone(), key: text.into(), body: body.finalize().into() }
}

fn parse(text: &str) -> Result<ParsedRayJob> {
    let parsed = manifest::parse(text).map_err(|errors| {
        invalid(
            errors
                .into_iter()
                .map(|error| FieldProblem { path: error.path, problem: error.problem })
                .collect(),
        )
    })?;
    let size = parsed.manifest.to_string().len();
    if size > LONGEST_MANIFEST {
        let problem = format!(
            "is {size} bytes long as JSON, with its anchors written out; the most is {LONGEST_MANIFEST}"
        );
        return Err(invalid(vec![FieldProblem { path: "manifest".to_owned(), problem }]));
    }
    Ok(parsed)
}

/// Nobody uploaded packages for a job that did not come by Ray's API; it would wait for them for ever.
pub fn refuse_extras(parsed: &ParsedRayJob) -> Result<()> {
    let annotations = parsed.manifest.pointer("/metadata/annotations");
    if annotations.is_none_or(|annotations| annotations.get(EXTRAS_ANNOTATION).is_none()) {
        return Ok(());
    }
    let path = format!("metadata.annotations[\"{EXTRAS_ANNOTATION}\"]");
    let problem = "is Squadron's own, for jobs of Ray's client; leave it out".to_owned();
    Err(invalid(vec![FieldProblem { path, problem }]))
}

fn invalid(fields: Vec<FieldProblem>) -> Api {
    let detail = match fields.as_slice() {
        [] => "the manifest is no valid RayJob".to_owned(),
        [one] => format!("the manifest is no valid RayJob: {} {}", one.path, one.problem),
        [first, rest @ ..] => {
            format!(
                "the manifest is no valid RayJob: {} {} (and {} more)",
                first.path,
                first.problem,
                rest.len()
            )
        }
    };
    Api::new(Code::InvalidManifest, detail, "correct the manifest and submit it again; nothing was changed")
        .fields(fields)
}

/// The job that a submission becomes.
pub(super) async fn new_job(
    names: &mut Names<'_>,
    caller: &Caller,
    request: &SubmitRequest,
    parsed: &ParsedRayJob,
) -> Result<NewJob> {
    let (queue, lease) = names.queue(&request.queue).await?;
    let on_lost = wish(request.on_lost.as_deref(), parsed)
        .and_then(|wish| choose(&wish, lease))
        .map_err(|refusal| policy_refused(&refusal))?;
    let texts = request.preferences.clone().over(parsed.preferences.clone());
    let preferences = read(&texts).map_err(|faults| preferences_refused(&faults))?;
    let pinned = names.pin(request.cluster.as_deref(), parsed).await?;
    let priority = names.priority(request.priority_class.as_deref(), parsed).await?;
    let namespace = K8sName::new(parsed.namespace.as_deref().unwrap_or("default"))?;
    Ok(NewJob {
        id: JobId(Uuid::now_v7()),
        name: parsed.name.clone(),
        namespace: namespace.to_string(),
        sentence: format!("queued in {queue}; the dispatcher looks at it in a moment"),
        queue: queue.to_string(),
        owner: caller.actor.subject.clone(),
        manifest: request.manifest.clone(),
        rayjob: manifest::stating(&parsed.manifest, request.cluster.as_deref(), &texts).to_string(),
        gang: gang(parsed, &preferences),
        pinned,
        preferences,
        priority,
        on_lost,
        submitted_at: clock::now(),
    })
}

/// What is legal but probably not meant.
pub(super) fn warnings(new: &NewJob, parsed: &ParsedRayJob, lasting: &[Blocker]) -> Vec<String> {
    let mut warnings = Vec::new();
    if parsed.namespace.is_none() {
        warnings.push("the manifest names no namespace, so the job goes to namespace default".to_owned());
    }
    for part in new.gang.iter().filter(|part| part.count > 0 && part.requests.cpu_milli == 0) {
        warnings.push(format!("pods of {} request no CPU, so placement cannot count them", part.role));
    }
    if parsed.manifest.pointer("/spec/suspend") == Some(&serde_json::Value::Bool(true)) {
        warnings.push(
            "spec.suspend is true, so the job will not start in its cluster until that changes".to_owned(),
        );
    }
    warnings.extend(lasting.iter().map(|blocker| format!("{}; {}", blocker.sentence, blocker.try_this)));
    warnings
}

/// Stores the job, or finds the one that the key stands for.
async fn commit(app: &AppState, ask: Ask) -> Result<JobId> {
    let id = ask.new.id;
    match desk::commit(app, ask).await? {
        Found::Same(job) => Ok(job),
        Found::Other(job) => Err(another(job)),
        Found::Nothing => Ok(id),
    }
}

/// The key stands for another submission.
pub(super) fn another(job: JobId) -> Api {
    Api::new(
        Code::IdempotencyMismatch,
        format!("this idempotency key was used for another submission, which became job {job}"),
        "send a new key for a new job, or repeat the first request unchanged",
    )
}

/// The audit row of a submission.
pub fn entry(caller: &Caller, new: &NewJob) -> audit::Entry {
    caller.entry("job.submit", new.id, format!("{} in queue {}", new.name, new.queue))
}
