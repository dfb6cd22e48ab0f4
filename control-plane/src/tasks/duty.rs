//! Duties: of several control planes, one does a task.

use squadron_store::{Result, term::Term};
use uuid::Uuid;

use crate::{clock, state::AppState};

/// How long a duty is kept without another pass, in milliseconds. After a crash nobody does the task for this long.
const TERM_MS: i64 = 4_000;

/// The term of the duty, or None while another process holds it.
pub(super) async fn hold(app: &AppState, duty: &'static str, holder: Uuid) -> Result<Option<Term>> {
    let now = clock::now();
    app.store.hold_duty(duty, holder, now, now.plus_millis(TERM_MS)).await
}
