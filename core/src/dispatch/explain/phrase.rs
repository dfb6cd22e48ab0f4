//! Phrase: the sentence of a job that waits.
//!
//! Invariant: it says the queue, the place if that is known, and the first blocker; whoever shows a waiting job shows this.

use crate::{
    dispatch::{Blocker, Cause},
    sentence::{count, ordinal},
};

/// Where a job stands in the line of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// From 1.
    pub position: u32,
    /// Jobs that wait in the queue.
    pub length: u32,
    /// The position is from a count that was made a while ago.
    pub about: bool,
    /// So is the length.
    pub of_about: bool,
}

impl Place {
    /// `2nd of 3`, `about 52000th of about 100000`.
    fn words(self) -> String {
        let about = |old| if old { "about " } else { "" };
        let (position, length) = (ordinal(self.position), self.length);
        format!("{}{position} of {}{length}", about(self.about), about(self.of_about))
    }
}

/// More are not counted apart.
pub const MOST_OVERTAKERS: usize = 100;

/// `queued in research, 2nd of 3: east is full…`. `overtaken` says how many came later and were placed before.
pub fn waits(
    queue: &str,
    place: Option<Place>,
    overtaken: usize,
    blockers: &[Blocker],
    note: &str,
) -> String {
    let first = blockers.first().map_or("", |blocker| blocker.sentence.as_str());
    let place = place.map_or_else(String::new, |place| format!(", {}", place.words()));
    let is_never = |code| {
        matches!(
            code,
            Cause::TooBig | Cause::NoCluster | Cause::NoMatchingNode | Cause::QuotaNever | Cause::Residency
        )
    };
    let could_run = !blockers.iter().all(|blocker| is_never(blocker.code));
    let overtakers = match overtaken {
        0 => String::new(),
        _ if !could_run => String::new(),
        1..=MOST_OVERTAKERS => format!("; {} that came later fitted and went first", count(overtaken, "job")),
        _ => format!("; more than {MOST_OVERTAKERS} jobs that came later fitted and went first"),
    };
    format!("queued in {queue}{place}: {first}{overtakers}{note}")
}
