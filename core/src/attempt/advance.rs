//! The transition function of jobs: total over every state and every event.

use crate::{
    attempt::{
        Attempt, AttemptState, Event, Job, Refused, Step, facts::fact_seen, loss, object_name, preempt,
        reason,
    },
    id::ClusterId,
    job::JobState,
    sentence::clip,
    time::Timestamp,
};

/// What `job` becomes by `event` at `now`, or why it stays as it is.
pub fn advance(job: &Job, event: Event<'_>, now: Timestamp) -> Result<Step, Refused> {
    let next = match event {
        Event::Assigned { cluster, cluster_name, because } => {
            assigned(job, cluster, cluster_name, because, now)
        }
        Event::CancelRequested { by, why } => cancel_requested(job, by, why, now),
        Event::Preempted { because } => preempt::asked(job, because),
        Event::Fact { from, fact, pods } => fact_seen(job, from, fact, pods, now),
        Event::NeverCreated => never_created(job, now),
        Event::Silent { verdict } => loss::silent(job, verdict, now),
        Event::Heard => loss::heard(job),
        Event::NothingRuns { proof } => loss::nothing_runs(job, proof, now),
        Event::Adopted { cluster, cluster_name, number, exists } => {
            loss::adopted(job, fresh(job, number, cluster, cluster_name, loss::FOUND, now), exists)
        }
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
    let attempt = fresh(job, number, cluster, name, because, now);
    let mut next = job.clone();
    next.state = JobState::Assigned;
    next.reason = String::new();
    next.sentence = format!(
        "assigned to {name}; its agent has not confirmed RayJob {}/{} yet",
        job.namespace, attempt.object_name
    );
    next.attempt = Some(attempt);
    Ok(next)
}

/// An attempt of which nothing has happened yet.
pub(super) fn fresh(
    job: &Job,
    number: u32,
    cluster: ClusterId,
    name: &str,
    because: &str,
    now: Timestamp,
) -> Attempt {
    Attempt {
        number,
        cluster,
        cluster_name: name.to_owned(),
        object_name: object_name(&job.name, job.id, number),
        chosen_because: because.to_owned(),
        state: AttemptState::Assigned,
        ended_because: String::new(),
        assigned_at: now,
        created_at: None,
        running_at: None,
        checkpointed_at: None,
        ended_at: None,
        desired: true,
        removed_at: None,
    }
}

fn cancel_requested(job: &Job, by: &str, why: &str, now: Timestamp) -> Result<Job, Refused> {
    if job.state.is_terminal() {
        return Err(Refused::Final(job.state));
    }
    if job.state == JobState::Stopping && job.cancel_requested_at.is_some() {
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

/// Says why the newest attempt stops.
pub(super) fn stopping_sentence(job: &Job) -> String {
    let attempt = job.attempt.as_ref();
    let cluster = attempt.map_or("", |attempt| attempt.cluster_name.as_str());
    let why = match attempt {
        Some(attempt) if preempt::is_meant(job) => attempt.ended_because.clone(),
        _ => cancel_words(job),
    };
    format!("stopping on {cluster}, {why}; its agent has not confirmed the end yet")
}

/// `cancelled by ann (wrong data)`.
fn cancel_words(job: &Job) -> String {
    match job.cancel_reason.as_str() {
        "" => format!("cancelled by {}", job.cancelled_by),
        why => format!("cancelled by {} ({why})", job.cancelled_by),
    }
}

/// The job cancelled for good; its attempt, if it lives, ends with it.
pub(super) fn cancelled(job: Job, now: Timestamp) -> Job {
    let sentence = match &job.attempt {
        Some(attempt) if attempt.state.is_tried_again() => {
            format!("{} before it was placed again", cancel_words(&job))
        }
        Some(attempt) => format!("{} and gone from {}", cancel_words(&job), attempt.cluster_name),
        None => format!("{} before it was placed", cancel_words(&job)),
    };
    end(job, AttemptState::Cancelled, reason::CANCELLED, sentence, now)
}

/// Ends job and attempt in `state`.
pub(super) fn end(mut job: Job, state: AttemptState, reason: &str, sentence: String, now: Timestamp) -> Job {
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
            Ok(preempt::stopped(next, now))
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

pub(super) fn mark_removed(job: &mut Job, now: Timestamp) {
    if let Some(attempt) = &mut job.attempt {
        attempt.removed_at = attempt.removed_at.or(Some(now));
        attempt.desired = false;
    }
}

/// Cluster name and `namespace/name` of the RayJob.
pub(super) fn place(job: &Job) -> (String, String) {
    match &job.attempt {
        Some(attempt) => (attempt.cluster_name.clone(), format!("{}/{}", job.namespace, attempt.object_name)),
        None => (String::new(), String::new()),
    }
}
