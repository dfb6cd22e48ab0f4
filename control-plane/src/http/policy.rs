//! Declared policy: read back as YAML, and changed by YAML, all of it or nothing.
//!
//! Invariant: what is refused changed nothing, and every refusal names the thing, and the line where the text says it.

mod what_if;
#[cfg(test)]
mod what_if_tests;

use axum::{
    Json,
    extract::{Query, State},
    http::header,
    response::{IntoResponse, Response},
};
use squadron_api::{
    error::{Code, FieldProblem},
    policy::{PolicyChange, PolicyField, PolicyQuery, PolicyReply},
    route,
};
use squadron_core::{
    authz::Action,
    quota::{
        Change, Fate, Noun,
        check::check,
        declared::{Declared, Problem},
        diff, yaml,
    },
    sentence::{clip, count},
};
use squadron_store::{PgConnection, StoreError, audit, quota};
use utoipa::OpenApi;

use super::{
    auth::Caller,
    error::{Api, Result},
    routes::{Access, Routes},
};
use crate::{clock, state::AppState, wake::Topic};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(read, put, what_if::of_text, what_if::of_edits))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .get(route::POLICY, Access::Needs(Action::ReadQueues), read)
        .put(route::POLICY, Access::Needs(Action::WritePolicy), put)
        .post(route::POLICY_WHAT_IF, Access::Needs(Action::WritePolicy), what_if::of_text)
        .post(route::QUEUE_WHAT_IF, Access::Needs(Action::WritePolicy), what_if::of_edits)
}

/// Everything that is declared, as a text that can be put again.
#[utoipa::path(get, path = route::POLICY, tag = "policy",
    responses((status = 200, body = String, content_type = "application/yaml")))]
async fn read(State(app): State<AppState>) -> Result<Response> {
    let policy = app.store.policy().await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], yaml::write(&policy)).into_response())
}

/// Adds and changes what the text names; with `prune` also removes what it does not name.
#[utoipa::path(put, path = route::POLICY, tag = "policy", params(PolicyQuery),
    request_body(content = String, content_type = "application/yaml"),
    responses((status = 200, body = PolicyReply)))]
async fn put(
    State(app): State<AppState>,
    caller: Caller,
    Query(query): Query<PolicyQuery>,
    body: String,
) -> Result<Json<PolicyReply>> {
    let declared = yaml::read(&body).map_err(refused)?;
    declared.check_prune(query.prune).map_err(refused)?;
    let wish = Wish { declared, entry: caller.entry("policy.put", "policy", ""), query };
    let done =
        app.store.txn("policy.put", &wish, |db, wish| Box::pin(bring(db, wish))).await.map_err(raced)?;
    let (version, changes) = match done {
        Done::Refused(problems) => return Err(refused(problems)),
        Done::InUse(problems) => return Err(in_use(problems)),
        Done::Brought { version, changes } => (version, changes),
    };
    let applied = !wish.query.dry_run;
    if applied && !changes.is_empty() {
        app.wake.changed("queue", "policy", version);
        app.wake.notify(Topic::Dispatch);
    }
    Ok(Json(PolicyReply { version, applied, changes: changes.iter().map(shown).collect() }))
}

struct Wish {
    declared: Declared,
    entry: audit::Entry,
    query: PolicyQuery,
}

enum Done {
    Refused(Vec<Problem>),
    InUse(Vec<Problem>),
    Brought { version: i64, changes: Vec<Change> },
}

/// Reads, judges and writes behind the policy's lock. Whoever is refused wrote nothing.
async fn bring(db: &mut PgConnection, wish: &Wish) -> squadron_store::Result<Done> {
    let version = quota::lock(db).await?;
    let current = quota::policy(db).await?;
    let target = wish.declared.onto(&current, wish.query.prune);
    let faults = check(&target);
    if !faults.is_empty() {
        return Ok(Done::Refused(wish.declared.problems(&faults)));
    }
    let changes = diff(&current, &target);
    let held = held(db, &changes).await?;
    if !held.is_empty() {
        return Ok(Done::InUse(held));
    }
    if wish.query.dry_run || changes.is_empty() {
        return Ok(Done::Brought { version, changes });
    }
    let version = quota::apply(db, &target, &changes, clock::now()).await?;
    audit::insert(db, &audit::Entry { detail: told(&changes), ..wish.entry.clone() }).await?;
    Ok(Done::Brought { version, changes })
}

/// Queues that would be removed and have jobs: their jobs say who pays, and stay.
async fn held(db: &mut PgConnection, changes: &[Change]) -> squadron_store::Result<Vec<Problem>> {
    let removed = changes.iter().filter(|change| change.noun == Noun::Queue && change.fate == Fate::Removed);
    let removed: Vec<String> = removed.map(|change| change.name.clone()).collect();
    if removed.is_empty() {
        return Ok(Vec::new());
    }
    let counts = quota::jobs_in(db, &removed).await?;
    let problem = |(name, jobs): (String, quota::JobCount)| Problem {
        place: None,
        path: format!("queue {name}"),
        problem: format!(
            "cannot be removed: it has {}, of which {} have not ended; keep it in the text, without quotas if need be",
            count(usize::try_from(jobs.all).unwrap_or(usize::MAX), "job"),
            jobs.unfinished
        ),
    };
    Ok(counts.into_iter().map(problem).collect())
}

/// For the audit log: `1 added, 2 changed: queue acme added, …`.
fn told(changes: &[Change]) -> String {
    let number = |fate| changes.iter().filter(|change| change.fate == fate).count();
    let each: Vec<String> = changes
        .iter()
        .take(40)
        .map(|change| format!("{} {} {}", change.noun.word(), change.name, word(change.fate)))
        .collect();
    let text = format!(
        "{} added, {} changed, {} removed: {}",
        number(Fate::Added),
        number(Fate::Changed),
        number(Fate::Removed),
        each.join(", ")
    );
    clip(&text, 2_000)
}

fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::Added => "added",
        Fate::Changed => "changed",
        Fate::Removed => "removed",
    }
}

fn shown(change: &Change) -> PolicyChange {
    let field = |field: &squadron_core::quota::FieldChange| PolicyField {
        field: field.field.clone(),
        before: field.before.clone(),
        after: field.after.clone(),
    };
    PolicyChange {
        kind: change.noun.word().to_owned(),
        name: change.name.clone(),
        change: word(change.fate).to_owned(),
        fields: change.fields.iter().map(field).collect(),
    }
}

fn refused(problems: Vec<Problem>) -> Api {
    let problems = fields(problems);
    let detail = format!("the policy is refused: {}", first(&problems));
    Api::new(
        Code::InvalidPolicy,
        detail,
        "correct the text and apply it again; nothing was changed, and docs/guide/queues.md shows the format",
    )
    .fields(problems)
}

fn in_use(problems: Vec<Problem>) -> Api {
    let problems = fields(problems);
    let detail = format!("the policy would remove queues that have jobs: {}", first(&problems));
    Api::new(
        Code::Conflict,
        detail,
        "name these queues in the text, or apply it without prune; nothing was changed",
    )
    .fields(problems)
}

/// `line 7 (document 2): queue acme, spec.parent` as the path.
fn fields(problems: Vec<Problem>) -> Vec<FieldProblem> {
    let field = |problem: Problem| FieldProblem { path: problem.at(), problem: problem.problem };
    problems.into_iter().map(field).collect()
}

fn first(problems: &[FieldProblem]) -> String {
    let Some(first) = problems.first() else { return String::new() };
    let more = match problems.len() {
        1 => String::new(),
        number => format!(" (and {} more)", number - 1),
    };
    format!("{}: {}{more}", first.path, first.problem)
}

fn raced(error: StoreError) -> Api {
    if error.violates(quota::JOBS_STAY) {
        return Api::new(
            Code::Conflict,
            "a queue that the text removes was given a job at the same moment",
            "look at the queues and apply it again; nothing was changed",
        );
    }
    error.into()
}
