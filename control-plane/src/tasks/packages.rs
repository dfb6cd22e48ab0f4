//! Packages that nobody needs any more, and uploads that broke.
//!
//! Invariant: what a job that has not ended names is never removed. A package that is removed too early for its owner's
//! taste is uploaded again by the next submission, because Ray's client asks before it relies on one.

use squadron_store::{Result, ray_package::Unused};
use uuid::Uuid;

use super::{Left, duty};
use crate::{clock, state::AppState};

/// A package stays this long after its last use, in milliseconds: a week.
const KEPT_MS: i64 = 7 * 24 * 3_600_000;
/// An upload that takes longer than this broke.
const UPLOAD_MS: i64 = 3_600_000;

/// Removes some of what is due.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    if duty::hold(app, "packages", holder).await?.is_none() {
        return Ok(Left::Nothing);
    }
    let now = clock::now();
    let unused =
        Unused { whole_before: now.plus_millis(-KEPT_MS), broken_before: now.plus_millis(-UPLOAD_MS) };
    let dropped = app.store.drop_packages(unused).await?;
    if dropped == 0 {
        return Ok(Left::Nothing);
    }
    tracing::info!(dropped, "removed packages that nobody used");
    Ok(Left::More)
}
