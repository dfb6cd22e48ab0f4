//! Pages of lists: where they go on, how old they are, and whether a silent cluster makes them partial.

use squadron_api::{Page, error::Code};
use squadron_core::{
    sentence::{list, when},
    silence::{Judge, Word},
    time::Timestamp,
};
use uuid::Uuid;

use super::error::{Api, Result};
use crate::{clock, state::AppState};

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;
/// Silent clusters that a page names; it counts the others.
const NAMED: usize = 5;

/// Rows of a page, from what the caller asked for.
pub fn limit(asked: Option<u32>) -> Result<u32> {
    match asked.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit),
        other => Err(Api::new(
            Code::BadRequest,
            format!("limit is {other}, and may be from 1 to {MAX_LIMIT}"),
            "ask for fewer rows and follow next_page_token",
        )),
    }
}

/// The row after which the page begins.
pub fn after(token: Option<&str>) -> Result<Option<(Timestamp, Uuid)>> {
    let Some(token) = token else { return Ok(None) };
    let read = || {
        let (micros, id) = token.split_once('.')?;
        Some((Timestamp(micros.parse().ok()?), id.parse().ok()?))
    };
    read().map(Some).ok_or_else(not_ours)
}

/// The refusal of a token that cannot be read.
pub fn not_ours() -> Api {
    Api::new(
        Code::BadRequest,
        "page_token is not one that this server gave out",
        "use next_page_token of the page before, unchanged",
    )
}

/// A page of rows that were fetched with one more than `limit`; `key` names a row.
pub async fn page<R, T>(
    app: &AppState,
    mut rows: Vec<R>,
    limit: u32,
    key: impl Fn(&R) -> (Timestamp, Uuid),
    show: impl Fn(R) -> T,
) -> Result<Page<T>> {
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let token = rows.last().filter(|_| more).map(&key).map(|(at, id)| format!("{}.{id}", at.0));
    Ok(Page {
        items: rows.into_iter().map(show).collect(),
        next_page_token: token,
        as_of: clock::now(),
        partial: partial(app).await?,
    })
}

/// All rows in one page.
pub async fn whole<T>(app: &AppState, items: Vec<T>) -> Result<Page<T>> {
    Ok(Page { items, next_page_token: None, as_of: clock::now(), partial: partial(app).await? })
}

/// Judges silence now.
pub fn silence(app: &AppState) -> Judge {
    app.settings.silence(clock::now())
}

/// Clusters whose word is old, as clauses.
pub async fn silent_clusters(app: &AppState) -> Result<Vec<String>> {
    let unheard = app.store.unheard(silence(app)).await?;
    Ok(unheard
        .into_iter()
        .filter_map(|(name, word)| match word {
            Word::Heard => None,
            Word::Silent { since } => Some(format!("{name} is silent since {}", when(since))),
            Word::Never => Some(format!("{name} was never heard")),
        })
        .collect())
}

async fn partial(app: &AppState) -> Result<Option<String>> {
    let silent = some(silent_clusters(app).await?);
    Ok((!silent.is_empty()).then(|| format!("{}; rows about it may be out of date", list(&silent))))
}

/// The first of these clauses, and how many there are besides.
fn some(mut clauses: Vec<String>) -> Vec<String> {
    let more = clauses.len().saturating_sub(NAMED);
    if more > 0 {
        clauses.truncate(NAMED);
        clauses.push(format!("{more} more are not heard"));
    }
    clauses
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_page_names_some_silent_clusters_and_counts_the_others() {
        let clauses = |count: usize| (0..count).map(|n| format!("c{n} is silent")).collect::<Vec<_>>();
        assert_eq!(some(clauses(NAMED)), clauses(NAMED));
        let many = some(clauses(500));
        assert_eq!((many.len(), many[NAMED].as_str()), (NAMED + 1, "495 more are not heard"));
    }

    #[test]
    fn tokens_and_limits_are_read_strictly() {
        let id = Uuid::now_v7();
        assert_eq!(after(Some(&format!("17.{id}"))).unwrap(), Some((Timestamp(17), id)));
        assert_eq!(after(None).unwrap(), None);
        for bad in ["", "17", "x.y", "17.x"] {
            assert_eq!(after(Some(bad)).unwrap_err().code, Code::BadRequest, "{bad}");
        }
        assert_eq!((limit(None).unwrap(), limit(Some(500)).unwrap()), (100, 500));
        assert!(limit(Some(0)).is_err() && limit(Some(501)).is_err());
    }
}
