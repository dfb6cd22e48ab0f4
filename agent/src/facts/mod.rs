//! Facts: what the API server's objects say, in the vocabulary of `core::fact`.
//!
//! Owns the translation. Invariant: pure; texts that users or Ray wrote are cut to [`TEXT_LIMIT`] bytes, and an object
//! that lacks a field gives a fact that lacks it. Whose an object is comes in from outside and is never read from labels here.

mod emitter;
mod event;
mod node;
mod pod;
mod ray;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use squadron_core::time::Timestamp;

pub use emitter::{Emitter, Observed};
pub use event::{about, event_fact};
pub use node::node_fact;
pub use pod::pod_fact;
pub use ray::{ray_cluster_fact, ray_job_fact};

/// Greatest length of a free text in a fact, in bytes.
pub const TEXT_LIMIT: usize = 1024;

/// Stands for a character that cannot be kept.
const REPLACEMENT: &str = "\u{fffd}";

/// `text` cut to [`TEXT_LIMIT`] bytes at a character's edge, without NUL, which no database text can hold.
fn bounded(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(TEXT_LIMIT)];
    let clean = cut.replace('\0', REPLACEMENT);
    clean[..clean.floor_char_boundary(TEXT_LIMIT)].to_owned()
}

fn bounded_or_empty(text: Option<&String>) -> String {
    text.map(|text| bounded(text)).unwrap_or_default()
}

fn at(time: Option<&Time>) -> Option<Timestamp> {
    time.map(|time| time.0.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "ü".repeat(TEXT_LIMIT);
        assert_eq!(bounded(&text), "ü".repeat(TEXT_LIMIT / 2));
    }

    #[test]
    fn nul_never_enters_a_fact_and_takes_no_more_room() {
        assert_eq!(bounded("exit\0 code"), "exit\u{fffd} code");
        assert_eq!(bounded("a literal \\u0000 stays"), "a literal \\u0000 stays");
        let grown = bounded(&"\0".repeat(TEXT_LIMIT));
        assert!(grown.len() <= TEXT_LIMIT && grown.chars().all(|character| character == '\u{fffd}'));
    }
}
