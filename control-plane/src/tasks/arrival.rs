//! Arrivals: RayJobs that somebody put into a cluster become jobs, and their deletion is a cancellation.
//!
//! Invariant: an object's row, its job, the audit entry and the cursor over the fact are one transaction, and the job's
//! id follows from cluster and object, so whatever is told again changes nothing. A manifest is checked as a submitted one
//! is, and so are the names on it. Fails safe: what may not be or cannot be a job is kept as refused, with the reason that its
//! agent writes on it, and looked at again when the rule, cluster, class or leaf is there that it lacked.

use sha2::{Digest as _, Sha256};
use squadron_core::{
    arrival::{self as decide, Known, Question, Refusal, Verdict},
    attempt::{Event, advance as next},
    fact::ArrivalFact,
    id::{ClusterId, JobId},
    lease::choose,
    named::{self, PRIORITY_LABEL},
    preference,
    quota::PriorityClass,
    time::Timestamp,
};
use squadron_ray::manifest::ParsedRayJob;
use squadron_store::{
    PgConnection, Result, arrival, audit,
    job::{self, NewJob, advance},
    queue, term,
};
use uuid::Uuid;

use super::{
    Left, duty,
    project::{self, News},
};
use crate::{
    clock,
    http::jobs::{submit, wish},
    state::AppState,
};

/// Refused objects that a pass lets in at most.
const MOST: usize = 50;

/// Lets in what was refused and may by now be imported.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    if !app.store.any_allowed_since().await? {
        return Ok(Left::Nothing);
    }
    let Some(term) = duty::hold(app, project::CONSUMER, holder).await? else { return Ok(Left::NotOurs) };
    let mut tried = Vec::new();
    for _ in 0..MOST {
        let done = app
            .store
            .txn("arrival.allowed", &(&term, &tried), |db, (term, tried)| {
                Box::pin(async move {
                    term::check(db, term).await?;
                    let Some((cluster, fact)) = arrival::allowed_since(db, tried).await? else {
                        return Ok(None);
                    };
                    let mut news = News::default();
                    apply(db, cluster, &fact, clock::now(), &mut news).await?;
                    Ok(Some((news, (cluster, fact.uid))))
                })
            })
            .await?;
        let Some((news, object)) = done else { return Ok(Left::Nothing) };
        project::tell(app, &news);
        tried.push(object);
    }
    Ok(Left::More)
}

/// What an agent told of an object takes effect.
pub async fn apply(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    at: Timestamp,
    news: &mut News,
) -> Result<()> {
    let name = arrival::cluster_name(db, cluster).await?;
    if fact.gone {
        return gone(db, cluster, &name, fact, at, news).await;
    }
    let known = arrival::lock(db, cluster, &fact.uid).await?;
    let allowed = arrival::is_allowed(db, cluster, &fact.namespace, &fact.queue).await?;
    match decide::judge(Question { fact, known: &known, cluster: &name, allowed }) {
        Verdict::Stays { edited } => stays(db, cluster, fact, edited, &known, at, news).await,
        Verdict::Refuse(why) => refuse(db, cluster, fact, &why, at).await,
        Verdict::Import => match new_job(db, cluster, &name, fact).await? {
            Ok(new) => import(db, cluster, &name, fact, &new, news).await,
            Err(why) => refuse(db, cluster, &by_manifest(fact), &why, at).await,
        },
    }
}

/// What an agent told, with the priority class that the manifest names: it is judged by that, and so it must be found
/// again by that, whatever its agent says.
fn by_manifest(fact: &ArrivalFact) -> ArrivalFact {
    let named = parsed(fact).ok().and_then(|parsed| parsed.labels.get(PRIORITY_LABEL).cloned());
    ArrivalFact { priority_class: named.unwrap_or_default(), ..fact.clone() }
}

async fn stays(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    edited: bool,
    known: &Known,
    at: Timestamp,
    news: &mut News,
) -> Result<()> {
    arrival::stays(db, cluster, fact, edited, at).await?;
    if let Known::Imported { job, .. } = known {
        news.jobs.entry(*job).or_insert(0);
    }
    Ok(())
}

async fn refuse(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    why: &Refusal,
    at: Timestamp,
) -> Result<()> {
    tracing::info!(%cluster, object = %format!("{}/{}", fact.namespace, fact.name), reason = why.reason, "refused an arrival");
    arrival::refused(db, cluster, fact, why, at).await
}

async fn import(
    db: &mut PgConnection,
    cluster: ClusterId,
    name: &str,
    fact: &ArrivalFact,
    new: &NewJob,
    news: &mut News,
) -> Result<()> {
    job::insert(db, new).await?;
    arrival::imported(db, cluster, fact, new.id, new.submitted_at).await?;
    let detail = format!("{} in queue {}", new.name, new.queue);
    audit::insert(db, &entry(name, fact, "job.submit", new.id, detail)).await?;
    news.jobs.insert(new.id, 1);
    Ok(())
}

/// The object is gone, and with it the wish.
async fn gone(
    db: &mut PgConnection,
    cluster: ClusterId,
    name: &str,
    fact: &ArrivalFact,
    at: Timestamp,
    news: &mut News,
) -> Result<()> {
    let Some(id) = arrival::gone(db, cluster, &fact.uid, at).await? else { return Ok(()) };
    let Some(before) = advance::lock(db, id).await? else { return Ok(()) };
    let by = decide::actor(name, fact);
    let Ok(step) = next(&before, Event::CancelRequested { by: &by, why: &fact.gone_why }, clock::now())
    else {
        return Ok(());
    };
    let version = advance::save(db, &step).await?;
    audit::insert(db, &entry(name, fact, "job.cancel", id, fact.gone_why.clone())).await?;
    news.desired |= step.desired_changed.is_some();
    news.jobs.insert(id, version);
    Ok(())
}

fn entry(cluster: &str, fact: &ArrivalFact, action: &str, job: JobId, detail: String) -> audit::Entry {
    audit::Entry {
        id: Uuid::now_v7(),
        at: clock::now(),
        actor: decide::actor(cluster, fact),
        action: action.to_owned(),
        object: job.to_string(),
        allowed: true,
        detail,
        request_id: String::new(),
    }
}

/// What an object becomes, or why it cannot become anything.
type Judged<T> = std::result::Result<T, Refusal>;

/// The job, or why the object cannot be one.
async fn new_job(
    db: &mut PgConnection,
    cluster: ClusterId,
    name: &str,
    fact: &ArrivalFact,
) -> Result<Judged<NewJob>> {
    let parsed = match parsed(fact) {
        Ok(parsed) => parsed,
        Err(why) => return Ok(Err(why)),
    };
    let priority = match names(db, fact, &parsed).await? {
        Ok(priority) => priority,
        Err(why) => return Ok(Err(why)),
    };
    let pinned = if fact.cluster.is_empty() { None } else { arrival::cluster_id(db, &fact.cluster).await? };
    if !fact.cluster.is_empty() && pinned.is_none() {
        return Ok(Err(decide::unknown_cluster(&fact.cluster)));
    }
    let lease = queue::lease(db, &fact.queue).await?.unwrap_or_default();
    let on_lost = match wish::wish(None, &parsed).and_then(|wish| choose(&wish, lease)) {
        Ok(chosen) => chosen,
        Err(refused) => return Ok(Err(decide::invalid(&refused.to_string()))),
    };
    // They were checked with the manifest.
    let preferences = preference::read(&parsed.preferences).unwrap_or_default();
    let new = NewJob {
        id: id(cluster, fact),
        name: parsed.name.clone(),
        namespace: fact.namespace.clone(),
        sentence: format!("queued in {}; the dispatcher looks at it in a moment", fact.queue),
        queue: fact.queue.clone(),
        owner: decide::owner(name, &fact.namespace),
        manifest: fact.manifest.clone(),
        rayjob: parsed.manifest.to_string(),
        gang: submit::gang(&parsed, &preferences),
        pinned,
        preferences,
        priority,
        on_lost,
        submitted_at: clock::now(),
    };
    Ok(Ok(new))
}

fn parsed(fact: &ArrivalFact) -> Judged<ParsedRayJob> {
    let parsed = submit::checked(&fact.manifest).map_err(|refused| decide::invalid(&refused.detail))?;
    // The rule was looked up for the object's namespace, so the job may have no other.
    if parsed.namespace.as_deref() != Some(fact.namespace.as_str()) {
        return Err(decide::invalid("the manifest names another namespace than its object stands in"));
    }
    Ok(parsed)
}

/// Judges queue and priority class as of a submission; answers the class.
async fn names(
    db: &mut PgConnection,
    fact: &ArrivalFact,
    parsed: &ParsedRayJob,
) -> Result<Judged<Option<PriorityClass>>> {
    let below = queue::below(db, &fact.queue).await?;
    let name = parsed.labels.get(PRIORITY_LABEL).map_or("", String::as_str);
    let classes = job::priority::classes(db).await?;
    let judged = named::leaf(&fact.queue, &below).and_then(|()| named::class(name, &classes));
    Ok(judged.map_err(|wrong| decide::misnamed(&wrong)))
}

/// The id that the object's job has, however often it is imported: a time of its own and a digest of what it is.
fn id(cluster: ClusterId, fact: &ArrivalFact) -> JobId {
    let created = fact.created_at.map_or(0, |at| u64::try_from(at.millis()).unwrap_or(0));
    let digest = Sha256::new()
        .chain_update(b"squadron-arrival-v1")
        .chain_update(cluster.0.as_bytes())
        .chain_update(fact.uid.as_bytes())
        .finalize();
    let mut random = [0; 10];
    random.copy_from_slice(&digest[..10]);
    JobId(uuid::Builder::from_unix_timestamp_millis(created, &random).into_uuid())
}

#[cfg(test)]
#[path = "arrival_tests.rs"]
mod tests;
