//! Receiver: the agent's side of the desired set.
//!
//! Owns the way from messages to the set that is held. Invariant: what is held is always a set that the control plane's database
//! held at one moment; a state takes effect with its last part, all at once. Fails safe: a message that does not join (one was
//! lost, a manifest is missing) changes nothing, and the whole set is asked for until it comes; one that comes twice is passed
//! over. Repaired by the whole set.

use std::{collections::BTreeMap, sync::Arc};

use super::Head;
use crate::id::AttemptId;

/// What is held of an attempt. Parts of it come once.
pub trait Body: Sized {
    /// Itself, with what comes once taken from `held` where it is missing; nothing if it is missing there too.
    fn complete(self, held: Option<&Self>) -> Option<Self>;
}

/// A desired set. Copies share the attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held<T> {
    pub generation: u64,
    pub attempts: BTreeMap<AttemptId, Arc<T>>,
}

impl<T> Held<T> {
    pub fn of(generation: u64, attempts: impl IntoIterator<Item = (AttemptId, T)>) -> Held<T> {
        let attempts = attempts.into_iter().map(|(id, body)| (id, Arc::new(body))).collect();
        Held { generation, attempts }
    }
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part<T> {
    pub head: Head,
    pub set: Vec<(AttemptId, T)>,
    pub removed: Vec<AttemptId>,
}

/// What a message comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard<T> {
    /// Nothing yet, or nothing new.
    Waits,
    /// From now on this is held.
    Holds(Held<T>),
    /// It is older than what is held.
    Older,
    /// It does not join; the whole set is to be asked for.
    Lost(&'static str),
}

/// One stream's side of the agent.
#[derive(Debug)]
pub struct Receiver<T> {
    seq: u64,
    open: Option<Open<T>>,
    /// The whole set was asked for and did not begin yet.
    lost: bool,
}

#[derive(Debug)]
struct Open<T> {
    base: Option<u64>,
    parts: u32,
    attempts: BTreeMap<AttemptId, Arc<T>>,
}

impl<T> Default for Receiver<T> {
    fn default() -> Self {
        Receiver { seq: 0, open: None, lost: false }
    }
}

impl<T: Body> Receiver<T> {
    /// Whether the whole set is to be asked for.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Takes the next message of the stream, while `held` is held.
    pub fn hear(&mut self, part: Part<T>, held: Option<&Held<T>>) -> Heard<T> {
        let head = part.head;
        if head.seq > 0 && head.seq <= self.seq {
            return Heard::Waits;
        }
        let follows = head.seq == 0 || head.seq == self.seq + 1;
        self.seq = head.seq;
        let begins_whole = head.base.is_none() && head.part == 0;
        if !(begins_whole || follows && !self.lost) {
            return self.lose("a message is missing");
        }
        match self.join(part, held) {
            Ok(heard) => heard,
            Err(why) => self.lose(why),
        }
    }

    fn lose(&mut self, why: &'static str) -> Heard<T> {
        self.open = None;
        if std::mem::replace(&mut self.lost, true) { Heard::Waits } else { Heard::Lost(why) }
    }

    fn join(&mut self, part: Part<T>, held: Option<&Held<T>>) -> Result<Heard<T>, &'static str> {
        let head = part.head;
        let mut open = self.opened(&head, held)?;
        for (id, body) in part.set {
            let known = open.attempts.get(&id).map(AsRef::as_ref);
            let body = body.complete(known).ok_or("an attempt came without its manifest")?;
            open.attempts.insert(id, Arc::new(body));
        }
        for id in &part.removed {
            open.attempts.remove(id);
        }
        open.parts += 1;
        self.lost = false;
        if head.more {
            self.open = Some(open);
            return Ok(Heard::Waits);
        }
        if held.is_some_and(|held| held.generation > head.generation) {
            // Changes of it would not join what is held. A stream that only sends whole sets has none.
            self.lost = head.seq > 0;
            return Ok(Heard::Older);
        }
        Ok(Heard::Holds(Held { generation: head.generation, attempts: open.attempts }))
    }

    /// The state whose part this is.
    fn opened(&mut self, head: &Head, held: Option<&Held<T>>) -> Result<Open<T>, &'static str> {
        match (self.open.take(), head.part) {
            (_, 0) => {
                let attempts = match (head.base, held) {
                    (None, _) => BTreeMap::new(),
                    (Some(base), Some(held)) if held.generation >= base => held.attempts.clone(),
                    (Some(_), _) => return Err("changes came of a set that is not held"),
                };
                Ok(Open { base: head.base, parts: 0, attempts })
            }
            (Some(open), part) if open.parts == part && open.base == head.base => Ok(open),
            _ => Err("a part is missing"),
        }
    }
}
