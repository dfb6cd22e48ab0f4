//! Fit: long lines on a narrow terminal. Text that goes to a pipe is never touched.

/// Breaks lines at spaces so that none is wider than `width`; what follows stands under the last column.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width >= 40) else { return text.to_owned() };
    text.lines().map(|line| format!("{}\n", wrap_line(line, width))).collect()
}

/// Cuts lines that are wider than `width`, with a mark.
pub fn clipped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width >= 40) else { return text.to_owned() };
    let clip = |line: &str| match visible(line) > width {
        true => format!("{}…", cut(line, width - 1)),
        false => line.to_owned(),
    };
    text.lines().map(|line| clip(line) + "\n").collect()
}

fn wrap_line(line: &str, width: usize) -> String {
    if visible(line) <= width {
        return line.to_owned();
    }
    let indent = hanging_indent(line, width);
    let (mut done, mut current) = (String::new(), String::new());
    for word in line.split_inclusive(' ') {
        let fits = visible(&current) + visible(word.trim_end()) <= width;
        if !fits && visible(current.trim()) > 0 {
            done.push_str(&format!("{}\n", current.trim_end()));
            current = " ".repeat(indent);
        }
        current.push_str(word);
    }
    done + current.trim_end()
}

/// The column behind the last wide gap in the left half of the line, or behind its own indent.
fn hanging_indent(line: &str, width: usize) -> usize {
    let (mut column, mut spaces, mut indent) = (0, 0, 0);
    for c in without_escapes(line) {
        if c != ' ' && (spaces >= 2 || column == spaces) && column <= width / 2 {
            indent = column;
        }
        spaces = if c == ' ' { spaces + 1 } else { 0 };
        column += 1;
    }
    indent
}

/// Characters that take a place on the screen.
fn visible(text: &str) -> usize {
    without_escapes(text).count()
}

/// The characters of `text` without our own colour sequences.
fn without_escapes(text: &str) -> impl Iterator<Item = char> {
    let mut inside = false;
    text.chars().filter(move |c| match (*c, inside) {
        ('\u{1b}', _) => {
            inside = true;
            false
        }
        ('m', true) => {
            inside = false;
            false
        }
        (_, inside) => !inside,
    })
}

/// The first `width` visible characters; colours that were begun are ended.
fn cut(line: &str, width: usize) -> String {
    let (mut seen, mut inside, mut coloured) = (0, false, false);
    let mut kept: String = line
        .chars()
        .take_while(|c| {
            match (*c, inside) {
                ('\u{1b}', _) => (inside, coloured) = (true, true),
                ('m', true) => inside = false,
                (_, true) => {}
                (_, false) => seen += 1,
            }
            seen <= width
        })
        .collect();
    if coloured {
        kept.push_str("\u{1b}[0m");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentence_goes_on_under_its_own_column() {
        let line = "  19:39:12  +2 s  job  assigned to east because it has room for the job\n";
        insta::assert_snapshot!(wrapped(line, Some(50)), @"
        19:39:12  +2 s  job  assigned to east because it
                             has room for the job
        ");
        assert_eq!(wrapped(line, None), line);
    }

    #[test]
    fn colours_take_no_room_and_never_leak() {
        let line = format!("\u{1b}[31mfailed\u{1b}[0m {}\n", "x".repeat(33));
        assert_eq!(clipped(&line, Some(40)), line);
        assert_eq!(clipped("\u{1b}[31mabc\u{1b}[0m", Some(40)), "\u{1b}[31mabc\u{1b}[0m\n");
        let clip = clipped(&format!("\u{1b}[31m{}\u{1b}[0m", "y".repeat(50)), Some(40));
        assert_eq!(clip, format!("\u{1b}[31m{}\u{1b}[0m…\n", "y".repeat(39)));
    }

    #[test]
    fn word_without_a_break_stays_whole() {
        let line = "z".repeat(70);
        assert_eq!(wrapped(&line, Some(50)), format!("{line}\n"));
    }
}
