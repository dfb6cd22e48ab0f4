//! Counts: how many tests a runner says passed, failed and were left out, read from the lines it prints.

use std::ops::AddAssign;

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl Counts {
    pub fn total(self) -> u32 {
        self.passed + self.failed + self.skipped
    }
}

/// What a line adds. Known: the closing lines of cargo's test harness (`test result: …`), of vitest
/// (`Tests  3 passed (3)`) and the plain form `3 passed, 0 failed`.
pub fn of_line(line: &str) -> Counts {
    let plain = without_colour(line);
    let text = plain.trim();
    let closes = text.starts_with("test result:") || text.starts_with("Tests ") || is_plain(text);
    if !closes {
        return Counts::default();
    }
    Counts {
        passed: before(text, "passed"),
        failed: before(text, "failed"),
        skipped: before(text, "ignored") + before(text, "skipped"),
    }
}

fn is_plain(text: &str) -> bool {
    let parts: Vec<&str> = text.split(", ").collect();
    parts.len() >= 2 && parts[0].ends_with(" passed") && parts[1].ends_with(" failed")
}

/// The number right before `word`.
fn before(text: &str, word: &str) -> u32 {
    let words: Vec<&str> =
        text.split([' ', ';', ',', '|', '(', ')']).filter(|word| !word.is_empty()).collect();
    let pairs = words.windows(2).filter(|pair| pair[1] == word);
    pairs.filter_map(|pair| pair[0].parse::<u32>().ok()).sum()
}

/// The line without the escape sequences that colour it.
fn without_colour(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &after[end + 1..]);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u32, failed: u32, skipped: u32) -> Counts {
        Counts { passed, failed, skipped }
    }

    #[test]
    fn closing_lines_of_all_runners_are_read() {
        let cargo = "test result: FAILED. 12 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.10s";
        assert_eq!(of_line(cargo), counts(12, 1, 2));
        assert_eq!(of_line("      Tests  1 failed | 3 passed (4)"), counts(3, 1, 0));
        assert_eq!(
            of_line("\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m4 passed\u{1b}[39m (4)"),
            counts(4, 0, 0)
        );
        assert_eq!(of_line("5 passed, 0 failed"), counts(5, 0, 0));
    }

    #[test]
    fn other_lines_add_nothing() {
        assert_eq!(of_line("test job::succeeds ... ok"), Counts::default());
        assert_eq!(of_line("3 passed the gate, 2 failed"), Counts::default());
    }
}
