//! Nesting: how deep a YAML text goes, looked at before another parser reads it.
//!
//! Owns the bound that keeps libyaml off texts that would hold it up: it compares each of its tokens with every list and map in
//! braces that is still open, so a text of 256 KiB takes minutes. Invariant: a text that passes has at most [`MOST_LEVELS`] levels,
//! or [`FEW`] brackets in all, which cost nothing. Fails at the first thing that is too deep or cannot be read, with its line.

use granit_parser::Parser;

use crate::sentence::clip;

/// Levels of lists and maps, one in another.
pub const MOST_LEVELS: usize = 100;
/// Opening brackets of a text that need no look.
const FEW: usize = 500;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Counts from 1.
    pub line: usize,
    pub problem: String,
}

/// Refuses a text that goes too deep.
pub fn check(text: &str) -> Result<(), Unreadable> {
    if text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() <= FEW {
        return Ok(());
    }
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MOST_LEVELS,
        block_nesting_limit: MOST_LEVELS,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    while let Some(event) = parser.next_event() {
        event.map_err(|error| Unreadable {
            line: error.marker().line().max(1),
            problem: clip(&error.info(), 200),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_refused_with_its_line_however_it_is_written() {
        for level in ["{a: ", "[", "{\"}\": ", "[']', ", "? {"] {
            let deep = format!("a: 1\nb: {}", level.repeat(20_000));
            assert_eq!(check(&deep).map_err(|bad| bad.line), Err(2), "{level}");
        }
    }

    #[test]
    fn many_brackets_side_by_side_and_brackets_in_texts_are_no_depth() {
        assert_eq!(check(&format!("a: [{}]", "{b: [1]}, ".repeat(20_000))), Ok(()));
        assert_eq!(check(&format!("a: '{}'", "[{".repeat(20_000))), Ok(()));
        assert_eq!(check(&format!("a: |\n  {}\n", "[{".repeat(20_000))), Ok(()));
        assert_eq!(
            check(&format!("{{\"a\":\t[{}\t1]}}", "[\"\\/\", {}],\n".repeat(1_000))),
            Ok(()),
            "JSON is YAML"
        );
    }
}
