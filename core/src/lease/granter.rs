//! Granter: decides what the silence of a cluster means for an attempt there.
//!
//! Owns R5, with R6, R8 and R12 in it. Invariant: a proof is given only on an operator's word, for an attempt that was
//! never accepted, after lease and guard for one that stops itself, and at once for one whose owner allows a second
//! copy. An attempt that is being stopped is judged the same way, so its quota stays taken until then. Fails safe:
//! everything else waits, with the reason. Repaired by the agent's next word, an operator's, or time.

use crate::{
    id::{AttemptId, ClusterId},
    lease::{Policy, Proof, ProofKind, Silence, Terms, Word, seconds},
};

/// An attempt that may still run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Live {
    pub id: AttemptId,
    pub cluster: ClusterId,
    pub policy: Policy,
    /// Its acceptance was committed, or cannot be excluded. Nothing runs before that.
    pub accepted: bool,
}

/// What follows for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Its cluster is heard.
    Heard,
    /// Nothing new is placed there; it runs on.
    Suspect(Outlook),
    /// Nothing can be done before more silence, or before a word.
    Waits(Outlook),
    /// It may be closed, and the job started elsewhere.
    Gone(Proof),
}

/// What can be said of an attempt on a silent cluster; whoever tells it adds the times of day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// How long the cluster has been silent, in milliseconds.
    pub silent: u64,
    /// Milliseconds of further silence until it may be closed; none when no silence is enough.
    pub left: Option<u64>,
    /// A clause.
    pub why: &'static str,
}

/// Judges one attempt. `word` is an operator's word about the attempt or its cluster.
pub fn judge(live: &Live, silence: Silence, word: Option<&Word>, terms: &Terms) -> Verdict {
    if let Some(word) = word {
        return Verdict::Gone(Proof::operators_word(live.id, word));
    }
    if !live.accepted && silence.counted >= terms.grant {
        return Verdict::Gone(never_accepted(live.id, terms));
    }
    if silence.elapsed < terms.suspect_after {
        return Verdict::Heard;
    }
    match live.policy {
        _ if !live.accepted => waits(silence, terms.grant, "its agent has not accepted it yet"),
        Policy::Wait => Verdict::Waits(Outlook { silent: silence.elapsed, left: None, why: WAIT }),
        Policy::Fence => fenced(live.id, silence, terms),
        Policy::Rerun if silence.counted >= terms.suspect_after => Verdict::Gone(overlap(live.id, silence)),
        Policy::Rerun => waits(silence, terms.suspect_after, "policy rerun: its owner allows a second copy"),
    }
}

fn never_accepted(attempt: AttemptId, terms: &Terms) -> Proof {
    let because = format!(
        "was silent for {} and never accepted the attempt, so nothing of it was started",
        seconds(terms.grant)
    );
    Proof::new(attempt, ProofKind::NeverAccepted, because)
}

fn fenced(attempt: AttemptId, silence: Silence, terms: &Terms) -> Verdict {
    let terms = Terms { ttl: terms.ttl.max(silence.ttl), ..*terms };
    if silence.counted >= terms.expiry() {
        let because = format!(
            "was silent for {}; its lease of {} and the guard of {} are over, so the first copy has stopped itself",
            seconds(silence.counted),
            seconds(terms.ttl),
            seconds(terms.guard())
        );
        Verdict::Gone(Proof::new(attempt, ProofKind::LeaseEnded, because))
    } else if silence.counted < terms.ttl {
        let left = Some(terms.expiry() - silence.counted);
        let why = "policy fence: it runs on there until its lease ends";
        Verdict::Suspect(Outlook { silent: silence.elapsed, left, why })
    } else {
        waits(silence, terms.expiry(), "policy fence: its lease is over and the first copy is stopping")
    }
}

const WAIT: &str = "policy wait: it starts nowhere else until the cluster is heard or an operator says that the cluster is \
                    gone";

fn waits(silence: Silence, until: u64, why: &'static str) -> Verdict {
    let left = Some(until.saturating_sub(silence.counted));
    Verdict::Waits(Outlook { silent: silence.elapsed, left, why })
}

fn overlap(attempt: AttemptId, silence: Silence) -> Proof {
    let because = format!(
        "was silent for {}; the job's policy is rerun, so a second copy starts although the first may still run",
        seconds(silence.counted)
    );
    Proof::new(attempt, ProofKind::OverlapAllowed, because)
}
