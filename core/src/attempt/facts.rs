//! Facts about an attempt: what each kind of word from its cluster makes of the job.

use crate::{
    attempt::{
        Attempt, AttemptState, Job, Refused,
        advance::{end, mark_removed, place},
        loss,
        pods::{killed_for_memory, progress, trouble},
        preempt,
        ray_job::{Meaning, meaning},
        reason,
    },
    fact::{AttemptFact, AttemptStep, Fact, PodFact, RayClusterFact, RayJobFact},
    id::ClusterId,
    job::JobState,
    sentence::{clip, duration},
    silence::AHEAD_MS,
    time::Timestamp,
};

/// What a fact makes of `job`, if it is about its newest attempt and comes from the cluster that holds it.
pub(super) fn fact_seen(
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
    if let Fact::Attempt(AttemptFact { step: AttemptStep::Fenced, message, .. }) = fact {
        return loss::fenced(job, attempt, message, now);
    }
    match (attempt.state.is_terminal(), fact) {
        (true, _) if !job.state.is_terminal() => {
            Err(Refused::Nothing("the attempt is over; its job goes on"))
        }
        (true, _) => Err(Refused::Final(job.state)),
        (false, Fact::Attempt(step)) => step_reported(job, step, now),
        (false, Fact::RayJob(ray_job)) if !is_object_of(job, attempt, ray_job) => Err(Refused::OtherObject),
        (false, Fact::RayJob(ray_job)) => ray_job_seen(job, ray_job, pods, now),
        (false, Fact::RayCluster(cluster)) => ray_cluster_seen(job, cluster, pods),
        (false, Fact::Pod(_)) => Ok(redescribed(job.clone(), pods)),
        (false, _) => Err(Refused::Nothing("facts of this kind do not move a job")),
    }
}

/// Whether the fact speaks of the very RayJob that was created for the attempt. Labels are no proof: a copy of the object
/// under another name carries them too, and its end is not the job's.
fn is_object_of(job: &Job, attempt: &Attempt, fact: &RayJobFact) -> bool {
    fact.namespace == job.namespace && fact.name == attempt.object_name
}

/// The agent says that nothing of the attempt is left.
fn removed(job: &Job, attempt: &Attempt, now: Timestamp) -> Result<Job, Refused> {
    let mut next = job.clone();
    mark_removed(&mut next, now);
    match attempt.state {
        state if state.is_terminal() => Ok(next),
        AttemptState::Stopping => Ok(preempt::stopped(next, now)),
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
        AttemptStep::Removed | AttemptStep::Fenced => Err(Refused::Nothing("the end was handled before")),
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
    // Only the agent knows whether a person, the fencer or itself deleted it, and says so when nothing is left.
    if meaning == Meaning::Gone {
        return Err(Refused::Nothing("the agent's word on the whole attempt follows"));
    }
    let next = saved(created(job.clone(), now), fact.checkpointed_at, now);
    match meaning {
        Meaning::Succeeded => Ok(succeeded(next, fact, pods, now)),
        _ if job.state == JobState::Stopping => Ok(next),
        Meaning::Stopped => Ok(stopped_in_ray(next, now)),
        Meaning::Failed { reason, why } => Ok(failed(next, &reason, &why, pods, now)),
        Meaning::Running => Ok(running(next, pods, now)),
        Meaning::Starting { reason, note } => Ok(starting(next, reason, &note, pods)),
        Meaning::Gone => Err(Refused::Nothing("handled before")),
    }
}

/// Takes the job's word on its last checkpoint. A word from the future proves nothing, and an older one is no news.
fn saved(mut job: Job, told: Option<Timestamp>, now: Timestamp) -> Job {
    let told = told.filter(|told| told.millis_since(now) <= AHEAD_MS).map(|told| told.min(now));
    if let Some(attempt) = &mut job.attempt {
        attempt.checkpointed_at = attempt.checkpointed_at.max(told);
    }
    job
}

fn succeeded(job: Job, fact: &RayJobFact, pods: &[PodFact], now: Timestamp) -> Job {
    let (cluster, _) = place(&job);
    let started = job.started_at.or(fact.started_at).unwrap_or(now);
    let mut sentence =
        format!("succeeded on {cluster} after {}", duration(started, fact.ended_at.unwrap_or(now)));
    if let Some(killed) = killed_for_memory(pods) {
        sentence.push_str(&format!("; on the way {killed}"));
    }
    if preempt::is_meant(&job) {
        sentence.push_str(", before it was stopped for another job");
    } else if job.state == JobState::Stopping {
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
    let logs = format!("squadron logs {}", job.id);
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

fn running(mut job: Job, pods: &[PodFact], now: Timestamp) -> Job {
    job.state = JobState::Running;
    job.started_at = job.started_at.or(Some(now));
    if job.reason != reason::CLUSTER_DELETED {
        job.reason = String::new();
    }
    if let Some(attempt) = &mut job.attempt {
        attempt.state = AttemptState::Running;
        attempt.running_at = attempt.running_at.or(Some(now));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::tests::{Told, at, job, live, ray_job};

    #[test]
    fn a_word_on_a_checkpoint_counts_once_it_lies_behind_and_never_goes_back() {
        let mut one = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING")]);
        let mut word = |told: Option<Timestamp>| {
            one = saved(one.clone(), told, at(100));
            one.attempt.as_ref().and_then(|attempt| attempt.checkpointed_at)
        };
        assert_eq!(word(None), None, "nobody said");
        assert_eq!(word(Some(at(100).plus_millis(AHEAD_MS + 1))), None, "from the future");
        assert_eq!(word(Some(at(40))), Some(at(40)));
        assert_eq!(word(Some(at(30))), Some(at(40)));
        assert_eq!(word(None), Some(at(40)), "an older agent told of it");
        assert_eq!(word(Some(at(120))), Some(at(100)), "a clock that is a little ahead");
    }
}
