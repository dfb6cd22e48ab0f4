//! What a text, or other nominal quotas, would do if they were applied: the dispatcher's own decision on a snapshot with the
//! changed policy.
//!
//! Invariant: a text is read, checked and refused exactly as it would be by applying it, and nothing is written. Lists of
//! jobs, loans and queues are bounded, and what they leave out is counted; the changes of the policy and their text are whole.

use axum::{
    Json,
    extract::{Query, State},
};
use squadron_api::{
    queue::QueueQuota,
    route,
    what_if::{
        QuotaEdit, QuotaEdits, WhatIf, WhatIfClaim, WhatIfQuery, WhatIfQueue, WhatIfStanding, WhatIfStart,
        WhatIfStop, WhatIfWait,
    },
};
use squadron_core::{
    dispatch::{
        Blocker, Input,
        change::{Claim, Halt, Pair, Prospect, Shift, Start, prospect},
    },
    quota::{
        Change, Fate, Noun, Policy, Resource, amount,
        check::check,
        declared::{Declared, Problem},
        diff,
        standing::Standing,
        yaml,
    },
    sentence::clip,
};

use super::{held, in_use, refused, shown};
use crate::{
    clock,
    http::{
        error::Result,
        fields::Fields,
        jobs::submit,
        looks::{self, Seat},
        standing,
    },
    state::AppState,
};

/// Jobs of a kind, loans and queues that are listed.
const LISTED: usize = 100;
/// Nominal quotas that can be edited at once.
const MOST_EDITS: usize = 100;

/// Tells what the text would do to queues and to the jobs that wait. Nothing is changed.
#[utoipa::path(post, path = route::POLICY_WHAT_IF, tag = "policy", operation_id = "what_if", params(WhatIfQuery),
    request_body(content = String, content_type = "application/yaml"),
    responses((status = 200, body = WhatIf)))]
pub async fn of_text(
    State(app): State<AppState>,
    Query(query): Query<WhatIfQuery>,
    body: String,
) -> Result<Json<WhatIf>> {
    let declared = yaml::read(&body).map_err(refused)?;
    declared.check_prune(query.prune).map_err(refused)?;
    let seat = looks::seat().await?;
    let input = submit::counted_fleet(&app).await?;
    Ok(Json(compare(&app, seat, input, &declared, query.prune).await?))
}

/// The same for other nominal quotas of queues that have some.
#[utoipa::path(post, path = route::QUEUE_WHAT_IF, tag = "queues", operation_id = "what_if", request_body = QuotaEdits,
    responses((status = 200, body = WhatIf)))]
pub async fn of_edits(
    State(app): State<AppState>,
    Fields(request): Fields<QuotaEdits>,
) -> Result<Json<WhatIf>> {
    let seat = looks::seat().await?;
    let input = submit::counted_fleet(&app).await?;
    let declared = edited(&input.policy, &request.edits).map_err(|problem| refused(vec![problem]))?;
    Ok(Json(compare(&app, seat, input, &declared, false).await?))
}

/// The queues with their other quotas, as if a text had declared them.
fn edited(policy: &Policy, edits: &[QuotaEdit]) -> std::result::Result<Declared, Problem> {
    let problem = |path: String, problem: String| Problem { place: None, path, problem };
    if edits.len() > MOST_EDITS {
        return Err(problem(
            String::new(),
            format!("edits more than {MOST_EDITS} quotas; apply a text instead"),
        ));
    }
    let mut declared = Declared::default();
    let queues = &mut declared.policy.queues;
    for edit in edits {
        let path = format!(
            "queue {}, quotas.{}.{}",
            clip(&edit.queue, 80),
            clip(&edit.flavor, 80),
            clip(&edit.resource, 20)
        );
        if !queues.iter().any(|queue| queue.name == edit.queue) {
            queues.extend(policy.queues.iter().find(|queue| queue.name == edit.queue).cloned());
        }
        let queue = queues.iter_mut().find(|queue| queue.name == edit.queue);
        let named = Resource::from_word(&edit.resource).and_then(|resource| {
            let amounts = queue?.quotas.get_mut(&edit.flavor)?;
            Some((resource, amounts.get_mut(&resource)?))
        });
        let Some((resource, quota)) = named else {
            let why =
                "is not declared, and only a declared quota can be edited; declare it with squadron apply";
            return Err(problem(path, why.to_owned()));
        };
        quota.nominal = amount::read(resource, &edit.nominal).map_err(|why| problem(path, why))?;
    }
    Ok(declared)
}

async fn compare(
    app: &AppState,
    seat: Seat,
    input: Input,
    declared: &Declared,
    prune: bool,
) -> Result<WhatIf> {
    let target = declared.onto(&input.policy, prune);
    let faults = check(&target);
    if !faults.is_empty() {
        return Err(refused(declared.problems(&faults)));
    }
    let changes = diff(&input.policy, &target);
    let kept = app.store.txn("policy.kept", &changes, |db, changes| Box::pin(held(db, changes))).await?;
    if !kept.is_empty() {
        return Err(in_use(kept));
    }
    let yaml = yaml::write(&named(&changes, &target));
    let told = seat.look(move || prospect(&input, &target)).await?;
    Ok(answer(told, &changes, yaml))
}

/// What of the policy is added or changed.
fn named(changes: &[Change], target: &Policy) -> Policy {
    let is = |noun: Noun, name: &str| {
        let mut these = changes.iter().filter(|change| change.noun == noun && change.fate != Fate::Removed);
        these.any(|change| change.name == name)
    };
    let mut named = target.clone();
    named.flavors.retain(|flavor| is(Noun::Flavor, &flavor.name));
    named.queues.retain(|queue| is(Noun::Queue, &queue.name));
    named.priority_classes.retain(|class| is(Noun::PriorityClass, &class.name));
    named
}

fn answer(told: Prospect, changes: &[Change], yaml: String) -> WhatIf {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (sentence, same) = (told.sentence(), number(told.same));
    let shifted: usize = told.shifts.iter().map(|shift| shift.jobs).sum();
    let (starts_total, waits_total) = (number(told.starts.len()), number(told.stays.len() + shifted));
    WhatIf {
        sentence,
        changes: changes.iter().map(shown).collect(),
        yaml,
        starts: told.starts.into_iter().take(LISTED).map(start).collect(),
        starts_total,
        waits: told.stays.into_iter().chain(told.shifts).take(LISTED).map(wait).collect(),
        waits_total,
        same,
        stops_total: number(told.stops.len()),
        stops: told.stops.into_iter().take(LISTED).map(stop).collect(),
        claims_total: number(told.claims.len()),
        claims: told.claims.into_iter().take(LISTED).map(claim).collect(),
        queues_total: number(told.queues.len()),
        queues: told.queues.into_iter().take(LISTED).map(|(name, pair)| queue(name, &pair)).collect(),
        as_of: clock::now(),
    }
}

fn start(job: Start) -> WhatIfStart {
    let Start { job: id, name, queue, cluster, because } = job;
    WhatIfStart { id, name, queue, cluster, sentence: because }
}

fn wait(job: Shift) -> WhatIfWait {
    let code = |blocker: &Option<Blocker>| {
        blocker.as_ref().map_or_else(String::new, |blocker| blocker.code.word().to_owned())
    };
    WhatIfWait {
        id: job.job,
        name: job.name,
        queue: job.queue,
        code_before: code(&job.before),
        code: code(&job.after),
        sentence: job.after.map_or_else(String::new, |blocker| blocker.sentence),
    }
}

fn stop(halt: Halt) -> WhatIfStop {
    let Halt { attempt, queue, cluster, makes_room_for, because: sentence } = halt;
    WhatIfStop { id: attempt.job, attempt: attempt.number, queue, cluster, makes_room_for, sentence }
}

fn claim(claim: Claim) -> WhatIfClaim {
    let Claim { queue, flavor, resource, before, after, beyond } = claim;
    let resource = resource.word().to_owned();
    WhatIfClaim { queue, flavor, resource, borrowed_before: before, borrowed: after, beyond }
}

fn queue(name: String, pair: &Pair) -> WhatIfQueue {
    let (before, after) = (pair.before.as_ref().map(stands), pair.after.as_ref().map(stands));
    WhatIfQueue { name, before, after }
}

fn stands(standing: &Standing) -> WhatIfStanding {
    let quotas: Vec<QueueQuota> = standing::lines(standing);
    WhatIfStanding { share: standing.share, quotas }
}
