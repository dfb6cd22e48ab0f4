//! Stream: a text of several YAML documents, taken apart without reading them.
//!
//! Invariant: a line that begins with `---` or `...` ends a document wherever it stands, as YAML has it, so each part can be read,
//! sent and told of alone, as it was written. Documents without anything but comments are left out.

/// The documents of `text`, in their order.
pub fn documents(text: &str) -> Vec<&str> {
    let (mut found, mut begun, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if is_marker(line) {
            found.push(&text[begun..at]);
            // What stands behind a marker on its line belongs to the next document.
            begun = at + 3;
        }
        at += line.len();
    }
    found.push(&text[begun..]);
    found.retain(|document| says_something(document));
    found
}

fn is_marker(line: &str) -> bool {
    let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
    rest.is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

fn says_something(document: &str) -> bool {
    let mut lines = document.lines().map(str::trim);
    lines.any(|line| !line.is_empty() && !line.starts_with(['#', '%']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_stands_alone_and_empty_ones_are_left_out() {
        let text =
            "%YAML 1.2\n# a sweep\n---\na: 1\n---\n---  # two\nb: |\n  ---\n  x\n...\n--- {c: 3}\n----: 4\n";
        assert_eq!(documents(text), ["\na: 1\n", "  # two\nb: |\n  ---\n  x\n", " {c: 3}\n----: 4\n"]);
        assert_eq!(documents("a: 1"), ["a: 1"]);
        assert_eq!(documents("a: 1\r\n---\r\nb: 2\r\n"), ["a: 1\r\n", "\r\nb: 2\r\n"]);
        assert_eq!(documents("# nothing\n---\n"), [""; 0]);
    }
}
