//! Lost clusters: silence, as this leader hears it, and what it means for attempts there.
//!
//! Invariants: silence is counted in memory, by looks of one term, and begins anew with each term; an attempt is closed
//! only in a transaction that checks the term, finds the renewal that was judged, and holds its lock. Fails safe: a pass
//! that fails, or comes late, makes everything wait longer. Repaired by the next pass.

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Event, advance as decide},
    id::{AttemptId, ClusterId},
    lease::{Ears, Live, Policy, Proof, ProofKind, Renewal, Tick, Verdict, judge},
};
use squadron_store::{
    PgConnection, Result, attempt,
    cluster::lease::lock_renewal,
    job::advance,
    loss::{self, Held},
    term::{self, Term},
};
use uuid::Uuid;

use super::{EVERY, Left, duty, tell_failure, tell_holder, tell_recovery, troubles::Troubles};
use crate::{clock, http::error::chain, state::AppState, wake::Topic};

const DUTY: &str = "lost";
/// A time that was told is told anew when it is wrong by more than this, in milliseconds.
const MOVED: u64 = 5_000;

/// What one term has heard and said.
#[derive(Default)]
pub struct Watch {
    term: Option<Term>,
    /// Its first look.
    begun: Tick,
    ears: Ears,
    /// What was said of attempts on silent clusters.
    told: BTreeMap<AttemptId, Told>,
}

/// What one look found.
pub(super) struct Seen {
    term: Term,
    renewals: BTreeMap<ClusterId, Renewal>,
    pub(super) held: Vec<Held>,
}

/// The clause, and when it says that the attempt is gone.
type Told = (&'static str, Option<Tick>);

/// Looks once a second until it is dropped.
pub async fn run(app: &AppState, holder: Uuid) {
    let (mut watch, mut failing, mut elsewhere) = (Watch::default(), false, false);
    let mut hints = app.wake.listen(Topic::Clusters);
    loop {
        match watch.pass(app, holder, clock::tick()).await {
            Ok(left) => {
                tell_holder(DUTY, left == Left::NotOurs, &mut elsewhere);
                tell_recovery(DUTY, &mut failing);
            }
            Err(error) => tell_failure(DUTY, chain(&error), &mut failing),
        }
        hints.next(EVERY).await;
    }
}

impl Watch {
    /// One look at all clusters, and what follows from it.
    pub async fn pass(&mut self, app: &AppState, holder: Uuid, now: Tick) -> Result<Left> {
        let Some(seen) = self.look(app, holder, now).await? else { return Ok(Left::NotOurs) };
        let mut troubles = Troubles::default();
        for held in &seen.held {
            troubles.bear(self.follow(app, &seen, held, now).await.map(drop))?;
        }
        troubles.end(Left::Nothing)
    }

    /// Listens to all clusters; nothing while another process holds the duty.
    pub(super) async fn look(&mut self, app: &AppState, holder: Uuid, now: Tick) -> Result<Option<Seen>> {
        let Some(term) = duty::hold(app, DUTY, holder).await? else {
            *self = Watch::default();
            return Ok(None);
        };
        if self.term.as_ref() != Some(&term) {
            *self = Watch { term: Some(term.clone()), begun: now, ..Watch::default() };
        }
        let renewals = app.store.renewals().await?;
        self.ears.look(&renewals, &app.settings.lease, now);
        let held = app.store.held_by(&self.suspected(app, &renewals)).await?;
        self.told.retain(|attempt, _| held.iter().any(|held| held.live.id == *attempt));
        Ok(Some(Seen { term, renewals, held }))
    }

    fn suspected(&self, app: &AppState, renewals: &BTreeMap<ClusterId, Renewal>) -> Vec<ClusterId> {
        let terms = &app.settings.lease;
        let from = terms.suspect_after.min(terms.grant);
        let silent =
            |cluster: &ClusterId| self.ears.silence(*cluster).is_some_and(|silence| silence.elapsed >= from);
        renewals.keys().copied().filter(silent).collect()
    }

    /// What follows for one attempt. True if it was closed.
    pub(super) async fn follow(
        &mut self,
        app: &AppState,
        seen: &Seen,
        held: &Held,
        now: Tick,
    ) -> Result<bool> {
        let Some(renewal) = seen.renewals.get(&held.live.cluster).copied() else { return Ok(false) };
        let term = &seen.term;
        let silence = self.ears.silence(held.live.cluster).unwrap_or_default();
        let live = believed(held.live, renewal);
        let verdict = judge(&live, silence, None, &app.settings.lease);
        match &verdict {
            Verdict::Gone(proof) => {
                let what = Closing { term, proof, cluster: live.cluster, renewal };
                self.told.remove(&live.id);
                close(app, &what).await
            }
            // A leader that has just begun has not listened for long enough to say that a cluster is heard.
            Verdict::Heard
                if held.is_called_silent && now.since(self.begun) >= app.settings.lease.suspect_after =>
            {
                say(app, term, live.id, Event::Heard).await.map(|()| false)
            }
            Verdict::Heard => Ok(false),
            Verdict::Suspect(outlook) | Verdict::Waits(outlook) => {
                let news = (outlook.why, outlook.left.map(|left| now.plus(left)));
                if held.is_called_silent && self.told.get(&live.id).is_some_and(|told| !differs(*told, news))
                {
                    return Ok(false);
                }
                self.told.insert(live.id, news);
                say(app, term, live.id, Event::Silent { verdict: &verdict }).await.map(|()| false)
            }
        }
    }
}

fn differs(told: Told, news: Told) -> bool {
    let moved = match (told.1, news.1) {
        (Some(told), Some(news)) => told.since(news).max(news.since(told)) > MOVED,
        (told, news) => told.is_some() != news.is_some(),
    };
    told.0 != news.0 || moved
}

/// An agent that holds no lease stops nothing and accepts nothing: nothing follows from its silence.
fn believed(live: Live, renewal: Renewal) -> Live {
    if renewal.ttl == 0 { Live { policy: Policy::Wait, accepted: true, ..live } } else { live }
}

struct Closing<'a> {
    term: &'a Term,
    proof: &'a Proof,
    cluster: ClusterId,
    /// The renewal that was judged.
    renewal: Renewal,
}

/// Closes an attempt and puts its job into the queue again, if nothing came between.
async fn close(app: &AppState, what: &Closing<'_>) -> Result<bool> {
    let closed = app
        .store
        .txn("lost.close", what, |db, what| {
            Box::pin(async move {
                term::check(db, what.term).await?;
                close_one(db, what).await
            })
        })
        .await?;
    if let Some(version) = closed {
        let (attempt, kind) = (what.proof.attempt(), what.proof.kind());
        tracing::warn!(%attempt, proof = kind.word(), because = what.proof.because(), "an attempt was given up");
        tell(app, attempt, version);
    }
    Ok(closed.is_some())
}

async fn close_one(db: &mut PgConnection, what: &Closing<'_>) -> Result<Option<i64>> {
    let attempt = what.proof.attempt();
    let Some(job) = advance::lock(db, attempt.job).await? else { return Ok(None) };
    if lock_renewal(db, what.cluster).await? != what.renewal {
        return Ok(None);
    }
    let accepted = loss::lock_accepted(db, attempt).await?;
    if what.proof.kind() == ProofKind::NeverAccepted && accepted {
        return Ok(None);
    }
    save(db, &job, what.proof).await
}

/// Writes the end of an attempt of which nothing runs any more.
pub async fn save(
    db: &mut PgConnection,
    job: &squadron_core::attempt::Job,
    proof: &Proof,
) -> Result<Option<i64>> {
    let now = clock::now();
    match decide(job, Event::NothingRuns { proof }, now) {
        Ok(step) => {
            let version = advance::save(db, &step).await?;
            loss::note_proof(db, proof.attempt(), proof.kind()).await?;
            attempt::note_end(db, proof.attempt(), now).await?;
            Ok(Some(version))
        }
        Err(refused) => {
            tracing::debug!(attempt = %proof.attempt(), %refused, "the job changed after it was judged");
            Ok(None)
        }
    }
}

async fn say(app: &AppState, term: &Term, attempt: AttemptId, event: Event<'_>) -> Result<()> {
    let version = app
        .store
        .txn("lost.say", &(term, attempt, event), |db, (term, attempt, event)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let Some(before) = advance::lock(db, attempt.job).await? else { return Ok(None) };
                if before.attempt_id() != Some(*attempt) {
                    return Ok(None);
                }
                match decide(&before, *event, clock::now()) {
                    Ok(step) => advance::save(db, &step).await.map(Some),
                    Err(_changed_meanwhile) => Ok(None),
                }
            })
        })
        .await?;
    if let Some(version) = version {
        app.wake.changed("job", attempt.job, version);
    }
    Ok(())
}

/// Wakes those whom a closed attempt concerns.
pub fn tell(app: &AppState, attempt: AttemptId, version: i64) {
    app.wake.changed("job", attempt.job, version);
    app.wake.notify(Topic::Desired);
    app.wake.notify(Topic::Dispatch);
}
