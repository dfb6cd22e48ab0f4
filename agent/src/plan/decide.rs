//! Decide: the rules of the planner, one attempt at a time.

use std::collections::BTreeMap;

use squadron_core::{fact::AttemptStep, id::AttemptId, lease::NotStarted, time::Timestamp};

use super::{
    Action, Desired, DesiredAttempt, Memory, Observed, Phase, Plan, Policy, SeenJob, build, guarded::guarded,
};
use crate::{controller::reference, lease::Leave, watch::object};

/// Namespace and name of a RayJob.
type Key = (String, String);

/// How long a finished attempt's RayJob waits for the end of its driver log before it is deleted, in milliseconds.
const LOG_GRACE_MILLIS: i64 = 30_000;

/// What the planner looks at.
struct Look<'a> {
    observed: &'a Observed,
    /// The RayJobs that carry the marks of an attempt: of each the first by name.
    ours: BTreeMap<AttemptId, (&'a Key, &'a SeenJob)>,
    memory: &'a Memory,
    policy: &'a Policy,
    leave: &'a Leave,
}

/// What to do now. `desired` is `None` until a desired state was received once; then nothing may be deleted.
pub fn plan(
    desired: Option<&Desired>,
    observed: &Observed,
    memory: &Memory,
    policy: &Policy,
    leave: &Leave,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let Some(desired) = desired else { return plan };
    let look = Look { observed, ours: ours(observed), memory, policy, leave };
    for attempt in desired.attempts.values() {
        hold(attempt, &look, &mut plan);
    }
    let wanted = |attempt: AttemptId| desired.attempts.contains_key(&attempt);
    for (attempt, phase) in memory.attempts().filter(|(attempt, _)| !wanted(*attempt)) {
        release(attempt, phase, &look, now, &mut plan);
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

/// The first RayJob of each attempt, found by looking at each RayJob once.
fn ours(observed: &Observed) -> BTreeMap<AttemptId, (&Key, &SeenJob)> {
    let mut ours = BTreeMap::new();
    for (key, job) in &observed.jobs {
        if let Some(attempt) = job.ours {
            ours.entry(attempt).or_insert((key, job));
        }
    }
    ours
}

/// An attempt that this cluster should hold.
fn hold(attempt: &DesiredAttempt, look: &Look<'_>, plan: &mut Plan) {
    let phase = look.memory.get(attempt.id);
    if matches!(phase, Some(Phase::Refused | Phase::Removed | Phase::Fenced)) {
        return;
    }
    let seen = look.observed.jobs.get(&(attempt.namespace.clone(), attempt.name.clone()));
    match seen {
        Some(job) if job.ours == Some(attempt.id) => {
            let stops = phase == Some(Phase::Fencing) || look.leave.stops.contains(&attempt.id);
            if stops && !job.ended {
                stop(attempt.id, phase, plan);
            } else {
                plan.actions.extend(held(attempt.id, phase));
                plan.actions.extend(caps(attempt, look));
            }
        }
        Some(_) => plan.actions.push(refuse(attempt.id, taken(attempt))),
        None if phase == Some(Phase::Fencing) => stopped(attempt.id, look.observed, plan),
        None if matches!(phase, Some(Phase::Created | Phase::Released(_))) => {
            plan.actions.extend(gone(attempt, look.observed));
        }
        None => start(attempt, look, plan),
    }
}

/// The lease has ended: everything of the attempt stops. It is remembered first, so that a restart goes on with it.
fn stop(attempt: AttemptId, phase: Option<Phase>, plan: &mut Plan) {
    if phase != Some(Phase::Fencing) {
        plan.actions.push(Action::Remember { attempt, phase: Some(Phase::Fencing) });
    }
    plan.actions.push(Action::Fence { attempt });
}

/// Its RayJob went because the lease had ended; told once nothing is left.
fn stopped(attempt: AttemptId, observed: &Observed, plan: &mut Plan) {
    if observed.remains.contains(&attempt) {
        plan.actions.push(Action::Fence { attempt });
    } else {
        let message = "the control plane renewed nothing before the lease of this cluster ended".to_owned();
        plan.actions.push(report(attempt, AttemptStep::Fenced, message, Some(Phase::Fenced)));
    }
}

/// Nothing has its name: it starts, is accepted, or is told to be gone.
fn start(attempt: &DesiredAttempt, look: &Look<'_>, plan: &mut Plan) {
    let accepted = match look.leave.not_started.get(&attempt.id) {
        Some(NotStarted::CreatedBefore) => return plan.actions.extend(gone(attempt, look.observed)),
        // A newer answer of the control plane comes with the next heartbeat.
        Some(NotStarted::Late | NotStarted::NoLease) => return,
        Some(NotStarted::NotAccepted) => false,
        None => true,
    };
    let remains = look.observed.remains.contains(&attempt.id);
    if !accepted && !remains && look.observed.ready.contains(&attempt.id) {
        plan.accepts.insert(attempt.id);
        return;
    }
    let action = create(attempt, look.policy);
    if !matches!(action, Action::Create { .. }) {
        plan.actions.push(action);
    } else if remains {
        // What a life before left of it must be gone first.
    } else if accepted {
        plan.actions.push(action);
    } else {
        plan.accepts.insert(attempt.id);
    }
}

fn held(attempt: AttemptId, phase: Option<Phase>) -> Option<Action> {
    match phase {
        Some(Phase::Created) => None,
        Some(Phase::Released(_)) => Some(Action::Remember { attempt, phase: Some(Phase::Created) }),
        _ => Some(report(attempt, AttemptStep::Created, String::new(), Some(Phase::Created))),
    }
}

/// Its RayClusters get the caps that were decided, and get rid of those that were lifted.
fn caps(attempt: &DesiredAttempt, look: &Look<'_>) -> Vec<Action> {
    let clusters = look.observed.capped.get(&attempt.id).into_iter().flatten();
    let patched = clusters.filter(|cluster| !object::is_deleting(cluster)).filter_map(|cluster| {
        let patch = squadron_ray::caps::patch(cluster, &attempt.caps)?;
        Some(Action::Cap { attempt: attempt.id, cluster: reference(cluster), patch })
    });
    patched.collect()
}

fn create(attempt: &DesiredAttempt, policy: &Policy) -> Action {
    if let Some(objection) = policy.objection(&attempt.namespace) {
        return refuse(attempt.id, objection);
    }
    let built = build(attempt, policy.cluster);
    match built.and_then(|object| guarded(object, attempt, policy.watchdog.as_ref())) {
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

/// It was created once and is not there any more.
fn gone(attempt: &DesiredAttempt, observed: &Observed) -> Option<Action> {
    let (step, phase, message) = if observed.fenced.contains(&attempt.id) {
        let message = "the fencer stopped it because nobody renewed the lease of this cluster";
        (AttemptStep::Fenced, Phase::Fenced, message)
    } else if observed.fenced_more && attempt.on_lost().stops_itself() {
        let message = "it is gone, and the fencer stopped more than its note can name";
        (AttemptStep::Fenced, Phase::Fenced, message)
    } else {
        (AttemptStep::Removed, Phase::Removed, "someone other than Squadron deleted the RayJob")
    };
    (!observed.remains.contains(&attempt.id) && !observed.note_unread)
        .then(|| report(attempt.id, step, message.to_owned(), Some(phase)))
}

/// An attempt that this cluster no longer should hold.
fn release(attempt: AttemptId, phase: Phase, look: &Look<'_>, now: Timestamp, plan: &mut Plan) {
    let Some((key, job)) = look.ours.get(&attempt).copied() else {
        if !look.observed.remains.contains(&attempt) {
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
    if job.ended && !look.observed.log_ended.contains(&attempt) && now < deadline {
        plan.wake_at = Some(plan.wake_at.map_or(deadline, |earlier| earlier.min(deadline)));
    } else {
        plan.actions.extend(delete(attempt, key, job));
    }
}

fn farewell(attempt: AttemptId, phase: Phase) -> Action {
    match phase {
        Phase::Removed | Phase::Fenced => Action::Remember { attempt, phase: None },
        _ => report(attempt, AttemptStep::Removed, String::new(), None),
    }
}

fn delete(attempt: AttemptId, key: &Key, job: &SeenJob) -> Option<Action> {
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
