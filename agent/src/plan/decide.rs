//! Decide: the rules of the planner, one attempt at a time.

use squadron_core::{fact::AttemptStep, id::AttemptId, time::Timestamp};

use super::{Action, Desired, DesiredAttempt, Memory, Observed, Phase, Plan, Policy, SeenJob, build};

/// How long a finished attempt's RayJob waits for the end of its driver log before it is deleted, in milliseconds.
const LOG_GRACE_MILLIS: i64 = 30_000;

/// What to do now. `desired` is `None` until a desired state was received once; then nothing may be deleted.
pub fn plan(
    desired: Option<&Desired>,
    observed: &Observed,
    memory: &Memory,
    policy: &Policy,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let Some(desired) = desired else { return plan };
    for attempt in &desired.attempts {
        plan.actions.extend(hold(attempt, observed, memory, policy));
    }
    let wanted = |attempt: AttemptId| desired.attempts.iter().any(|desired| desired.id == attempt);
    for (attempt, phase) in memory.attempts().filter(|(attempt, _)| !wanted(*attempt)) {
        release(attempt, phase, observed, now, &mut plan);
    }
    for (key, job) in &observed.jobs {
        if let Some(attempt) = job.ours.filter(|attempt| !wanted(*attempt) && memory.get(*attempt).is_none())
        {
            // Ours, neither wanted nor remembered: left over from a memory that was lost.
            plan.actions.extend(delete(attempt, key, job));
        }
    }
    plan
}

/// An attempt that this cluster should hold.
fn hold(attempt: &DesiredAttempt, observed: &Observed, memory: &Memory, policy: &Policy) -> Option<Action> {
    let phase = memory.get(attempt.id);
    if matches!(phase, Some(Phase::Refused | Phase::Removed)) {
        return None;
    }
    let seen = observed.jobs.get(&(attempt.namespace.clone(), attempt.name.clone()));
    match seen {
        Some(job) if job.ours == Some(attempt.id) => held(attempt.id, phase),
        Some(_) => Some(refuse(attempt.id, taken(attempt))),
        None if matches!(phase, Some(Phase::Created | Phase::Released(_))) => {
            removed_by_others(attempt.id, observed)
        }
        None => Some(create(attempt, policy)),
    }
}

fn held(attempt: AttemptId, phase: Option<Phase>) -> Option<Action> {
    match phase {
        Some(Phase::Created) => None,
        Some(Phase::Released(_)) => Some(Action::Remember { attempt, phase: Some(Phase::Created) }),
        _ => Some(report(attempt, AttemptStep::Created, String::new(), Some(Phase::Created))),
    }
}

fn create(attempt: &DesiredAttempt, policy: &Policy) -> Action {
    if let Some(objection) = policy.objection(&attempt.namespace) {
        return refuse(attempt.id, objection);
    }
    match build(attempt, policy.cluster) {
        Ok(object) => Action::Create { attempt: attempt.id, object },
        Err(error) => refuse(attempt.id, error.to_string()),
    }
}

fn taken(attempt: &DesiredAttempt) -> String {
    let DesiredAttempt { namespace, name, .. } = attempt;
    format!(
        "a RayJob {namespace}/{name} exists and was not created by Squadron for this attempt; \
         delete or rename it, then submit again"
    )
}

fn removed_by_others(attempt: AttemptId, observed: &Observed) -> Option<Action> {
    let message = "someone other than Squadron deleted the RayJob".to_owned();
    (!observed.remains.contains(&attempt))
        .then(|| report(attempt, AttemptStep::Removed, message, Some(Phase::Removed)))
}

/// An attempt that this cluster no longer should hold.
fn release(attempt: AttemptId, phase: Phase, observed: &Observed, now: Timestamp, plan: &mut Plan) {
    let Some((key, job)) = observed.jobs.iter().find(|(_, job)| job.ours == Some(attempt)) else {
        if !observed.remains.contains(&attempt) {
            plan.actions.push(farewell(attempt, phase));
        }
        return;
    };
    let since = match phase {
        Phase::Released(since) => since,
        _ => {
            plan.actions.push(Action::Remember { attempt, phase: Some(Phase::Released(now)) });
            now
        }
    };
    let deadline = since.plus_millis(LOG_GRACE_MILLIS);
    if job.ended && !observed.log_ended.contains(&attempt) && now < deadline {
        plan.wake_at = Some(plan.wake_at.map_or(deadline, |earlier| earlier.min(deadline)));
    } else {
        plan.actions.extend(delete(attempt, key, job));
    }
}

fn farewell(attempt: AttemptId, phase: Phase) -> Action {
    match phase {
        Phase::Removed => Action::Remember { attempt, phase: None },
        _ => report(attempt, AttemptStep::Removed, String::new(), None),
    }
}

fn delete(attempt: AttemptId, key: &(String, String), job: &SeenJob) -> Option<Action> {
    let (namespace, name) = key.clone();
    (!job.deleting).then(|| Action::Delete { attempt, namespace, name, uid: job.uid.clone() })
}

fn refuse(attempt: AttemptId, message: String) -> Action {
    report(attempt, AttemptStep::Refused, message, Some(Phase::Refused))
}

fn report(attempt: AttemptId, step: AttemptStep, message: String, phase: Option<Phase>) -> Action {
    Action::Report { attempt, step, message, phase }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
