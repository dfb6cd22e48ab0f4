//! YAML: one bounded document in, JSON out.
//!
//! Invariant: whatever comes out of a text that is not too long has at most [`MOST_NODES`] values and [`MOST_BYTES`]
//! bytes of text, however often anchors repeat each other; every key of a map is given once; there is one document.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use squadron_core::nesting;

use super::{FieldError, SHORTEN, too_long};

const MOST_NODES: usize = 100_000;
const MOST_BYTES: usize = 2 << 20;

/// Reads the only document of `text`.
pub(crate) fn read_yaml(text: &str) -> Result<Value, FieldError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(problem) = too_long(text.len() as u64) {
        return Err(whole(&format!("{problem}; {SHORTEN}")));
    }
    nesting::check(text)
        .map_err(|bad| whole(&format!("cannot be read as YAML: {} at line {}", bad.problem, bad.line)))?;
    let budget = Budget { nodes: Cell::new(MOST_NODES), bytes: Cell::new(MOST_BYTES) };
    let mut found = None;
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let value = Bounded(&budget).deserialize(document);
        let value = value.map_err(|error| whole(&format!("cannot be read as YAML: {error}")))?;
        match (&found, value) {
            (_, Value::Null) => {}
            (None, value) => found = Some(value),
            (Some(_), _) => return Err(whole("holds more than one document; submit one at a time")),
        }
    }
    found.ok_or_else(|| whole("is empty"))
}

fn whole(problem: &str) -> FieldError {
    FieldError { path: String::new(), problem: problem.to_owned() }
}

/// What may still be built.
struct Budget {
    nodes: Cell<usize>,
    bytes: Cell<usize>,
}

impl Budget {
    fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = (self.nodes.get().checked_sub(1)).zip(self.bytes.get().checked_sub(bytes));
        let (nodes, bytes) =
            left.ok_or_else(|| E::custom("it grows too large; write repeated values out or fewer"))?;
        self.nodes.set(nodes);
        self.bytes.set(bytes);
        Ok(())
    }
}

/// Builds one value within the budget.
#[derive(Clone, Copy)]
struct Bounded<'a>(&'a Budget);

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a YAML value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.0.take(0)?;
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number must be finite"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.0.take(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        self.0.take(0)?;
        let mut items = Vec::new();
        while let Some(item) = input.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        self.0.take(0)?;
        let mut fields = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            self.0.take(key.len())?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!("the field {key:?} is given twice")));
            }
            let value = input.next_value_seed(self)?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::{super::LONGEST_MANIFEST, *};

    #[test]
    fn yaml_and_json_read_alike() {
        let expected = json!({"a": [1, 2.5, "x", true, null], "b": {"c": -3}});
        assert_eq!(read_yaml("a: [1, 2.5, x, true, ~]\nb: {c: -3}\n").unwrap(), expected);
        assert_eq!(read_yaml(&expected.to_string()).unwrap(), expected);
    }

    #[test]
    fn exactly_one_document_is_read() {
        assert_eq!(read_yaml("---\na: 1\n---\n").unwrap(), json!({"a": 1}));
        assert!(read_yaml("a: 1\n---\nb: 2\n").unwrap_err().problem.contains("more than one document"));
        assert_eq!(read_yaml(" \n").unwrap_err().problem, "is empty");
    }

    #[test]
    fn a_text_that_is_nested_too_deep_is_refused_at_once() {
        for level in ["{a: ", "["] {
            let problem = read_yaml(&level.repeat(50_000)).unwrap_err().problem;
            assert!(problem.contains("at line 1"), "{problem}");
        }
    }

    #[test]
    fn a_mark_of_the_byte_order_is_no_part_of_the_text() {
        assert_eq!(read_yaml("\u{feff}a: 1\n").unwrap(), json!({"a": 1}));
    }

    #[test]
    fn bombs_are_refused_before_they_grow() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(", "));
        }
        assert!(read_yaml(&text).unwrap_err().problem.contains("cannot be read as YAML"));
        let wide = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1_000), vec!["*a"; 5_000].join(", "));
        assert!(read_yaml(&wide).unwrap_err().problem.contains("grows too large"));
        assert!(read_yaml(&"[".repeat(10_000)).is_err());
    }

    #[test]
    fn long_text_and_double_keys_are_refused() {
        let refused = read_yaml(&"#".repeat(LONGEST_MANIFEST + 1)).unwrap_err();
        assert!(refused.problem.starts_with("is 257 KiB long, and a manifest may have 256 KiB"), "{refused}");
        assert!(read_yaml("a: 1\na: 2\n").unwrap_err().problem.contains("given twice"));
        assert!(read_yaml("a: .nan\n").unwrap_err().problem.contains("finite"));
    }

    #[test]
    fn small_anchors_are_fine() {
        assert_eq!(read_yaml("a: &a {b: 1}\nc: *a\n").unwrap(), json!({"a": {"b": 1}, "c": {"b": 1}}));
    }
}
