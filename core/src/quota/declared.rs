//! Declared: what one text says about policy, and what comes of it.
//!
//! Invariant: a text adds and changes what it names; it removes what it does not name only when it is said to be
//! everything. Where a thing stands in the text is kept, so that a fault that shows only in the whole policy is still
//! told with its line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    quota::{Noun, ORDINARY, Policy, Queue, check::Fault},
    sentence::clip,
};

/// A place in a text; both from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Number of the YAML document.
    pub document: u32,
    pub line: u32,
}

/// One thing that is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// `None` when the text does not say it itself.
    pub place: Option<Place>,
    /// The thing and its field, for example `queue research, spec.parent`; may be empty.
    pub path: String,
    /// A sentence: what is wrong, and what would be right.
    pub problem: String,
}

/// Problems of a text that are told at most.
const MOST_PROBLEMS: usize = 50;

/// The first problems by place, and how many more there are.
pub(super) fn told(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort();
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    if more > 0 {
        problems.truncate(MOST_PROBLEMS);
        let problem = format!("has {more} more problems, which are not shown; correct these first");
        problems.push(Problem { place: None, path: WHOLE.to_owned(), problem });
    }
    problems
}

/// What a problem is about that has no place.
pub const WHOLE: &str = "the text";

impl Problem {
    /// Where it is, for people: `line 7 (document 2): queue research, spec.parent`.
    pub fn at(&self) -> String {
        match (self.place, self.path.as_str()) {
            (None, "") => WHOLE.to_owned(),
            (None, path) => path.to_owned(),
            (Some(place), "") => place.to_string(),
            (Some(place), path) => format!("{place}: {path}"),
        }
    }
}

impl Place {
    /// What [`Problem::at`] wrote at the beginning of `text`, and the rest of it.
    pub fn read(text: &str) -> Option<(Place, &str)> {
        let (line, text) = text.strip_prefix("line ")?.split_once(" (document ")?;
        let (document, rest) = text.split_once(')')?;
        Some((Place { document: document.parse().ok()?, line: line.parse().ok()? }, rest))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (document {})", self.line, self.document)
    }
}

/// What a text declares.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Declared {
    /// Only what the text names.
    pub policy: Policy,
    /// Queues that exist because another names them, and where it does: Kueue's cohorts need no object of their own.
    pub(super) implied: BTreeMap<String, Place>,
    /// YAML documents of the text.
    pub documents: u32,
    pub(super) items: BTreeMap<(Noun, String), Item>,
}

/// Where a thing stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Item {
    pub(super) place: Place,
    /// Lines by the field names of [`Fault`].
    pub(super) fields: BTreeMap<String, u32>,
}

impl Declared {
    /// The text says nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Refuses to prune by a text that says nothing: it mostly comes from a command that failed, and everything would go.
    pub fn check_prune(&self, prune: bool) -> Result<(), Vec<Problem>> {
        if !prune || !self.is_empty() {
            return Ok(());
        }
        let problem = "declares nothing, and with prune everything would be removed; name at least one thing that stays";
        Err(vec![Problem { place: None, path: String::new(), problem: problem.to_owned() }])
    }

    /// The policy that this text makes of `current`. With `prune` only what it names stays, and
    /// [`DEFAULT_QUEUE`], as if nothing were said about it.
    pub fn onto(&self, current: &Policy, prune: bool) -> Policy {
        let mut target = if prune { kept_always(current) } else { current.clone() };
        put(&mut target.flavors, &self.policy.flavors, |it| &it.name);
        put(&mut target.queues, &self.policy.queues, |it| &it.name);
        put(&mut target.priority_classes, &self.policy.priority_classes, |it| &it.name);
        let there: BTreeSet<String> = target.queues.iter().map(|queue| queue.name.clone()).collect();
        let known: BTreeMap<&str, &Queue> =
            current.queues.iter().map(|queue| (queue.name.as_str(), queue)).collect();
        for name in self.implied.keys().filter(|name| !there.contains(*name)) {
            let kept = known.get(name.as_str()).map(|queue| (*queue).clone());
            target.queues.push(kept.unwrap_or_else(|| root(name)));
        }
        sort(&mut target);
        target
    }

    /// Faults of the policy that came of this text as problems of the text.
    pub fn problems<'f>(&self, faults: impl IntoIterator<Item = &'f Fault>) -> Vec<Problem> {
        told(faults.into_iter().map(|fault| self.locate(fault)).collect())
    }

    fn locate(&self, fault: &Fault) -> Problem {
        let item = self.items.get(&(fault.noun, fault.name.clone()));
        let named = || self.implied.get(&fault.name).copied().filter(|_| fault.noun == Noun::Queue);
        let place = item.map(|item| Place { line: item.line(&fault.field), ..item.place }).or_else(named);
        let path = match fault.field.as_str() {
            "" => fault.thing(),
            field => format!("{}, {}", fault.thing(), clip(field, 120)),
        };
        Problem { place, path, problem: fault.problem.clone() }
    }

    /// Where a thing stands.
    pub fn place(&self, noun: Noun, name: &str) -> Option<Place> {
        self.items.get(&(noun, name.to_owned())).map(|item| item.place)
    }
}

impl Item {
    /// Of the field, or of the nearest thing around it.
    fn line(&self, field: &str) -> u32 {
        let mut field = field;
        loop {
            if let Some(line) = self.fields.get(field) {
                return *line;
            }
            match field.rsplit_once('.') {
                Some((around, _)) => field = around,
                None => return self.place.line,
            }
        }
    }
}

/// The queue of jobs that name none. It is made at every start, so nothing removes it.
pub const DEFAULT_QUEUE: &str = "default";

fn kept_always(current: &Policy) -> Policy {
    let default = current.queues.iter().filter(|queue| queue.name == DEFAULT_QUEUE);
    Policy { queues: default.map(|queue| root(&queue.name)).collect(), ..Policy::default() }
}

/// A queue about which nothing is said.
fn root(name: &str) -> Queue {
    Queue { name: name.to_owned(), parent: None, weight: ORDINARY, quotas: BTreeMap::new(), preemption: None }
}

fn put<T: Clone>(target: &mut Vec<T>, declared: &[T], name: fn(&T) -> &String) {
    let names: BTreeSet<&String> = declared.iter().map(name).collect();
    target.retain(|one| !names.contains(name(one)));
    target.extend_from_slice(declared);
}

fn sort(policy: &mut Policy) {
    policy.flavors.sort_by(|a, b| a.name.cmp(&b.name));
    policy.queues.sort_by(|a, b| a.name.cmp(&b.name));
    policy.priority_classes.sort_by(|a, b| a.name.cmp(&b.name));
}
