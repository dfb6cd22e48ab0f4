//! Render: values of the API as text. Pure: `now` and colour are handed in.
//!
//! Invariant: text of others (names, messages, kernel lines) never carries a control character to the terminal; what
//! colour says, a word says too.

pub mod amount;
pub mod arrival;
pub mod audit;
pub mod cluster;
pub mod describe;
pub mod fit;
pub mod incident;
pub mod job;
pub mod list;
pub mod money;
pub mod narrow;
pub mod place;
pub mod policy;
pub mod queue;
pub mod style;
pub mod table;
pub mod time;
pub mod token;
pub mod tree;
pub mod usage;
pub mod what_if;
pub mod why;

use squadron_core::time::Timestamp;

/// How and when a rendering is read.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub now: Timestamp,
    pub colour: bool,
    /// Columns of the terminal; `None` for a pipe or a file.
    pub width: Option<usize>,
}

/// One line without control characters: line breaks and tabs become spaces, the rest a replacement mark.
pub fn plain(text: &str) -> String {
    let safe = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() || is_bidi_control(c) => '\u{fffd}',
        c => c,
    };
    text.trim().chars().map(safe).collect()
}

/// Characters that reorder what stands around them.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `word` where there is one, otherwise a dash, so that columns never look broken.
pub fn or_dash(text: &str) -> String {
    let text = plain(text);
    if text.is_empty() { "-".into() } else { text }
}

/// `1 job`, `3 jobs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `1st`, `2nd`, `3rd`, `11th`.
pub fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_tamed() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
        assert_eq!(or_dash(" \n"), "-");
    }

    #[test]
    fn ordinals_read_as_people_say_them() {
        let all: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 111, 122].into_iter().map(ordinal).collect();
        assert_eq!(all.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 111th 122nd");
    }
}
