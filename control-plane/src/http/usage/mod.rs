//! Usage: rows whose amounts sum exactly to what the nodes' capacity cost.

mod report;

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Json,
    extract::{Query, State},
};
use squadron_api::{
    error::Code,
    route,
    usage::{Usage, UsageQuery},
};
use squadron_core::{
    authz::Action,
    id::JobId,
    meter::{self, Priced, Report, Sheet, TooLarge},
    sentence::{count, when},
    time::Timestamp,
};
use squadron_store::usage::Spans;
use utoipa::OpenApi;

use self::report::{Groups, groups};
use super::{
    error::{Api, Result},
    page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// Longest time of one report.
const LONGEST_DAYS: i64 = 400;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(usage))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::USAGE, Access::Needs(Action::ReadUsage), usage)
}

/// What was held, by whom, for how much.
#[utoipa::path(get, path = route::USAGE, tag = "usage", params(UsageQuery), responses((status = 200, body = Usage)))]
async fn usage(State(app): State<AppState>, Query(query): Query<UsageQuery>) -> Result<Json<Usage>> {
    let groups = groups(query.by.as_deref())?;
    let (from, to) = span(&query, clock::now())?;
    let sheet = sheet_in_force(&app).await?;
    let spans = app.store.spans(from, to, None).await?;
    let (report, spans, sheet) = metered(spans, sheet, (from, to)).await?;
    let names = names(&app, &report, groups).await?;
    let currency = sheet.as_ref().map(|sheet| sheet.currency.clone()).unwrap_or_default();
    let mut usage = report::show(&report, groups, &names, &currency).map_err(too_large)?;
    (usage.from, usage.to) = (from, to);
    usage.notes = notes(&app, &report, &spans, sheet.is_some()).await?;
    Ok(Json(usage))
}

/// What a job's pods cost until `until`, or until now, as text with the currency; None without a price sheet or anything held.
pub async fn cost_of_job(
    app: &AppState,
    job: JobId,
    since: Timestamp,
    until: Option<Timestamp>,
) -> Result<Option<String>> {
    let Some(sheet) = sheet_in_force(app).await? else { return Ok(None) };
    let until = until.unwrap_or_else(clock::now);
    let spans = app.store.spans(since, until, Some(job)).await?;
    let (report, _, Some(sheet)) = metered(spans, Some(sheet), (since, until)).await? else {
        return Ok(None);
    };
    let id = job.to_string();
    let mut sum = Priced::default();
    for (_, row) in report.rows.iter().filter(|(key, _)| key.job == id) {
        sum.add(*row).map_err(too_large)?;
    }
    if sum == Priced::default() {
        return Ok(None);
    }
    let (_, text) =
        report::money(&sheet.currency, sum.amount.0).apportion(&[sum.amount.0]).map_err(too_large)?;
    Ok(Some(format!("{text} {}", sheet.currency)))
}

/// Meters on a thread of its own: a month of a large fleet takes a while, and others are served meanwhile.
async fn metered(
    spans: Spans,
    sheet: Option<Sheet>,
    (from, to): (Timestamp, Timestamp),
) -> Result<(Report, Spans, Option<Sheet>)> {
    let work = tokio::task::spawn_blocking(move || {
        let report = meter::usage(&spans.nodes, &spans.pods, sheet.as_ref(), from, to);
        report.map(|report| (report, spans, sheet))
    });
    work.await.map_err(|panicked| Api::internal(&panicked))?.map_err(too_large)
}

async fn sheet_in_force(app: &AppState) -> Result<Option<Sheet>> {
    let Some(row) = app.store.price_sheet().await? else { return Ok(None) };
    Sheet::parse(&row.body).map(Some).map_err(|bad| Api::internal(&bad))
}

fn too_large(error: TooLarge) -> Api {
    Api::new(Code::BadRequest, error.to_string(), "ask for a shorter time with from and to")
}

fn span(query: &UsageQuery, now: Timestamp) -> Result<(Timestamp, Timestamp)> {
    let read = |name: &str, text: &Option<String>, default| match text {
        None => Ok(default),
        Some(text) => text.parse::<Timestamp>().map_err(|_| {
            Api::new(
                Code::BadRequest,
                format!("{name} is {text:?}, which is no time"),
                "write RFC 3339, for example 2026-11-01T00:00:00Z",
            )
        }),
    };
    let from = Timestamp::from_millis(read("from", &query.from, now.month_start())?.millis());
    let to = Timestamp::from_millis(read("to", &query.to, now)?.min(now).millis());
    if from > to {
        return Err(Api::new(
            Code::BadRequest,
            format!("from ({}) is later than to ({}), or in the future", when(from), when(to)),
            "choose a time that begins before it ends and before now",
        ));
    }
    if to.millis_since(from) > LONGEST_DAYS * 86_400_000 {
        return Err(Api::new(
            Code::BadRequest,
            format!("the time from {} to {} is longer than {LONGEST_DAYS} days", when(from), when(to)),
            "ask for a shorter time with from and to, for example month by month",
        ));
    }
    Ok((from, to))
}

/// Names of the jobs in the report, when jobs are asked for. A name that several of them carry gets the end of the job's id.
async fn names(app: &AppState, report: &Report, groups: Groups) -> Result<BTreeMap<String, String>> {
    if !groups.job {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<JobId> = report.rows.keys().filter_map(|key| key.job.parse().ok()).collect();
    let names = app.store.job_names(&ids).await?;
    Ok(told_apart(&names))
}

/// What each job is shown as; no two are shown the same.
fn told_apart(names: &BTreeMap<JobId, String>) -> BTreeMap<String, String> {
    let mut carriers: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names.values() {
        *carriers.entry(name).or_default() += 1;
    }
    let mut seen = BTreeSet::new();
    let mut shown = BTreeMap::new();
    for (id, name) in names {
        let short = id.0.simple().to_string().split_off(24);
        let mut text = match carriers.get(name.as_str()) {
            Some(1) => name.clone(),
            _ => format!("{name} ({short})"),
        };
        if !seen.insert(text.clone()) {
            text = format!("{name} ({id})");
        }
        shown.insert(id.to_string(), text);
    }
    shown
}

async fn notes(app: &AppState, report: &Report, spans: &Spans, priced: bool) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if !priced {
        notes.push(
            "no price sheet is in force, so all amounts are 0; put one: squadron prices apply -f FILE"
                .to_owned(),
        );
    }
    if spans.open_pods > 0 {
        let pods = count(usize::try_from(spans.open_pods).unwrap_or(usize::MAX), "pod");
        notes.push(format!("{pods} still held resources at the end of this time and are counted until then"));
    }
    if spans.estimated_ends > 0 {
        let pods = count(usize::try_from(spans.estimated_ends).unwrap_or(usize::MAX), "pod");
        notes.push(format!("estimated: {pods} ended unseen and are counted until they were missed"));
    }
    for clause in page::silent_clusters(app).await? {
        notes.push(format!("estimated: {clause}; what it held then is counted on"));
    }
    notes.extend(report.notes.iter().take(50).cloned());
    Ok(notes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn jobs_of_one_name_are_told_apart_by_the_end_of_their_ids() {
        let ids = [
            "0-0000-7000-8000-0000aaaa0001",
            "0-0000-7000-8000-0000aaaa0002",
            "1-0000-7000-8000-0000aaaa0002",
        ];
        let jobs: Vec<JobId> = ids.iter().map(|id| format!("0193a5a{id}").parse().unwrap()).collect();
        let names =
            [(jobs[0], "train".to_owned()), (jobs[1], "train".to_owned()), (jobs[2], "train".to_owned())];
        let shown: Vec<String> = told_apart(&names.into()).into_values().collect();
        assert_eq!(shown, ["train (aaaa0001)", "train (aaaa0002)", &format!("train ({})", jobs[2])]);
        let lone = told_apart(&[(jobs[0], "train".to_owned())].into());
        assert_eq!(lone.into_values().collect::<Vec<_>>(), ["train"]);
    }
}
