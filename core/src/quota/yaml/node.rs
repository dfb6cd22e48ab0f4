//! Node: bounded YAML documents in, trees whose every value knows its line out.
//!
//! Invariant: a tree has at most [`MOST_NODES`] values and [`MOST_LEVELS`] levels, no key of a map twice, and nothing that
//! grows beyond the text: aliases, tags and directives are refused. Fails at the first thing that is not so, with its line.

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use crate::{
    quota::declared::{Place, Problem},
    sentence::clip,
};

/// Bytes of a text at most.
pub const LONGEST: usize = 1 << 20;
/// Documents of a text at most.
pub const MOST_DOCUMENTS: u32 = 10_000;
const MOST_NODES: usize = 200_000;
const MOST_LEVELS: usize = 24;
/// Characters of one value at most: as much as Kubernetes lets annotations have, where kubectl keeps what was applied last.
const LONGEST_VALUE: usize = 1 << 18;

/// A value and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) line: u32,
    pub(super) value: Value,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Null,
    /// As it is written, whatever type other readers would see.
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u32,
    pub(super) value: Node,
}

impl Node {
    /// The value of a key, if this is a map that has it and it is not null.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        let found = entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        found.filter(|node| node.value != Value::Null)
    }

    /// The text of a key, if it has one.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Text(text) => text.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
        }
    }
}

/// All documents with their number, those without content left out, and how many there are.
pub(super) fn documents(text: &str) -> Result<(Vec<(u32, Node)>, u32), Problem> {
    if text.len() > LONGEST {
        let problem = format!(
            "is {} KiB long; a policy may have {} KiB at most, so apply it in parts",
            text.len().div_ceil(1_024),
            LONGEST / 1_024
        );
        return Err(Problem { place: None, path: String::new(), problem });
    }
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        flow_nesting_limit: MOST_LEVELS,
        block_nesting_limit: MOST_LEVELS,
    };
    let parser = Parser::new_from_str_with_options(text, options);
    Builder { parser, document: 0, left: MOST_NODES }.all()
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    document: u32,
    /// Values that may still be built.
    left: usize,
}

type Built<T> = Result<T, Problem>;

impl<'a> Builder<'a> {
    fn all(mut self) -> Built<(Vec<(u32, Node)>, u32)> {
        let mut found = Vec::new();
        while let Some((event, span)) = self.next()? {
            match event {
                Event::DocumentStart(..) => {
                    self.document += 1;
                    if self.document > MOST_DOCUMENTS {
                        return Err(
                            self.problem(&span, format!("there are more than {MOST_DOCUMENTS} documents"))
                        );
                    }
                }
                Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                event => {
                    let node = self.node(event, &span, 0)?;
                    if node.value != Value::Null {
                        found.push((self.document, node));
                    }
                }
            }
        }
        Ok((found, self.document))
    }

    fn next(&mut self) -> Built<Option<(Event<'a>, Span)>> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Ok(next)) => Ok(Some(next)),
            Some(Err(error)) => {
                let problem = format!("cannot be read as YAML: {}", clip(&error.info(), 200));
                let document = self.document.max(1);
                let place = Some(Place { document, line: number(error.marker().line()) });
                Err(Problem { place, path: String::new(), problem })
            }
        }
    }

    fn following(&mut self, span: &Span) -> Built<(Event<'a>, Span)> {
        self.next()?.ok_or_else(|| self.problem(span, "ends too early".to_owned()))
    }

    fn node(&mut self, event: Event<'a>, span: &Span, level: usize) -> Built<Node> {
        let line = line(span);
        self.left = self.left.checked_sub(1).filter(|_| level <= MOST_LEVELS).ok_or_else(|| {
            self.problem(span, "has too many values or levels; apply it in parts".to_owned())
        })?;
        if event.tag().is_some() {
            return Err(self.problem(span, "tags (!…) are not read; write the plain value".to_owned()));
        }
        let value = match event {
            Event::Scalar(text, style, ..) => self.scalar(&text, style, span)?,
            Event::SequenceStart(..) => self.list(span, level)?,
            Event::MappingStart(..) => self.map(span, level)?,
            _ => return Err(self.problem(span, "aliases (*…) are not read; write the value out".to_owned())),
        };
        Ok(Node { line, value })
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: &Span) -> Built<Value> {
        if style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
            return Ok(Value::Null);
        }
        if text.chars().count() > LONGEST_VALUE {
            return Err(self.problem(span, format!("a value is longer than {LONGEST_VALUE} characters")));
        }
        Ok(Value::Text(text.to_owned()))
    }

    fn list(&mut self, span: &Span, level: usize) -> Built<Value> {
        let mut items = Vec::new();
        loop {
            match self.following(span)? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.node(event, &span, level + 1)?),
            }
        }
    }

    fn map(&mut self, span: &Span, level: usize) -> Built<Value> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut lines = std::collections::BTreeMap::<String, u32>::new();
        loop {
            let (event, at) = self.following(span)?;
            let key = match event {
                Event::MappingEnd => return Ok(Value::Map(entries)),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(self.problem(&at, "a key must be a plain text".to_owned())),
            };
            if let Some(first) = lines.insert(key.clone(), line(&at)) {
                let problem = format!("the key {:?} is given twice, first in line {first}", clip(&key, 60));
                return Err(self.problem(&at, problem));
            }
            let (event, value_at) = self.following(&at)?;
            let value = self.node(event, &value_at, level + 1)?;
            entries.push(Entry { key, line: line(&at), value });
        }
    }

    fn problem(&self, span: &Span, problem: String) -> Problem {
        let place = Some(Place { document: self.document.max(1), line: line(span) });
        Problem { place, path: String::new(), problem }
    }
}

fn line(span: &Span) -> u32 {
    number(span.start.line())
}

fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}
