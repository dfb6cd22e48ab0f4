//! Fields: reads the maps of one object, and collects everything that is wrong with it.
//!
//! Invariant: a field is read, or it is a problem with its line. A field that is known but cannot be honoured is refused
//! with the reason, unless its value says what we do anyway.

use std::collections::BTreeMap;

use super::node::{Node, Value};
use crate::{
    nearest::nearest,
    quota::declared::{Place, Problem},
    sentence::clip,
};

/// A field of another system that we know and do not honour.
pub(super) struct Refused {
    pub(super) field: &'static str,
    /// Values that say what happens here anyway. An empty list, map or text always does.
    pub(super) same: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// Problems of an object after which nobody asks any more what was meant; comparing costs much.
const MOST_GUESSES: usize = 50;

/// Bytes of a text that is read at most; what stands in annotations is passed over and may be longer.
const LONGEST_TEXT: usize = 4_096;

/// Reads one object.
pub(super) struct Reader {
    pub(super) document: u32,
    /// The object as its author knows it, for example `ClusterQueue team-a`.
    pub(super) what: String,
    pub(super) problems: Vec<Problem>,
}

impl Reader {
    pub(super) fn problem(&mut self, line: u32, path: &str, problem: impl Into<String>) {
        let path = match (self.what.as_str(), path) {
            ("", path) => path.to_owned(),
            (what, "") => what.to_owned(),
            (what, path) => format!("{what}, {path}"),
        };
        let place = Some(Place { document: self.document, line });
        self.problems.push(Problem { place, path, problem: problem.into() });
    }

    /// The values of a map by key; nulls are left out, and keys other than `known` are problems.
    pub(super) fn map<'n>(
        &mut self,
        node: &'n Node,
        path: &str,
        known: &[&str],
    ) -> BTreeMap<&'n str, &'n Node> {
        let mut fields = BTreeMap::new();
        let Value::Map(entries) = &node.value else {
            if node.value != Value::Null {
                self.problem(node.line, path, "must be a map");
            }
            return fields;
        };
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                self.unknown(entry.line, &under(path, &clip(&entry.key, 60)), &entry.key, known);
            } else if entry.value.value != Value::Null {
                fields.insert(entry.key.as_str(), &entry.value);
            }
        }
        fields
    }

    fn unknown(&mut self, line: u32, path: &str, key: &str, known: &[&str]) {
        if self.problems.len() >= MOST_GUESSES {
            return self.problem(line, path, "is no field that is read here");
        }
        let longer_or_shorter =
            |known: &&str| key.len() > 3 && (known.starts_with(key) || key.starts_with(*known));
        let near = nearest(key, known.iter().copied());
        let meant = match near.or_else(|| known.iter().copied().find(longer_or_shorter)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("those that are read here are {}", known.join(", ")),
        };
        self.problem(line, path, format!("is no field that is read here; {meant}"));
    }

    /// The entries of a list.
    pub(super) fn list<'n>(&mut self, node: Option<&&'n Node>, path: &str) -> &'n [Node] {
        match node.map(|node| (&node.value, node.line)) {
            None => &[],
            Some((Value::List(items), _)) => items,
            Some((_, line)) => {
                self.problem(line, path, "must be a list");
                &[]
            }
        }
    }

    /// The text of a value; one that is longer than any that means something is a problem, and is repeated nowhere.
    pub(super) fn text<'n>(&mut self, node: Option<&&'n Node>, path: &str) -> Option<&'n str> {
        let node = node?;
        match &node.value {
            Value::Text(text) if text.len() > LONGEST_TEXT => {
                self.problem(node.line, path, format!("is longer than {LONGEST_TEXT} bytes"));
                None
            }
            Value::Text(text) => Some(text),
            _ => {
                self.problem(node.line, path, "must be a text");
                None
            }
        }
    }

    /// The same, and its absence is a problem of the object at `line`.
    pub(super) fn required<'n>(&mut self, node: Option<&&'n Node>, line: u32, path: &str) -> Option<&'n str> {
        if node.is_none() {
            self.problem(line, path, "is missing");
        }
        self.text(node, path)
    }

    /// Texts by key.
    pub(super) fn texts(&mut self, node: Option<&&Node>, path: &str) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        let Some(node) = node else { return texts };
        let Value::Map(entries) = &node.value else {
            self.problem(node.line, path, "must be a map of texts");
            return texts;
        };
        for entry in entries {
            match &entry.value.value {
                Value::Text(text) => drop(texts.insert(entry.key.clone(), text.clone())),
                Value::Null => drop(texts.insert(entry.key.clone(), String::new())),
                _ => self.problem(entry.line, &under(path, &clip(&entry.key, 60)), "must be a text"),
            }
        }
        texts
    }

    /// Refuses those of the fields that ask for something else than what happens here.
    pub(super) fn refuse(&mut self, fields: &BTreeMap<&str, &Node>, path: &str, table: &[Refused]) {
        for refused in table {
            let Some(node) = fields.get(refused.field) else { continue };
            let is_same = match &node.value {
                Value::Text(text) => refused.same.contains(&text.as_str()),
                _ => node.is_empty(),
            };
            if !is_same {
                let value = match &node.value {
                    Value::Text(text) => format!("is {:?} and ", clip(text, 60)),
                    _ => String::new(),
                };
                let path = under(path, refused.field);
                self.problem(node.line, &path, format!("{value}cannot be honoured: {}", refused.reason));
            }
        }
    }
}

/// `spec` and `parent` are `spec.parent`.
pub(super) fn under(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}
