//! Answer: the text of a log within the dashboard's JSON, also where the answer was cut off.
//!
//! Invariant: what is read of a cut answer is a beginning of the log, in whole characters.

use serde::Deserialize;

const QUOTE: &[u8] = b"\"";

#[derive(Deserialize)]
struct Answer {
    logs: String,
}

/// The text of a whole answer.
pub(super) fn whole(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<Answer>(body).ok().map(|answer| answer.logs)
}

/// The text of an answer whose end was cut off: `{"logs": "…`, up to the last whole character.
pub(super) fn beginning(body: &[u8]) -> Option<String> {
    let opened = [b"{".as_slice(), b"\"logs\"", b":", QUOTE];
    let mut rest = body;
    for token in opened {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    let text = &rest[..whole_characters(rest)];
    serde_json::from_slice(&[QUOTE, text, QUOTE].concat()).ok()
}

/// Length of the longest beginning of a JSON string's inside that ends neither within an escape nor within a character.
fn whole_characters(inside: &[u8]) -> usize {
    let mut length = 0;
    while let Some(next) = inside.get(length) {
        let rest = &inside[length..];
        let step = match next {
            b'"' => break,
            b'\\' if rest.starts_with(b"\\ud") || rest.starts_with(b"\\uD") => pair(rest),
            b'\\' if rest.get(1) == Some(&b'u') => 6,
            b'\\' => 2,
            _ => 1,
        };
        if rest.len() < step {
            break;
        }
        length += step;
    }
    std::str::from_utf8(&inside[..length]).map_or_else(|error| error.valid_up_to(), str::len)
}

/// Length of an escape in the range of surrogates: those from d800 to dbff come with a second one.
fn pair(rest: &[u8]) -> usize {
    if matches!(rest.get(3), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B')) { 12 } else { 6 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_cut_anywhere_gives_the_beginning_of_its_text() {
        let log = "step 1\n\"quoted\" \\ tab\t ü 漢 \u{1F680} end";
        for body in [json!({"logs": log}).to_string(), escaped(log)] {
            let mut longest = 0;
            for cut in 10..body.len() {
                let text = beginning(&body.as_bytes()[..cut]).unwrap();
                assert!(log.starts_with(&text), "{cut}: {text:?}");
                assert!(text.len() >= longest);
                longest = text.len();
            }
            assert_eq!(longest, log.len());
        }
        assert_eq!(beginning(b"<html>"), None);
    }

    /// As Python writes it: everything beyond ASCII by its code units.
    fn escaped(log: &str) -> String {
        let text = serde_json::to_string(log).unwrap();
        let mut units = [0; 2];
        let ascii: String = text
            .chars()
            .map(|character| {
                let codes = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
                if character.is_ascii() { character.to_string() } else { codes.collect() }
            })
            .collect();
        format!("{{\"logs\": {ascii}}}")
    }
}
