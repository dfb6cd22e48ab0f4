//! Resolve: how an incident ends, by the correlator or by a person's word.
//!
//! Owns when a person's word counts and what a later fact of the same cause means. Invariants: an incident ends once,
//! with a reason; what ended stays as it was told. A fact from after the end is a new incident and not the old one opened
//! again: the person judged what they saw, their reason must not come to stand under evidence that they did not see, and
//! a repair that did not hold is news. A fact from before the end that only arrives later changes nothing, as always.

use crate::{
    sentence::{clip, when},
    time::Timestamp,
};

/// Longest reason, in characters.
pub const LONGEST_REASON: usize = 500;

/// How an incident ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    pub at: Timestamp,
    /// Who said so; empty where the correlator saw it.
    pub by: String,
    pub because: String,
}

/// Why a person's word does not end the incident.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error("an incident is resolved with a reason, and none was given")]
    NoReason,
    #[error("the reason is longer than {LONGEST_REASON} characters")]
    TooLong,
    #[error("the incident was resolved at {}{}: {}", when(.0.at), by(.0), clip(&.0.because, LONGEST_REASON))]
    Over(Resolved),
}

fn by(resolved: &Resolved) -> String {
    if resolved.by.is_empty() { String::new() } else { format!(" by {}", clip(&resolved.by, 100)) }
}

/// Ends an incident by the word of `subject`; `ended` is how it ended already. The same word said twice is one word, so
/// that a client whose answer was lost may ask again.
pub fn by_hand(
    ended: Option<&Resolved>,
    subject: &str,
    reason: &str,
    now: Timestamp,
) -> Result<Resolved, Refused> {
    let reason = reason.trim();
    let is_repeat = |ended: &Resolved| ended.by == subject && ended.because == clip(reason, LONGEST_REASON);
    match ended {
        Some(ended) if is_repeat(ended) => Ok(ended.clone()),
        Some(ended) => Err(Refused::Over(ended.clone())),
        None if reason.is_empty() => Err(Refused::NoReason),
        None if reason.chars().count() > LONGEST_REASON => Err(Refused::TooLong),
        None => {
            let because = clip(reason, LONGEST_REASON);
            Ok(Resolved { at: now, by: subject.to_owned(), because })
        }
    }
}

/// The end as a sentence for a timeline.
pub fn sentence(resolved: &Resolved) -> String {
    format!("resolved{}: {}", by(resolved), clip(&resolved.because, LONGEST_REASON))
}

/// What a new incident says of one of the same kind that a person had resolved.
pub(crate) fn again(before: &Resolved) -> Option<String> {
    (!before.by.is_empty()).then(|| {
        format!(
            " {} resolved the incident before this one at {} ({}); this was seen afterwards, so it is a new one.",
            clip(&before.by, 100),
            when(before.at),
            clip(&before.because, 200)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_796_000_000_000_000);

    #[test]
    fn a_word_ends_an_incident_once_and_with_a_reason() {
        let ended = by_hand(None, "ann", "  the GPU\nwas replaced ", NOW).expect("an end");
        assert_eq!(sentence(&ended), "resolved by ann: the GPU was replaced");
        let told = by_hand(Some(&ended), "bob", "mine", NOW).map_err(|refused| refused.to_string());
        assert_eq!(
            told,
            Err(format!("the incident was resolved at {} by ann: the GPU was replaced", when(NOW)))
        );
        let repeat = by_hand(Some(&ended), "ann", "the GPU was replaced", NOW.plus_millis(9_000));
        assert_eq!(repeat, Ok(ended), "the same word again");
        assert_eq!(by_hand(None, "ann", " \n", NOW), Err(Refused::NoReason));
        assert_eq!(by_hand(None, "ann", &"x".repeat(501), NOW), Err(Refused::TooLong));
        assert!(by_hand(None, "ann", &"ü".repeat(500), NOW).is_ok(), "characters, not bytes");
    }

    #[test]
    fn the_correlator_s_own_end_names_nobody() {
        let ended = Resolved { at: NOW, by: String::new(), because: "it is quiet".into() };
        assert_eq!((sentence(&ended).as_str(), again(&ended)), ("resolved: it is quiet", None));
    }
}
