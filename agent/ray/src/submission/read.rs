//! Read: a request's JSON with the types that Ray demands of it.
//!
//! Invariant: what Ray's head refuses for its type is refused here, in the words of its last line.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Submission;
use crate::{manifest::FieldError, validate};

/// Longest submission id, in bytes.
const LONGEST_ID: usize = 128;

/// Why a request is no submission, as Ray says it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("TypeError: {0}")]
pub struct TypeError(String);

type Result<T> = std::result::Result<T, TypeError>;

const FIELDS: [&str; 10] = [
    "entrypoint",
    "submission_id",
    "job_id",
    "runtime_env",
    "metadata",
    "entrypoint_num_cpus",
    "entrypoint_num_gpus",
    "entrypoint_memory",
    "entrypoint_resources",
    "entrypoint_label_selector",
];

/// The submission in `body`; parts that are null count as absent.
pub fn read(body: &Value) -> Result<Submission> {
    let Some(fields) = body.as_object() else {
        return Err(TypeError(format!("the request must be a dict, got {}", class(body))));
    };
    let given: Map<String, Value> =
        fields.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    if let Some(unknown) = given.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let unknown: String = unknown.chars().take(80).collect();
        return Err(TypeError(format!(
            "JobSubmitRequest.__init__() got an unexpected keyword argument '{unknown}'"
        )));
    }
    let Some(entrypoint) = given.get("entrypoint") else {
        return Err(TypeError(
            "JobSubmitRequest.__init__() missing 1 required positional argument: 'entrypoint'".to_owned(),
        ));
    };
    let id = |name| Ok(text(&given, name)?.filter(|id: &String| !id.is_empty()));
    Ok(Submission {
        entrypoint: entrypoint
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| wrong("entrypoint", "a string", entrypoint))?,
        submission_id: id("submission_id")?.or(id("job_id")?),
        runtime_env: map(&given, "runtime_env")?.cloned(),
        metadata: texts(&given, "metadata", "metadata values must be strings")?,
        num_cpus: number(&given, "entrypoint_num_cpus")?,
        num_gpus: number(&given, "entrypoint_num_gpus")?,
        memory: memory(&given)?,
        resources: resources(&given)?,
        label_selector: texts(
            &given,
            "entrypoint_label_selector",
            "entrypoint_label_selector values must be strings",
        )?,
    })
}

fn wrong(field: &str, kind: &str, value: &Value) -> TypeError {
    TypeError(format!("{field} must be {kind}, got {}", class(value)))
}

/// The value's Python class.
fn class(value: &Value) -> &'static str {
    match value {
        Value::Null => "<class 'NoneType'>",
        Value::Bool(_) => "<class 'bool'>",
        Value::Number(number) if number.is_f64() => "<class 'float'>",
        Value::Number(_) => "<class 'int'>",
        Value::String(_) => "<class 'str'>",
        Value::Array(_) => "<class 'list'>",
        Value::Object(_) => "<class 'dict'>",
    }
}

fn text(given: &Map<String, Value>, field: &str) -> Result<Option<String>> {
    let Some(value) = given.get(field) else { return Ok(None) };
    value
        .as_str()
        .map(|text| Some(text.to_owned()))
        .ok_or_else(|| wrong(field, "a string if provided", value))
}

fn map<'a>(given: &'a Map<String, Value>, field: &str) -> Result<Option<&'a Map<String, Value>>> {
    let Some(value) = given.get(field) else { return Ok(None) };
    value.as_object().map(Some).ok_or_else(|| wrong(field, "a dict", value))
}

fn texts(given: &Map<String, Value>, field: &str, rule: &str) -> Result<Option<BTreeMap<String, String>>> {
    let Some(entries) = map(given, field)? else { return Ok(None) };
    let read = entries.iter().map(|(key, value)| match value.as_str() {
        Some(text) => Ok((key.clone(), text.to_owned())),
        None => Err(TypeError(format!("{rule}, got {}", class(value)))),
    });
    read.collect::<Result<BTreeMap<String, String>>>().map(Some)
}

fn number(given: &Map<String, Value>, field: &str) -> Result<Option<f64>> {
    let Some(value) = given.get(field) else { return Ok(None) };
    value.as_f64().map(Some).ok_or_else(|| wrong(field, "a number", value))
}

fn memory(given: &Map<String, Value>) -> Result<Option<i64>> {
    let Some(value) = given.get("entrypoint_memory") else { return Ok(None) };
    value.as_i64().map(Some).ok_or_else(|| wrong("entrypoint_memory", "an integer", value))
}

fn resources(given: &Map<String, Value>) -> Result<Option<Map<String, Value>>> {
    let Some(entries) = map(given, "entrypoint_resources")? else { return Ok(None) };
    match entries.values().find(|value| !value.is_number()) {
        Some(value) => {
            Err(TypeError(format!("entrypoint_resources values must be numbers, got {}", class(value))))
        }
        None => Ok(Some(entries.clone())),
    }
}

/// Cores or GPUs that a machine may have.
const MOST: f64 = 100_000.0;

/// Values of the right type that no cluster could honour.
pub(super) fn amounts(submission: &Submission) -> Vec<FieldError> {
    let error = |path: &str, problem: &str| FieldError { path: path.to_owned(), problem: problem.to_owned() };
    let mut found = Vec::new();
    let custom = submission.resources.iter().flat_map(Map::values).filter_map(Value::as_f64);
    let amounts = [
        ("entrypoint_num_cpus", submission.num_cpus),
        ("entrypoint_num_gpus", submission.num_gpus),
        ("entrypoint_memory", submission.memory.map(|bytes| if bytes < 0 { -1.0 } else { 0.0 })),
        ("entrypoint_resources", custom.reduce(f64::min)),
    ];
    for (field, amount) in amounts {
        if amount.is_some_and(|amount| amount < 0.0) {
            found.push(error(field, "must not be negative"));
        }
        if field != "entrypoint_resources" && amount.is_some_and(|amount| amount > MOST) {
            found.push(error(field, "is more than any machine has"));
        }
    }
    if submission.submission_id.as_deref().is_some_and(|id| !is_id(id)) {
        found.push(error(
            "submission_id",
            "must have 1 to 128 printable ASCII characters without spaces, '/', '?', '#' and '%', because it becomes part of an address",
        ));
    }
    for (key, value) in submission.label_selector.iter().flatten() {
        if !validate::is_label(key, "") || !is_selector(value) {
            found.push(error(
                "entrypoint_label_selector",
                "must map label keys to a value, !value, in(a,b) or !in(a,b)",
            ));
        }
    }
    found
}

fn is_id(id: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'%');
    id.len() <= LONGEST_ID && id.bytes().all(legal) && !matches!(id, "." | "..")
}

fn is_selector(text: &str) -> bool {
    let text = text.strip_prefix('!').unwrap_or(text);
    let listed = text.strip_prefix("in(").and_then(|rest| rest.strip_suffix(')'));
    match listed {
        Some(values) => values.split(',').all(|value| validate::is_label("k", value.trim())),
        None => validate::is_label("k", text),
    }
}
