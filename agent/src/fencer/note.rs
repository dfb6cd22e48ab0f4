//! Note: the attempts that the fencer stopped, as its Lease names them.
//!
//! Owns how many an object can name: an API server takes annotations of 256 KiB together. Invariant: attempts that are
//! stopped now are named before those of earlier days; where even they do not fit, the note says so, and the agent then
//! reports what is gone without a name as what the fencer may have stopped. Repaired by the next note.

use std::{collections::BTreeSet, fmt};

use squadron_core::id::AttemptId;

/// Most bytes of a note. The other annotations need about 1 KiB.
pub const MOST_BYTES: usize = 250_000;
/// The word for attempts that are not named.
const MORE: &str = "more";

/// Attempts that the fencer stopped, the newest last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Note {
    named: Vec<AttemptId>,
    /// It stopped more than it could name.
    pub more: bool,
}

impl Note {
    /// What a text names; words that are no attempts are left out.
    pub fn read(text: &str) -> Note {
        let named = text.split_whitespace().filter_map(|word| {
            let (job, number) = word.split_once('/')?;
            Some(AttemptId { job: job.parse().ok()?, number: number.parse().ok()? })
        });
        Note { named: named.collect(), more: text.starts_with(MORE) }
    }

    pub fn attempts(&self) -> BTreeSet<AttemptId> {
        self.named.iter().copied().collect()
    }

    /// The note after `stopped` are stopped too; none if it says so already.
    pub fn with(&self, stopped: &[AttemptId]) -> Option<Note> {
        let (known, now) = (self.attempts(), stopped.iter().copied().collect::<BTreeSet<_>>());
        if now.is_subset(&known) || (self.more && !now.is_disjoint(&known)) {
            return None;
        }
        let before = self.named.iter().copied().filter(|attempt| !now.contains(attempt));
        let mut named: Vec<AttemptId> = before.chain(now.iter().copied()).collect();
        let mut left = MOST_BYTES - MORE.len();
        let fits = |attempt: &&AttemptId| {
            let bytes = attempt.to_string().len() + 1;
            left.checked_sub(bytes).map(|rest| left = rest).is_some()
        };
        let kept = named.iter().rev().take_while(fits).count();
        named.drain(..named.len() - kept);
        Some(Note { more: kept < now.len(), named })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.more { MORE } else { "" })?;
        self.named.iter().try_for_each(|attempt| write!(f, " {attempt}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn attempts(from: u128, to: u128) -> Vec<AttemptId> {
        let id = |number: u128| format!("0196f0a0-0000-7000-8000-{number:012}").parse().unwrap();
        (from..to).map(|number| AttemptId { job: id(number), number: 4_000_000_000 }).collect()
    }

    #[test]
    fn it_survives_its_text_and_fits_into_an_object() {
        let note = Note::default().with(&attempts(0, 4_000)).unwrap();
        assert!(!note.more && note.attempts().len() == 4_000);
        assert_eq!(Note::read(&note.to_string()), note);
        let full = note.with(&attempts(4_000, 6_000)).unwrap();
        assert!(full.to_string().len() <= MOST_BYTES, "{}", full.to_string().len());
        assert!(!full.more, "all of those that are stopped now are named");
        assert_eq!(full.named.last(), attempts(5_999, 6_000).last());
        assert_eq!(full.with(&attempts(4_500, 6_000)), None, "it says so already");
    }

    #[test]
    fn what_does_not_fit_is_not_passed_over_in_silence() {
        let crowd = attempts(0, 20_000);
        let note = Note::default().with(&crowd).unwrap();
        assert!(note.more && note.to_string().len() <= MOST_BYTES);
        assert_eq!(Note::read(&note.to_string()), note);
        assert_eq!(note.with(&crowd), None, "it is not written again and again");
        let next = note.with(&attempts(30_000, 30_001)).unwrap();
        assert!(!next.more, "another time");
    }

    #[test]
    fn a_text_that_is_no_note_names_nothing() {
        for text in ["", "[]", "nonsense x/1 0196f0a0-0000-7000-8000-000000000001/x"] {
            assert_eq!(Note::read(text), Note::default(), "{text}");
        }
    }
}
