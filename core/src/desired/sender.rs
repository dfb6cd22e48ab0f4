//! Sender: which part of a cluster's desired set goes down a stream next.
//!
//! Owns a stream's place in the order in which attempts changed. Invariant: the first state of a stream is the whole set, and each
//! later one holds everything that changed between the one before and a moment at which it was read; a state that takes several
//! reads goes on behind the last attempt of the read before, and an attempt that changes meanwhile moves to the end, so no read is
//! missed. Fails safe: whenever what was read does not join what was sent (a database of another timeline or from a backup, a
//! writer that does not say what it changed), the whole set goes down again. Repaired by that, and by the agent's `Resend`.

use uuid::Uuid;

use crate::id::{AttemptId, JobId};

/// No attempt comes behind it.
const LAST: AttemptId = AttemptId { job: JobId(Uuid::max()), number: u32::MAX };

/// A place in the order of changes: the generation of an attempt's last change, then the attempt.
pub type Place = (u64, AttemptId);

/// What the database said of the cluster at the moment of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    pub generation: u64,
    /// Generations of which nobody noted what they changed.
    pub unmarked: u64,
    /// A failover of the database moves it.
    pub timeline: u64,
}

/// What is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// What the agent holds; absent for the whole set. Manifests of attempts that were given later are read.
    pub base: Option<u64>,
    /// Attempts are read from behind this place on; absent for all.
    pub behind: Option<Place>,
    /// Attempts that left the set in later generations are read too; absent for none.
    pub removed_above: Option<u64>,
}

/// How a message begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub seq: u64,
    pub base: Option<u64>,
    pub part: u32,
    pub more: bool,
    pub generation: u64,
}

/// One stream's side of the control plane.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    seq: u64,
    /// When the state was read that the agent holds after everything that was sent.
    sent: Option<Moment>,
    /// When the first state was read that was sent to its end since everything began anew.
    first: Option<Moment>,
    /// The state of which parts were sent.
    open: Option<Open>,
    /// The greatest generation that was named on this stream or held before it.
    greatest: u64,
    newest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    base: Option<u64>,
    began: Moment,
    behind: Option<Place>,
    parts: u32,
}

impl Sender {
    /// For an agent that holds generation `held` of a stream before.
    pub fn new(held: u64) -> Sender {
        Sender { greatest: held, ..Sender::default() }
    }

    /// Whether something is to be sent while the cluster's generation is `newest`, as last read if it was. One that falls is
    /// of a database that was restored: what was sent means nothing any more.
    pub fn wants(&mut self, newest: Option<u64>) -> bool {
        let newest = newest.unwrap_or(self.newest);
        if newest < self.newest {
            self.begin_again();
        }
        self.newest = newest;
        self.open.is_some() || self.sent.is_none_or(|sent| newest > sent.generation)
    }

    /// The next state is the whole set, because what the agent holds may be no set of ours.
    pub fn begin_again(&mut self) {
        self.first = None;
        self.send_whole();
    }

    /// The next state is the whole set, because the agent takes no other.
    pub fn send_whole(&mut self) {
        (self.sent, self.open) = (None, None);
    }

    /// What an agent's word on the generation that it applied is worth: nothing, 0, unless it is of a state that was sent since
    /// everything began anew. The number of one from before a restored backup or a failover means another set.
    pub fn applied(&self, said: u64) -> u64 {
        let ours = |(first, sent): (Moment, Moment)| (first.generation..=sent.generation).contains(&said);
        if self.first.zip(self.sent).is_some_and(ours) { said } else { 0 }
    }

    /// The generation above which the cluster must count before the whole set is read; absent unless it is read next.
    pub fn must_outgrow(&self) -> Option<u64> {
        (self.sent.is_none() && self.open.is_none()).then_some(self.greatest)
    }

    /// Newest generation that was sent to its end.
    pub fn sent(&self) -> Option<u64> {
        self.sent.map(|sent| sent.generation)
    }

    pub fn ask(&self) -> Ask {
        match (self.open, self.sent) {
            (Some(open), _) => Ask {
                base: open.base,
                behind: open.behind,
                removed_above: Some(open.base.unwrap_or(open.began.generation)),
            },
            (None, Some(sent)) => {
                let base = Some(sent.generation);
                Ask { base, behind: Some((sent.generation, LAST)), removed_above: base }
            }
            (None, None) => Ask { base: None, behind: None, removed_above: None },
        }
    }

    /// Takes what was read of the last [`Sender::ask`]: up to `last`, with more behind it if `more`. Answers how the message
    /// begins that carries it, or nothing if it does not join what was sent; then the next ask is for the whole set.
    pub fn take(&mut self, read: Moment, last: Option<Place>, more: bool) -> Option<Head> {
        let known = self.open.map(|open| open.began).or(self.sent);
        if known.is_some_and(|known| !joins(known, read)) {
            self.begin_again();
            return None;
        }
        let ask = self.ask();
        let part = self.open.map_or(0, |open| open.parts);
        self.seq += 1;
        if more {
            let began = self.open.map_or(read, |open| open.began);
            self.open = Some(Open { base: ask.base, began, behind: last.or(ask.behind), parts: part + 1 });
        } else {
            (self.open, self.sent) = (None, Some(read));
            self.first = self.first.filter(|first| first.timeline == read.timeline).or(self.sent);
            self.greatest = self.greatest.max(read.generation);
        }
        Some(Head { seq: self.seq, base: ask.base, part, more, generation: read.generation })
    }
}

fn joins(before: Moment, after: Moment) -> bool {
    before.timeline == after.timeline
        && before.unmarked == after.unmarked
        && before.generation <= after.generation
}
