//! Lines: a container's log with the kubelet's time before each line, told apart into what is new and what was taken.
//!
//! The kubelet serves only the newest file of a log that it rotates, so a count of bytes says nothing about where a new
//! stream begins; the time of a line does. Invariant: what comes out are the container's own bytes, each once; where the
//! line after which to go on is no longer served, that is told as a gap. Lines of one time are told apart by counting.

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;

/// A time is shorter than this; what has no space within it is no time.
const LONGEST_TIME: usize = 40;

/// A place within a log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// Time of the line, as the kubelet wrote it.
    at: String,
    /// Which of the lines with this time, from 1.
    nth: u32,
    /// Bytes of the line that were taken, its end included.
    within: u64,
}

impl Place {
    /// A time in whole seconds from which the log must be asked for; `None` where the time cannot be read.
    pub fn since(&self) -> Option<Timestamp> {
        let at: Timestamp = self.at.parse().ok()?;
        Some(Timestamp(at.0 - at.0.rem_euclid(1_000_000)))
    }
}

/// What a piece of the stream holds that is new.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fresh {
    pub data: Vec<u8>,
    /// Before `data`, something was lost.
    pub gap: bool,
}

/// Reads one stream.
pub struct Lines {
    /// The line to go on after, until it was met.
    sought: Option<Place>,
    /// Content to leave out once the sought line was met, in bytes: it is durable, but the place lags.
    behind: u64,
    here: Place,
    /// The beginning of a line, while its time is incomplete.
    head: Vec<u8>,
    in_head: bool,
    /// Bytes of the present line to leave out.
    skip: u64,
}

impl Lines {
    /// Goes on after `place`, or begins with the first line; leaves out `behind` more bytes.
    pub fn resume(place: Option<Place>, behind: u64) -> Lines {
        let sought = place;
        Lines { sought, behind, here: Place::default(), head: Vec::new(), in_head: true, skip: 0 }
    }

    /// Where the stream is; `None` before the first line.
    pub fn place(&self) -> Option<Place> {
        Some(self.here.clone()).filter(|here| here.nth > 0)
    }

    /// Takes the next bytes of the stream.
    pub fn read(&mut self, mut raw: &[u8]) -> Fresh {
        let mut fresh = Fresh::default();
        while !raw.is_empty() {
            raw =
                if self.in_head { self.read_head(raw, &mut fresh) } else { self.read_line(raw, &mut fresh) };
        }
        fresh
    }

    fn read_head<'a>(&mut self, raw: &'a [u8], fresh: &mut Fresh) -> &'a [u8] {
        let length = raw.iter().position(|byte| matches!(byte, b' ' | b'\n'));
        let (head, rest) = raw.split_at(length.unwrap_or(raw.len()));
        self.head.extend_from_slice(head);
        let Some(end) = rest.first() else {
            if self.head.len() > LONGEST_TIME {
                self.no_time(fresh);
            }
            return rest;
        };
        let time = std::str::from_utf8(&self.head).ok().filter(|text| text.parse::<Timestamp>().is_ok());
        match time.map(str::to_owned) {
            Some(time) if *end == b' ' => {
                self.head.clear();
                self.in_head = false;
                self.begin(time, fresh);
                &rest[1..]
            }
            _ => {
                self.no_time(fresh);
                rest
            }
        }
    }

    /// What began like a line with a time is content.
    fn no_time(&mut self, fresh: &mut Fresh) {
        self.in_head = false;
        let head = std::mem::take(&mut self.head);
        self.take(&head, fresh);
    }

    /// A line begins: decides how much of it is known.
    fn begin(&mut self, time: String, fresh: &mut Fresh) {
        let nth = if self.here.at == time { self.here.nth + 1 } else { 1 };
        self.here = Place { at: time, nth, within: 0 };
        self.skip = 0;
        let Some(sought) = &self.sought else { return };
        if (sought.at == self.here.at && self.here.nth < sought.nth) || self.here.is_before(sought) {
            self.skip = u64::MAX;
        } else if sought.at == self.here.at && self.here.nth == sought.nth {
            self.skip = sought.within;
            self.sought = None;
        } else {
            self.sought = None;
            self.behind = 0;
            fresh.gap = true;
        }
    }

    fn read_line<'a>(&mut self, raw: &'a [u8], fresh: &mut Fresh) -> &'a [u8] {
        let end = raw.iter().position(|byte| *byte == b'\n').map(|position| position + 1);
        let (line, rest) = raw.split_at(end.unwrap_or(raw.len()));
        self.take(line, fresh);
        self.in_head = end.is_some();
        rest
    }

    fn take(&mut self, content: &[u8], fresh: &mut Fresh) {
        self.here.within += content.len() as u64;
        let content = leave_out(content, &mut self.skip);
        let content = if self.sought.is_none() { leave_out(content, &mut self.behind) } else { content };
        fresh.data.extend_from_slice(content);
    }
}

impl Place {
    fn is_before(&self, other: &Place) -> bool {
        let times = (self.at.parse::<Timestamp>(), other.at.parse::<Timestamp>());
        match times {
            (Ok(own), Ok(others)) if own != others => own < others,
            _ => self.at < other.at,
        }
    }
}

/// What is left of `content` after `count` bytes, which become fewer.
fn leave_out<'a>(content: &'a [u8], count: &mut u64) -> &'a [u8] {
    let known = usize::try_from(*count).unwrap_or(usize::MAX).min(content.len());
    if *count != u64::MAX {
        *count -= known as u64;
    }
    &content[known..]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn time(number: u32) -> String {
        format!("2026-11-29T10:00:{:02}.{:09}Z", number / 4, 1_000 * number)
    }

    /// The stream of lines with their times.
    fn stream(lines: &[(u32, &str)]) -> Vec<u8> {
        lines.iter().flat_map(|(number, text)| format!("{} {text}\n", time(*number)).into_bytes()).collect()
    }

    const LOG: [(u32, &str); 5] = [(1, "one"), (2, ""), (2, "two again"), (7, "a b c"), (9, "last")];

    #[test]
    fn times_are_taken_off() {
        let fresh = Lines::resume(None, 0).read(&stream(&LOG));
        assert_eq!(String::from_utf8(fresh.data).unwrap(), "one\n\ntwo again\na b c\nlast\n");
        assert!(!fresh.gap);
    }

    #[test]
    fn a_rotated_log_goes_on_with_its_new_lines_and_loses_none_for_their_number() {
        let mut lines = Lines::resume(None, 0);
        lines.read(&stream(&LOG[..4]));
        let place = lines.place();
        let later = Lines::resume(place.clone(), 0).read(&stream(&[LOG[3], LOG[4], (11, "new")]));
        assert_eq!((later.data.as_slice(), later.gap), (b"last\nnew\n".as_slice(), false));
        let rotated = Lines::resume(place, 0).read(&stream(&[(12, "newer")]));
        assert_eq!((rotated.data.as_slice(), rotated.gap), (b"newer\n".as_slice(), true));
    }

    #[test]
    fn a_place_gives_whole_seconds_to_ask_from() {
        let place = Place { at: "2026-11-29T10:00:07.999999999Z".into(), nth: 1, within: 3 };
        assert_eq!(place.since(), Some("2026-11-29T10:00:07Z".parse().unwrap()));
    }

    #[test]
    fn a_line_without_a_time_is_content() {
        let long = "x".repeat(100);
        let text = format!("no time\n\n{long}\n");
        assert_eq!(Lines::resume(None, 0).read(text.as_bytes()).data, text.as_bytes());
    }

    proptest! {
        /// Broken anywhere, in any pieces, and behind by any number of bytes: every byte comes once.
        #[test]
        fn a_stream_that_breaks_gives_every_byte_once(
            cut in any::<prop::sample::Index>(), piece in 1_usize..30, lag in 0_usize..8,
        ) {
            let raw = stream(&LOG);
            let whole = Lines::resume(None, 0).read(&raw).data;
            let mut first = Lines::resume(None, 0);
            let mut got = Vec::new();
            let mut places = vec![(0, None)];
            for part in raw[..cut.index(raw.len() + 1)].chunks(piece) {
                got.extend(first.read(part).data);
                places.push((got.len(), first.place()));
            }
            let (known, place) = places[places.len().saturating_sub(1 + lag)].clone();
            let behind = (got.len() - known) as u64;
            let mut second = Lines::resume(place, behind);
            for part in raw.chunks(piece) {
                let fresh = second.read(part);
                prop_assert!(!fresh.gap);
                got.extend(fresh.data);
            }
            prop_assert_eq!(got, whole);
        }
    }
}
