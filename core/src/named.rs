//! Named: the queue and the priority class that a job names, judged alike however the job comes.
//!
//! Owns what makes a name wrong, and the words for it. Invariant: a job waits in a queue that holds no other queue, and
//! is as urgent as a class that is declared. Fails by refusing, with what is wrong, those there are and the one that was
//! probably meant. Repaired by whoever named it, or by an administrator who adds it.

use crate::{
    nearest::nearest,
    quota::PriorityClass,
    sentence::{clip, list},
};

/// Kueue's label; the class stands there for jobs that were written for Kueue.
pub const PRIORITY_LABEL: &str = "kueue.x-k8s.io/priority-class";

/// Which name is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    UnknownQueue,
    /// It holds other queues.
    InnerQueue,
    UnknownPriorityClass,
}

/// A name that a job cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct Misnamed {
    pub wrong: Wrong,
    /// What is wrong and what there is, as a clause.
    pub detail: String,
    /// A name that would do; empty when there is none.
    pub example: String,
}

/// There is no queue of this name, only `queues`.
pub fn unknown_queue(name: &str, queues: &[String]) -> Misnamed {
    let shown = clip(name, 80);
    let known = if queues.is_empty() { "none".to_owned() } else { list(queues) };
    let (detail, example) = match nearest(name, queues.iter().map(String::as_str)) {
        Some(near) => (format!("there is no queue {shown:?}; did you mean {near:?}? Queues: {known}"), near),
        None => (
            format!("there is no queue {shown:?}. Queues: {known}"),
            queues.first().map_or("", String::as_str),
        ),
    };
    Misnamed { wrong: Wrong::UnknownQueue, detail, example: example.to_owned() }
}

/// Jobs wait in leaves of the tree; `below` are the queues that the named one holds.
pub fn leaf(name: &str, below: &[String]) -> Result<(), Misnamed> {
    let Some(example) = below.first().cloned() else { return Ok(()) };
    let detail =
        format!("queue {} holds other queues, and jobs wait in those: {}", clip(name, 80), list(below));
    Err(Misnamed { wrong: Wrong::InnerQueue, detail, example })
}

/// The class of this name among `classes`, the most urgent first; `None` for the ordinary priority, which has no name.
pub fn class(name: &str, classes: &[PriorityClass]) -> Result<Option<PriorityClass>, Misnamed> {
    if name.is_empty() {
        return Ok(None);
    }
    match classes.iter().find(|class| class.name == name) {
        Some(class) => Ok(Some(class.clone())),
        None => Err(unknown_class(name, classes)),
    }
}

fn unknown_class(name: &str, classes: &[PriorityClass]) -> Misnamed {
    let names: Vec<String> = classes.iter().map(|class| class.name.clone()).collect();
    let near = nearest(name, names.iter().map(String::as_str));
    let meant = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    let known = if names.is_empty() { "none".to_owned() } else { list(&names) };
    let shown = clip(name, 80);
    Misnamed {
        wrong: Wrong::UnknownPriorityClass,
        detail: format!(
            "there is no priority class {shown:?}{meant} (classes, the most urgent first: {known})"
        ),
        example: near.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_wrong_name_is_told_with_what_there_is_and_what_was_meant() {
        let queues = names(&["default", "research"]);
        let wrong = unknown_queue("reserach", &queues);
        assert_eq!(
            wrong.detail,
            "there is no queue \"reserach\"; did you mean \"research\"? Queues: default and research"
        );
        assert_eq!(wrong.example, "research");
        assert_eq!(unknown_queue("x", &[]).detail, "there is no queue \"x\". Queues: none");
        let inner = leaf("acme", &names(&["acme/vision"])).unwrap_err();
        assert_eq!(inner.detail, "queue acme holds other queues, and jobs wait in those: acme/vision");
        assert_eq!((inner.wrong, inner.example.as_str()), (Wrong::InnerQueue, "acme/vision"));
        assert_eq!(leaf("acme/vision", &[]), Ok(()));
    }

    #[test]
    fn a_class_is_found_by_name_and_no_name_is_the_ordinary_priority() {
        let urgent = PriorityClass { name: "urgent".to_owned(), value: 1_000, description: String::new() };
        let classes = std::slice::from_ref(&urgent);
        assert_eq!(class("", classes), Ok(None));
        assert_eq!(class("urgent", classes), Ok(Some(urgent.clone())));
        assert_eq!(
            class("urgnet", classes).unwrap_err().detail,
            "there is no priority class \"urgnet\"; did you mean \"urgent\"? (classes, the most urgent first: urgent)"
        );
        assert_eq!(
            class("urgent", &[]).unwrap_err().detail,
            "there is no priority class \"urgent\" (classes, the most urgent first: none)"
        );
    }
}
