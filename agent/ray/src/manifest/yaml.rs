//! YAML: one bounded document in, JSON out.
//!
//! Invariant: the text is at most 1 MiB, holds one document, has no anchors or aliases (so nothing in it can grow),
//! and nests at most 64 deep.

use serde::Deserialize;
use serde_json::Value;

use super::{FieldError, LONGEST_MANIFEST};

const DEEPEST: usize = 64;

pub(super) fn read(text: &str) -> Result<Value, FieldError> {
    if text.len() > LONGEST_MANIFEST {
        return Err(whole(
            "the manifest is longer than 1 MiB; move large files into a working_dir or an image",
        ));
    }
    if let Some(line) = aliased(text) {
        let problem = format!("line {line} uses a YAML anchor or alias; write the value out in full");
        return Err(FieldError { path: String::new(), problem });
    }
    let mut documents = serde_yaml_ng::Deserializer::from_str(text);
    let mut found = None;
    while let Some(document) = documents.next() {
        let value =
            Value::deserialize(document).map_err(|error| whole(&format!("this is no YAML: {error}")))?;
        match (&found, value) {
            (_, Value::Null) => {}
            (None, value) => found = Some(value),
            (Some(_), _) => {
                return Err(whole("the text holds more than one document; submit one RayJob at a time"));
            }
        }
    }
    let value = found.ok_or_else(|| whole("the text is empty; a RayJob manifest is needed"))?;
    if depth(&value) > DEEPEST {
        return Err(whole("the manifest nests more than 64 levels deep"));
    }
    Ok(value)
}

fn whole(problem: &str) -> FieldError {
    FieldError { path: String::new(), problem: problem.to_owned() }
}

/// The first line on which a value is an anchor (`&name`) or an alias (`*name`).
fn aliased(text: &str) -> Option<usize> {
    let is_mark = |value: &str| {
        let mut chars = value.chars();
        matches!(chars.next(), Some('&' | '*'))
            && chars.next().is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    let starts_value = |line: &str| {
        let line = line.trim_start();
        let item = line.trim_start_matches("- ").trim_start();
        let value = item.split_once(": ").map_or(item, |(_, value)| value.trim_start());
        is_mark(item) || is_mark(value)
    };
    text.lines().position(starts_value).map(|index| index + 1)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
