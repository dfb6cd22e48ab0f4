//! Screen: makes the bytes of a log safe for a terminal.
//!
//! A pipe gets the bytes as they are. A terminal gets text: bytes that are no UTF-8 become a replacement mark, colours
//! pass, every other escape sequence (title, cursor, clipboard) is dropped. Sequences and characters that are split
//! between two chunks are put together again.

/// State between two chunks.
#[derive(Debug, Default)]
pub struct Screen {
    pending: Vec<u8>,
    escape: Escape,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// ESC was seen.
    Begun,
    /// `ESC [` and its parameters so far.
    Control(String),
    /// A string sequence (OSC, DCS, …) until BEL or ESC `\`.
    Text { after_esc: bool },
}

/// Longer parameters are no colour.
const LONGEST_COLOUR: usize = 40;

impl Screen {
    /// What of `chunk` may be written now.
    pub fn tame(&mut self, chunk: &[u8]) -> String {
        self.pending.extend_from_slice(chunk);
        let mut text = String::new();
        let bytes = std::mem::take(&mut self.pending);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    self.pass(valid, &mut text);
                    break;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    self.pass(&String::from_utf8_lossy(valid), &mut text);
                    let Some(length) = error.error_len() else {
                        self.pending = bad.to_vec();
                        break;
                    };
                    text.push('\u{fffd}');
                    rest = &bad[length..];
                }
            }
        }
        text
    }

    fn pass(&mut self, valid: &str, text: &mut String) {
        for c in valid.chars() {
            self.step(c, text);
        }
    }

    fn step(&mut self, c: char, text: &mut String) {
        self.escape = match (std::mem::take(&mut self.escape), c) {
            (Escape::None, '\u{1b}') => Escape::Begun,
            (Escape::None, '\n' | '\r' | '\t') => {
                text.push(c);
                Escape::None
            }
            (Escape::None, c) => {
                text.extend((!c.is_control()).then_some(c));
                Escape::None
            }
            (Escape::Begun, '[') => Escape::Control(String::new()),
            (Escape::Begun, ']' | 'P' | 'X' | '^' | '_') => Escape::Text { after_esc: false },
            (Escape::Begun, '\u{1b}') => Escape::Begun,
            (Escape::Begun, _) => Escape::None,
            (Escape::Control(parameters), c) => control(parameters, c, text),
            (Escape::Text { after_esc: true }, '\\') | (Escape::Text { .. }, '\u{7}') => Escape::None,
            (Escape::Text { .. }, c) => Escape::Text { after_esc: c == '\u{1b}' },
        };
    }
}

/// Inside `ESC [`: parameters go on, `m` ends a colour, any other letter ends something else.
fn control(mut parameters: String, c: char, text: &mut String) -> Escape {
    match c {
        'm' if parameters.len() <= LONGEST_COLOUR => {
            text.push_str(&format!("\u{1b}[{parameters}m"));
            Escape::None
        }
        '0'..='9' | ';' | ':' => {
            if parameters.len() <= LONGEST_COLOUR {
                parameters.push(c);
            }
            Escape::Control(parameters)
        }
        '\u{20}'..='\u{3f}' => Escape::Control("x".repeat(LONGEST_COLOUR + 1)),
        '\u{1b}' => Escape::Begun,
        _ => Escape::None,
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;

    fn tame(chunks: &[&[u8]]) -> String {
        let mut screen = Screen::default();
        chunks.iter().map(|chunk| screen.tame(chunk)).collect()
    }

    #[test]
    fn invalid_bytes_never_stop_the_log() {
        assert_eq!(tame(&[b"a\xff\xfeb\n"]), "a\u{fffd}\u{fffd}b\n");
    }

    #[test]
    fn character_split_between_chunks_is_whole_again() {
        assert_eq!(tame(&[b"caf\xc3", b"\xa9\n"]), "café\n");
        assert_eq!(tame(&[b"\xc3", b"x"]), "\u{fffd}x");
    }

    #[test]
    fn colours_pass_and_everything_else_is_dropped() {
        assert_eq!(tame(&[b"\x1b[36m(pid=1)\x1b[0m hi"]), "\u{1b}[36m(pid=1)\u{1b}[0m hi");
        assert_eq!(tame(&[b"\x1b]0;owned\x07\x1b[2J\x1b[1;1Hok\x08"]), "ok");
        assert_eq!(tame(&[b"\x1b]52;c;ZXZpbA==\x1b", b"\\ok"]), "ok");
        assert_eq!(tame(&[b"\x1b", b"[3", b"1mred"]), "\u{1b}[31mred");
        assert_eq!(tame(&[b"\x1b[?25lok\x1bcok"]), "okok");
    }

    #[test]
    fn string_sequence_without_end_swallows_nothing_visible_but_itself() {
        assert_eq!(tame(&[b"\x1b]0;title\x1b\\after\n"]), "after\n");
    }
}
