//! Check: compares a value with its schema and says what differs, with the path of each field.
//!
//! Stops after [`MOST_PROBLEMS`]; depth is bounded by the schema. Unknown fields are refused with the nearest known
//! name, because an API server that drops them silently lets a typo run for hours.

use serde_json::{Map, Value};
use squadron_core::quantity;

use super::nearest::nearest;
use crate::{
    manifest::FieldError,
    requests::{amount_problem, quantity_text},
};

/// More problems than this help nobody.
const MOST_PROBLEMS: usize = 50;

/// Everything in `value` that `schema` does not admit.
pub(crate) fn check(value: &Value, schema: &Value, path: &str) -> Vec<FieldError> {
    let mut found = Vec::new();
    walk(value, schema, path, &mut found);
    found.truncate(MOST_PROBLEMS);
    found
}

fn walk(value: &Value, schema: &Value, path: &str, found: &mut Vec<FieldError>) {
    if value.is_null() || found.len() >= MOST_PROBLEMS {
        return;
    }
    if schema.get("x-kubernetes-int-or-string").is_some() {
        check_quantity(value, path, found);
        return;
    }
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if let Some(problem) = wrong_type(value, wanted) {
        found.push(problem_at(path, problem));
        return;
    }
    check_word(value, schema, path, found);
    check_range(value, schema, path, found);
    match value {
        Value::Object(fields) => check_fields(fields, schema, path, found),
        Value::Array(items) => {
            let inner = schema.get("items").unwrap_or(&Value::Null);
            for (index, item) in items.iter().enumerate() {
                walk(item, inner, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn check_fields(fields: &Map<String, Value>, schema: &Value, path: &str, found: &mut Vec<FieldError>) {
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    let open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
    for (name, value) in fields {
        let inner = join(path, name);
        match (known.and_then(|known| known.get(name)), others) {
            (Some(schema), _) | (None, Some(schema)) => walk(value, schema, &inner, found),
            (None, None) if open || known.is_none() => {}
            (None, None) => found.push(unknown(name, &inner, known)),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        let has_default =
            known.and_then(|known| known.get(name)).is_some_and(|field| field.get("default").is_some());
        if !fields.contains_key(name) && !has_default {
            found.push(problem_at(&join(path, name), "is missing; it is required".to_owned()));
        }
    }
}

fn unknown(name: &str, path: &str, known: Option<&Map<String, Value>>) -> FieldError {
    let candidates = known.into_iter().flat_map(Map::keys).map(String::as_str);
    let problem = match nearest(name, candidates.clone()) {
        Some(meant) => format!("is no field here; did you mean {meant:?}?"),
        None => {
            let all: Vec<&str> = candidates.take(12).collect();
            format!("is no field here; known fields are {}", all.join(", "))
        }
    };
    problem_at(path, problem)
}

/// What is wrong with the type, if anything.
fn wrong_type(value: &Value, wanted: &str) -> Option<String> {
    let fits = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        _ => true,
    };
    (!fits).then(|| {
        let hint = match (wanted, value) {
            ("string", Value::Number(_) | Value::Bool(_)) => "; put it in quotes",
            ("integer" | "number" | "boolean", Value::String(_)) => "; write it without quotes",
            ("array", _) => "; start each item with '- '",
            _ => "",
        };
        format!("must be {}, not {}{hint}", article(wanted), kind_of(value))
    })
}

fn article(wanted: &str) -> &'static str {
    match wanted {
        "object" => "a map of fields",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map of fields",
    }
}

fn check_quantity(value: &Value, path: &str, found: &mut Vec<FieldError>) {
    let is_port = path.ends_with("port") || path.ends_with("Port");
    if !matches!(value, Value::String(_) | Value::Number(_)) {
        found.push(problem_at(
            path,
            format!("must be a quantity such as 500m, 2 or 1.5Gi, not {}", kind_of(value)),
        ));
    } else if let Some(name) = amount_of(path) {
        found.extend(amount_problem(name, &quantity_text(value)).map(|problem| problem_at(path, problem)));
    } else if !is_port
        && quantity::milli(&quantity_text(value)).is_err()
        && quantity::whole(&quantity_text(value)).is_err()
    {
        let text: String = quantity_text(value).chars().take(40).collect();
        found.push(problem_at(path, format!("{text:?} is no Kubernetes quantity; examples: 500m, 2, 1.5Gi")));
    }
}

/// The resource whose amount stands at this path.
fn amount_of(path: &str) -> Option<&str> {
    [".requests.", ".limits.", ".overhead."].iter().find_map(|of| path.rsplit_once(of)).map(|(_, name)| name)
}

fn check_word(value: &Value, schema: &Value, path: &str, found: &mut Vec<FieldError>) {
    let Some(words) = schema.get("enum").and_then(Value::as_array) else { return };
    if words.contains(value) {
        return;
    }
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let written = value.as_str().unwrap_or_default();
    let meant = nearest(written, words.iter().copied()).map(|word| format!("; did you mean {word:?}?"));
    let problem = format!("must be one of {}{}", words.join(", "), meant.unwrap_or_default());
    found.push(problem_at(path, problem));
}

fn check_range(value: &Value, schema: &Value, path: &str, found: &mut Vec<FieldError>) {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some((number, least)) = value.as_f64().zip(bound("minimum"))
        && number < least
    {
        found.push(problem_at(path, format!("must be at least {least}")));
    }
    let widest = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => f64::from(i32::MAX),
        _ => return,
    };
    if value.as_f64().is_some_and(|number| number.abs() > widest) {
        found.push(problem_at(path, format!("must be at most {widest}")));
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn problem_at(path: &str, problem: String) -> FieldError {
    FieldError { path: path.to_owned(), problem }
}
