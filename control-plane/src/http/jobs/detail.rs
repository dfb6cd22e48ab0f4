//! One job: everything that is known of it, with its timeline.

use axum::{
    Json,
    extract::{Path, State},
};
use squadron_api::{
    job::{Attempt, JobDetail, Pod, TimelineEntry},
    route,
};
use squadron_core::{
    attempt::{pod_reason, telling_container},
    fact::{Fact, PodFact},
    incident::resolve,
    job::JobState,
    time::Timestamp,
    timeline::{self, Placement, Story},
};
use squadron_store::{attempt::AttemptRow, incident::IncidentRow, job::JobRow};

use super::{find_for, view, wait};
use crate::{
    http::{auth::Caller, error::Result, page, usage},
    state::AppState,
};

/// Facts that a timeline is made of at most; the newest are taken.
const FACTS: i64 = 5_000;
/// Steps that a timeline shows at most, the newest.
const STEPS: usize = 500;

/// Everything about a job.
#[utoipa::path(get, path = route::JOB, tag = "jobs", params(("job" = String, Path)),
    responses((status = 200, body = JobDetail)))]
pub async fn describe(
    State(app): State<AppState>,
    caller: Caller,
    Path(job): Path<String>,
) -> Result<Json<JobDetail>> {
    let row = find_for(&app, &caller, &job).await?;
    let attempts = app.store.attempts(row.id).await?;
    let incidents = app.store.incidents_of_job(row.id).await?;
    let pods = app.store.pods_of_job(row.id).await?;
    let facts = app.store.facts_of_job(row.id, FACTS).await?;
    let facts: Vec<(Timestamp, Fact)> =
        facts.into_iter().filter_map(|row| Some((row.at, row.fact?))).collect();
    let cost = match pods.is_empty() {
        true => None,
        false => usage::cost_of_job(&app, row.id, row.submitted_at, held_until(&pods)).await?,
    };
    let why = match row.state {
        JobState::Queued => Some(wait::why_of(&app, &row).await?),
        _ => None,
    };
    let mut job = view::job(&row, page::silence(&app));
    if let Some(why) = &why {
        job.sentence.clone_from(&why.sentence);
    }
    Ok(Json(JobDetail {
        job,
        source: app.store.source_of_job(row.id).await?.map(view::source),
        manifest: app.store.manifest(row.id).await?.unwrap_or_default(),
        timeline: timeline(&row, &attempts, &incidents, &facts),
        why,
        attempts: attempts.into_iter().map(attempt).collect(),
        pods: pods.iter().map(pod).collect(),
        incidents: incidents.iter().map(|incident| incident.id).collect(),
        cost,
    }))
}

/// When the last pod let go of what it held; `None` while one holds something.
fn held_until(pods: &[PodFact]) -> Option<Timestamp> {
    pods.iter().map(|pod| pod.finished_at).collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn timeline(
    row: &JobRow,
    attempts: &[AttemptRow],
    incidents: &[IncidentRow],
    facts: &[(Timestamp, Fact)],
) -> Vec<TimelineEntry> {
    let placements = attempts.iter().map(|attempt| Placement {
        at: attempt.assigned_at,
        number: attempt.number,
        cluster: &attempt.cluster,
        because: &attempt.chosen_because,
    });
    let asked = attempts.iter().filter_map(|attempt| {
        let at = attempt.stop_asked_at?;
        Some((at, format!("attempt {} on {} was {}", attempt.number, attempt.cluster, attempt.ended_because)))
    });
    let capped = attempts.iter().filter(|attempt| !attempt.capped_because.is_empty()).filter_map(|attempt| {
        let AttemptRow { number, cluster, capped_because, .. } = attempt;
        Some((attempt.capped_at?, format!("attempt {number} on {cluster}: {capped_because}")))
    });
    let lines = incidents.iter().flat_map(|incident| &incident.evidence);
    let story = Story {
        submitted_at: Some(row.submitted_at),
        owner: &row.owner,
        queue: &row.queue,
        cancelled: row.cancel_requested_at.map(|at| (at, row.cancelled_by.as_str())),
        ended: row.ended_at.map(|at| (at, row.sentence.as_str())),
        placements: placements.collect(),
        asked: asked.chain(capped).collect(),
        facts,
        incidents: incidents
            .iter()
            .flat_map(|incident| {
                let title = &incident.title;
                let end = incident.resolved.as_ref();
                let ended = end.map(|end| (end.at, format!("{title}: {}", resolve::sentence(end))));
                [Some((incident.first_seen_at, title.clone())), ended]
            })
            .flatten()
            .collect(),
        kernel: lines
            .filter(|evidence| evidence.is_kernel_line)
            .map(|evidence| (evidence.at, evidence.raw.clone()))
            .collect(),
    };
    let mut entries = timeline::build(&story);
    entries.drain(..entries.len().saturating_sub(STEPS));
    let shown = entries.into_iter().map(|entry| TimelineEntry {
        at: entry.at,
        source: entry.source.to_owned(),
        sentence: entry.sentence,
    });
    shown.collect()
}

fn attempt(row: AttemptRow) -> Attempt {
    Attempt {
        number: row.number,
        cluster: row.cluster,
        state: row.state,
        object: row.object_name,
        chosen_because: row.chosen_because,
        ended_because: row.ended_because,
        capped_because: row.capped_because,
        proof: row.proof,
        assigned_at: row.assigned_at,
        running_at: row.running_at,
        checkpointed_at: row.checkpointed_at,
        ended_at: row.ended_at,
    }
}

fn pod(fact: &PodFact) -> Pod {
    Pod {
        name: fact.name.clone(),
        role: if fact.role == "worker" && !fact.worker_group.is_empty() {
            format!("worker ({})", fact.worker_group)
        } else {
            fact.role.clone()
        },
        node: fact.node.clone(),
        phase: fact.phase.clone(),
        reason: pod_reason(fact),
        exit_code: telling_container(fact).and_then(|container| container.exit_code),
        gone: fact.gone,
    }
}
