//! The transition function of jobs: total over every state and every event.

use crate::{
    attempt::{
        Attempt, AttemptState, Event, Job, Refused, Step, object_name,
        pods::{killed_for_memory, progress, trouble},
        ray_job::{Meaning, meaning},
        reason,
    },
    fact::{AttemptFact, AttemptStep, Fact, PodFact, RayClusterFact, RayJobFact},
    id::ClusterId,
    job::JobState,
    sentence::{clip, duration},
    time::Timestamp,
};

/// What `job` becomes by `event` at `now`, or why it stays as it is.
pub fn advance(job: &Job, event: Event<'_>, now: Timestamp) -> Result<Step, Refused> {
    let next = match event {
        Event::Assigned { cluster, cluster_name, because } => {
            assigned(job, cluster, cluster_name, because, now)
        }
        Event::CancelRequested { by, why } => cancel_requested(job, by, why, now),
        Event::Fact { from, fact, pods } => fact_seen(job, from, fact, pods, now),
        Event::NeverCreated => never_created(job, now),
        Event::RetentionOver => retention_over(job),
    }?;
    if next == *job {
        return Err(Refused::Nothing("the job is in that state already"));
    }
    Ok(Step { desired_changed: desired_changed(job, &next), job: next })
}

/// The cluster whose desired set differs between the two.
fn desired_changed(before: &Job, after: &Job) -> Option<ClusterId> {
    let held =
        |job: &Job| job.attempt.as_ref().filter(|attempt| attempt.desired).map(|attempt| attempt.number);
    let cluster = after.attempt.as_ref().or(before.attempt.as_ref())?.cluster;
    (held(before) != held(after)).then_some(cluster)
}

fn assigned(
    job: &Job,
    cluster: ClusterId,
    name: &str,
    because: &str,
    now: Timestamp,
) -> Result<Job, Refused> {
    let number = match &job.attempt {
        _ if job.state != JobState::Queued => return Err(Refused::NotWaiting(job.state)),
        Some(attempt) if !attempt.state.is_terminal() => return Err(Refused::NotWaiting(job.state)),
        Some(attempt) => attempt.number.saturating_add(1),
        None => 1,
    };
    let object_name = object_name(&job.name, job.id, number);
    let mut next = job.clone();
    next.state = JobState::Assigned;
    next.reason = String::new();
    next.sentence =
        format!("assigned to {name}; its agent has not confirmed RayJob {}/{object_name} yet", job.namespace);
    next.attempt = Some(Attempt {
        number,
        cluster,
        cluster_name: name.to_owned(),
        object_name,
        chosen_because: because.to_owned(),
        state: AttemptState::Assigned,
        ended_because: String::new(),
        assigned_at: now,
        created_at: None,
        running_at: None,
        ended_at: None,
        desired: true,
        removed_at: None,
    });
    Ok(next)
}

fn cancel_requested(job: &Job, by: &str, why: &str, now: Timestamp) -> Result<Job, Refused> {
    if job.state.is_terminal() {
        return Err(Refused::Final(job.state));
    }
    if job.state == JobState::Stopping {
        return Err(Refused::AlreadyStopping);
    }
    let mut next = job.clone();
    next.cancel_requested_at = Some(now);
    next.cancelled_by = clip(by, 200);
    next.cancel_reason = clip(why, 200);
    next.reason = reason::CANCELLED.to_owned();
    match next.attempt.as_mut().filter(|attempt| !attempt.state.is_terminal()) {
        Some(attempt) => {
            attempt.state = AttemptState::Stopping;
            attempt.desired = false;
            next.state = JobState::Stopping;
            next.sentence = stopping_sentence(&next);
            Ok(next)
        }
        None => Ok(cancelled(next, now)),
    }
}

fn stopping_sentence(job: &Job) -> String {
    let cluster = job.attempt.as_ref().map_or("", |attempt| attempt.cluster_name.as_str());
    format!("stopping on {cluster}, {}; its agent has not confirmed the end yet", cancel_words(job))
}

/// `cancelled by ann (wrong data)`.
fn cancel_words(job: &Job) -> String {
    match job.cancel_reason.as_str() {
        "" => format!("cancelled by {}", job.cancelled_by),
        why => format!("cancelled by {} ({why})", job.cancelled_by),
    }
}

/// The job cancelled for good; its attempt, if it lives, ends with it.
fn cancelled(job: Job, now: Timestamp) -> Job {
    let sentence = match &job.attempt {
        Some(attempt) => format!("{} and gone from {}", cancel_words(&job), attempt.cluster_name),
        None => format!("{} before it was placed", cancel_words(&job)),
    };
    end(job, AttemptState::Cancelled, reason::CANCELLED, sentence, now)
}

/// Ends job and attempt in `state`.
fn end(mut job: Job, state: AttemptState, reason: &str, sentence: String, now: Timestamp) -> Job {
    if let Some(attempt) = job.attempt.as_mut().filter(|attempt| !attempt.state.is_terminal()) {
        attempt.state = state;
        attempt.ended_at = Some(now);
        attempt.ended_because = sentence.clone();
    }
    job.state = state.job_state();
    job.ended_at = Some(now);
    job.reason = reason.to_owned();
    job.sentence = sentence;
    job
}

fn never_created(job: &Job, now: Timestamp) -> Result<Job, Refused> {
    match &job.attempt {
        Some(attempt) if attempt.state == AttemptState::Stopping && attempt.created_at.is_none() => {
            let mut next = job.clone();
            mark_removed(&mut next, now);
            Ok(cancelled(next, now))
        }
        _ => Err(Refused::Nothing("no attempt waits for a word on something that never existed")),
    }
}

fn retention_over(job: &Job) -> Result<Job, Refused> {
    let mut next = job.clone();
    match next.attempt.as_mut().filter(|attempt| attempt.desired && attempt.state.is_terminal()) {
        Some(attempt) => attempt.desired = false,
        None => return Err(Refused::Nothing("no ended attempt is held")),
    }
    Ok(next)
}

fn fact_seen(
    job: &Job,
    from: ClusterId,
    fact: &Fact,
    pods: &[PodFact],
    now: Timestamp,
) -> Result<Job, Refused> {
    let Some(speaks_of) = fact.attempt() else {
        return Err(Refused::Nothing("the fact names no attempt"));
    };
    let attempt = match &job.attempt {
        Some(attempt) if job.attempt_id() == Some(speaks_of) => attempt,
        _ => return Err(Refused::OtherAttempt(speaks_of)),
    };
    if attempt.cluster != from {
        return Err(Refused::OtherCluster);
    }
    if let Fact::Attempt(AttemptFact { step: AttemptStep::Removed, .. }) = fact {
        return removed(job, attempt, now);
    }
    match (attempt.state.is_terminal(), fact) {
        (true, _) => Err(Refused::Final(job.state)),
        (false, Fact::Attempt(step)) => step_reported(job, step, now),
        (false, Fact::RayJob(ray_job)) => ray_job_seen(job, ray_job, pods, now),
        (false, Fact::RayCluster(cluster)) => ray_cluster_seen(job, cluster, pods),
        (false, Fact::Pod(_)) => Ok(redescribed(job.clone(), pods)),
        (false, _) => Err(Refused::Nothing("facts of this kind do not move a job")),
    }
}

fn mark_removed(job: &mut Job, now: Timestamp) {
    if let Some(attempt) = &mut job.attempt {
        attempt.removed_at = attempt.removed_at.or(Some(now));
        attempt.desired = false;
    }
}

/// The agent says that nothing of the attempt is left.
fn removed(job: &Job, attempt: &Attempt, now: Timestamp) -> Result<Job, Refused> {
    let mut next = job.clone();
    mark_removed(&mut next, now);
    match attempt.state {
        state if state.is_terminal() => Ok(next),
        AttemptState::Stopping => Ok(cancelled(next, now)),
        _ => Ok(taken_away(next, now)),
    }
}

/// Somebody deleted the RayJob under a live attempt.
fn taken_away(mut job: Job, now: Timestamp) -> Job {
    let (cluster, object) = place(&job);
    let sentence = format!(
        "failed: RayJob {object} was deleted in {cluster} by someone else while the job was {}; submit it again",
        job.state
    );
    if let Some(attempt) = &mut job.attempt {
        attempt.desired = false;
    }
    end(job, AttemptState::Failed, reason::REMOVED, sentence, now)
}

/// Cluster name and `namespace/name` of the RayJob.
fn place(job: &Job) -> (String, String) {
    match &job.attempt {
        Some(attempt) => (attempt.cluster_name.clone(), format!("{}/{}", job.namespace, attempt.object_name)),
        None => (String::new(), String::new()),
    }
}

fn step_reported(job: &Job, fact: &AttemptFact, now: Timestamp) -> Result<Job, Refused> {
    let mut next = job.clone();
    let (cluster, _) = place(job);
    match fact.step {
        AttemptStep::Refused => {
            let sentence = format!(
                "failed: {cluster} refuses it ({}); correct that and submit again",
                clip(&fact.message, 300)
            );
            if let Some(attempt) = &mut next.attempt {
                attempt.desired = false;
            }
            Ok(end(next, AttemptState::Failed, reason::REFUSED, sentence, now))
        }
        AttemptStep::Created => Ok(created(next, now)),
        AttemptStep::Removed => Err(Refused::Nothing("the end was handled before")),
    }
}

fn created(mut job: Job, now: Timestamp) -> Job {
    if let Some(attempt) = &mut job.attempt {
        attempt.created_at = attempt.created_at.or(Some(now));
        if attempt.state == AttemptState::Assigned {
            attempt.state = AttemptState::Starting;
            job.state = JobState::Starting;
            job.sentence = format!("starting on {}: its pods are being created", attempt.cluster_name);
        }
    }
    job
}

fn ray_job_seen(job: &Job, fact: &RayJobFact, pods: &[PodFact], now: Timestamp) -> Result<Job, Refused> {
    let meaning = meaning(fact);
    if meaning == Meaning::Gone {
        let stopping = job.state == JobState::Stopping;
        return if stopping {
            Err(Refused::Nothing("the agent's word on the whole attempt follows"))
        } else {
            Ok(taken_away(job.clone(), now))
        };
    }
    let next = created(job.clone(), now);
    match meaning {
        Meaning::Succeeded => Ok(succeeded(next, fact, pods, now)),
        _ if job.state == JobState::Stopping => Ok(next),
        Meaning::Stopped => Ok(stopped_in_ray(next, now)),
        Meaning::Failed { reason, why } => Ok(failed(next, &reason, &why, pods, now)),
        Meaning::Running => Ok(running(next, fact, pods, now)),
        Meaning::Starting { reason, note } => Ok(starting(next, reason, &note, pods)),
        Meaning::Gone => Err(Refused::Nothing("handled before")),
    }
}

fn succeeded(job: Job, fact: &RayJobFact, pods: &[PodFact], now: Timestamp) -> Job {
    let (cluster, _) = place(&job);
    let started = fact.started_at.or(job.started_at).unwrap_or(now);
    let mut sentence =
        format!("succeeded on {cluster} after {}", duration(started, fact.ended_at.unwrap_or(now)));
    if let Some(killed) = killed_for_memory(pods) {
        sentence.push_str(&format!("; on the way {killed}"));
    }
    if job.state == JobState::Stopping {
        sentence.push_str(", before the cancellation reached it");
    }
    end(job, AttemptState::Succeeded, "", sentence, now)
}

fn stopped_in_ray(job: Job, now: Timestamp) -> Job {
    let (cluster, _) = place(&job);
    let sentence =
        format!("stopped through Ray on {cluster}, not through Squadron; submit it again to run it");
    end(job, AttemptState::Cancelled, reason::STOPPED_IN_RAY, sentence, now)
}

fn failed(job: Job, reason: &str, why: &str, pods: &[PodFact], now: Timestamp) -> Job {
    let (cluster, _) = place(&job);
    let logs = format!("squadron logs {}", job.name);
    let (reason, sentence) = if let Some(killed) = killed_for_memory(pods) {
        (
            reason::OOM_KILLED,
            format!("failed on {cluster}: {killed}, then {why}; give it more memory and submit again"),
        )
    } else if job.reason == reason::CLUSTER_DELETED {
        (
            reason::CLUSTER_DELETED,
            format!(
                "failed on {cluster}: its RayCluster was deleted while it ran, then {why}; submit it again"
            ),
        )
    } else {
        (reason, format!("failed on {cluster}: {why}; see {logs}"))
    };
    end(job, AttemptState::Failed, reason, sentence, now)
}

fn running(mut job: Job, fact: &RayJobFact, pods: &[PodFact], now: Timestamp) -> Job {
    let started = fact.started_at.filter(|at| *at <= now).unwrap_or(now);
    job.state = JobState::Running;
    job.started_at = job.started_at.or(Some(started));
    if job.reason != reason::CLUSTER_DELETED {
        job.reason = String::new();
    }
    if let Some(attempt) = &mut job.attempt {
        attempt.state = AttemptState::Running;
        attempt.running_at = attempt.running_at.or(Some(started));
    }
    redescribed(job, pods)
}

fn starting(mut job: Job, reason: &str, note: &str, pods: &[PodFact]) -> Job {
    job.state = JobState::Starting;
    job.reason = reason.to_owned();
    if let Some(attempt) = &mut job.attempt {
        attempt.state = AttemptState::Starting;
    }
    if note.is_empty() {
        return redescribed(job, pods);
    }
    let (cluster, _) = place(&job);
    job.sentence = format!("starting on {cluster}: {note}");
    with_trouble(job, pods)
}

/// State kept, sentence and reason written anew from the pods.
fn redescribed(mut job: Job, pods: &[PodFact]) -> Job {
    let (cluster, _) = place(&job);
    let keeps_its_reason =
        [reason::CLUSTER_DELETED, reason::RETRYING, reason::SUSPENDED].contains(&job.reason.as_str());
    if keeps_its_reason {
        return job;
    }
    match job.state {
        JobState::Starting => {
            job.reason = String::new();
            job.sentence = format!("starting on {cluster}: {}", progress(pods));
        }
        JobState::Running => {
            job.reason = String::new();
            job.sentence = format!("running on {cluster}");
        }
        _ => return job,
    }
    with_trouble(job, pods)
}

/// Puts what is wrong with the pods into the sentence and the reason.
fn with_trouble(mut job: Job, pods: &[PodFact]) -> Job {
    let killed = killed_for_memory(pods).filter(|_| job.state == JobState::Running);
    if let Some(trouble) = trouble(pods) {
        let (cluster, _) = place(&job);
        job.reason = trouble.reason.to_owned();
        job.sentence = format!("{} on {cluster}: {}", job.state, trouble.sentence);
    } else if let Some(killed) = killed {
        job.reason = reason::OOM_KILLED.to_owned();
        job.sentence = format!("{}; {killed}", job.sentence);
    }
    job
}

fn ray_cluster_seen(job: &Job, fact: &RayClusterFact, pods: &[PodFact]) -> Result<Job, Refused> {
    let expected = [reason::RETRYING, reason::SUSPENDED].contains(&job.reason.as_str());
    let live = matches!(job.state, JobState::Starting | JobState::Running);
    if !fact.gone {
        return Ok(redescribed(job.clone(), pods));
    }
    if !live || expected {
        return Err(Refused::Nothing("the RayCluster was expected to go"));
    }
    let mut next = job.clone();
    let (cluster, _) = place(job);
    let by =
        if fact.gone_why.is_empty() { String::new() } else { format!(" ({})", clip(&fact.gone_why, 120)) };
    next.reason = reason::CLUSTER_DELETED.to_owned();
    next.sentence = format!(
        "{} on {cluster}: its RayCluster {} was deleted{by} in the cluster; the RayJob's next status says whether it fails \
         or starts anew",
        job.state,
        clip(&fact.name, 63)
    );
    Ok(next)
}
