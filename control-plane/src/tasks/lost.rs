//! Lost clusters: silence, as this leader hears it, and what it means for attempts there.
//!
//! Invariants: silence is counted in memory, by looks of one term, and begins anew with each term; an attempt is closed
//! only in a transaction that checks the term, finds the renewal that was judged, and holds its lock. Fails safe: a pass
//! that fails, or comes late, makes everything wait longer. Repaired by the next pass.

mod close;

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    attempt::{Event, advance as decide},
    id::{AttemptId, ClusterId},
    lease::{Ears, Live, Policy, Proof, Renewal, Terms, Tick, Verdict, judge},
};
use squadron_store::{
    Result,
    job::advance,
    loss::{Held, PAGE},
    term::{self, Term},
};
use uuid::Uuid;

pub use self::close::{HeardAgain, Provided, close, close_on_a_word};
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
        self.follow(app, &seen, now).await
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
        let present: BTreeSet<AttemptId> = held.iter().map(|held| held.live.id).collect();
        self.told.retain(|attempt, _| present.contains(attempt));
        Ok(Some(Seen { term, renewals, held }))
    }

    fn suspected(&self, app: &AppState, renewals: &BTreeMap<ClusterId, Renewal>) -> Vec<ClusterId> {
        let terms = &app.settings.lease;
        let from = terms.suspect_after.min(terms.grant);
        let silent =
            |cluster: &ClusterId| self.ears.silence(*cluster).is_some_and(|silence| silence.elapsed >= from);
        renewals.keys().copied().filter(silent).collect()
    }

    /// What follows: attempts of which nothing runs are closed first, then people are told about the others.
    pub(super) async fn follow(&mut self, app: &AppState, seen: &Seen, now: Tick) -> Result<Left> {
        let judged = self.judge(&app.settings.lease, seen, now);
        let mut troubles = Troubles::default();
        for (cluster, proofs) in &judged.gone {
            let Some(renewal) = seen.renewals.get(cluster).copied() else { continue };
            let provided = Provided::Silent { term: &seen.term, renewal };
            for batch in proofs.chunks(PAGE) {
                duty::still_ours(app, &seen.term).await?;
                let done = close(app, *cluster, provided, batch).await.map(drop);
                for proof in bear_many(&mut troubles, batch, done)? {
                    duty::still_ours(app, &seen.term).await?;
                    let alone = close(app, *cluster, provided, std::slice::from_ref(proof)).await;
                    troubles.bear(alone.map(drop))?;
                }
            }
        }
        for batch in judged.said.chunks(PAGE) {
            duty::still_ours(app, &seen.term).await?;
            let done = say(app, &seen.term, batch).await;
            for one in bear_many(&mut troubles, batch, done)? {
                duty::still_ours(app, &seen.term).await?;
                troubles.bear(say(app, &seen.term, std::slice::from_ref(one)).await)?;
            }
        }
        troubles.end(Left::Nothing)
    }

    fn judge(&mut self, terms: &Terms, seen: &Seen, now: Tick) -> Judged {
        let crowds = crowds(seen);
        let mut judged = Judged::default();
        for held in &seen.held {
            let Some(renewal) = seen.renewals.get(&held.live.cluster).copied() else { continue };
            let silence = self.ears.silence(held.live.cluster).unwrap_or_default();
            let live = believed(held.live, renewal);
            let terms = terms.for_crowd(crowds.get(&live.cluster).copied().unwrap_or(0));
            match judge(&live, silence, None, &terms) {
                Verdict::Gone(proof) => {
                    self.told.remove(&live.id);
                    judged.gone.entry(live.cluster).or_default().push(proof);
                }
                verdict => {
                    if self.is_news(held, &verdict, &terms, now) {
                        judged.said.push((live.id, verdict));
                    }
                }
            }
        }
        judged
    }

    /// Whether people are told, with the next word about the attempt.
    fn is_news(&mut self, held: &Held, verdict: &Verdict, terms: &Terms, now: Tick) -> bool {
        let (Verdict::Suspect(outlook) | Verdict::Waits(outlook)) = verdict else {
            // A leader that has just begun has not listened for long enough to say that a cluster is heard.
            return held.is_called_silent && now.since(self.begun) >= terms.suspect_after;
        };
        let news = (outlook.why, outlook.left.map(|left| now.plus(left)));
        if held.is_called_silent && self.told.get(&held.live.id).is_some_and(|told| !differs(*told, news)) {
            return false;
        }
        self.told.insert(held.live.id, news);
        true
    }
}

/// What one look means.
#[derive(Default)]
struct Judged {
    gone: BTreeMap<ClusterId, Vec<Proof>>,
    said: Vec<(AttemptId, Verdict)>,
}

/// How many attempts each cluster must stop at once when its lease ends.
fn crowds(seen: &Seen) -> BTreeMap<ClusterId, u64> {
    let mut crowds = BTreeMap::new();
    for live in seen.held.iter().map(|held| held.live) {
        if live.accepted && live.policy.stops_itself() {
            *crowds.entry(live.cluster).or_insert(0) += 1;
        }
    }
    crowds
}

/// Those of a batch that are tried alone, because something in it failed that may concern one of them only.
fn bear_many<'a, T>(troubles: &mut Troubles, batch: &'a [T], done: Result<()>) -> Result<&'a [T]> {
    let failed = done.is_err();
    if failed && batch.len() == 1 {
        troubles.bear(done)?;
        return Ok(&[]);
    }
    // What concerns all ends the pass; anything else is met again by the one that it concerns.
    Troubles::default().bear(done)?;
    Ok(if failed { batch } else { &[] })
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

/// Writes what people are told about attempts.
async fn say(app: &AppState, term: &Term, said: &[(AttemptId, Verdict)]) -> Result<()> {
    let versions = app
        .store
        .txn("lost.say", &(term, said), |db, (term, said)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let ids: Vec<_> = said.iter().map(|(attempt, _)| attempt.job).collect();
                let (jobs, now) = (advance::lock_all(db, &ids).await?, clock::now());
                let step = |(attempt, verdict): &(AttemptId, Verdict)| {
                    let job = jobs.get(&attempt.job).filter(|job| job.attempt_id() == Some(*attempt))?;
                    let event = match verdict {
                        Verdict::Heard => Event::Heard,
                        verdict => Event::Silent { verdict },
                    };
                    // What changed meanwhile is told by the next pass.
                    decide(job, event, now).ok()
                };
                let steps: Vec<_> = said.iter().filter_map(step).collect();
                advance::save_all(db, &steps).await
            })
        })
        .await?;
    for (job, version) in versions {
        app.wake.changed("job", job, version);
    }
    Ok(())
}
