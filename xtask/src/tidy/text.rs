//! Text: what a source file must open with and which words it may not hold.

/// Unfinished code, and code silenced without a reason. Split, so that this list does not find itself.
const UNFINISHED: &[&str] = &[
    concat!("to", "do!("),
    concat!("unim", "plemented!("),
    concat!("d", "bg!("),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("#[", "ignore"),
    concat!("allow(", "dead_code)"),
    concat!("allow(", "unused)"),
    concat!("allow(", "warnings)"),
];

/// Places that exist on one machine only, and the hosts of package registries.
const PLACES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/home/", "user"),
    concat!("proxy.", "golang.org"),
    concat!("sum.", "golang.org"),
    concat!("registry.", "npmjs.org"),
    concat!("index.", "crates.io"),
    concat!("files.", "pythonhosted.org"),
    concat!("pypi", ".org"),
    concat!("deb.", "debian.org"),
];

/// Written by tools that put registry hosts into them.
const LOCK_FILES: &[&str] = &["Cargo.lock"];

/// Findings on one file.
pub fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if path.ends_with(".rs") && !opens_with_docs(text) {
        findings.push(format!(
            "{path}:1: a Rust file opens with `//!`: what it owns, its invariant, how it fails"
        ));
    }
    if LOCK_FILES.contains(&path) {
        return findings;
    }
    for (number, line) in (1..).zip(text.lines()) {
        let unfinished = UNFINISHED.iter().filter(|_| is_code(path)).find(|word| line.contains(**word));
        findings.extend(unfinished.map(|word| format!("{path}:{number}: `{word}` may not stay in the tree")));
        let place = PLACES.iter().find(|place| line.contains(**place));
        findings.extend(
            place.map(|place| format!("{path}:{number}: `{place}` is a place of one machine or a registry")),
        );
    }
    findings
}

fn opens_with_docs(text: &str) -> bool {
    text.lines().map(str::trim).find(|line| !line.is_empty()).is_some_and(|line| line.starts_with("//!"))
}

fn is_code(path: &str) -> bool {
    [".rs", ".ts", ".tsx", ".mjs", ".js", ".sh", ".sql", ".proto", ".css", ".py", ".go"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_file_without_module_docs_is_a_finding() {
        assert_eq!(check("a.rs", "\n//! Owns a.\nfn a() {}\n"), Vec::<String>::new());
        assert_eq!(check("a.rs", "// Not docs.\n").len(), 1);
    }

    #[test]
    fn unfinished_code_is_found_with_its_line() {
        let text = format!("//! Owns a.\nfn a() {{ {}) }}\n", UNFINISHED[0]);
        assert!(check("a.rs", &text)[0].starts_with("a.rs:2: "));
        assert!(check("notes.md", &text).is_empty());
    }

    #[test]
    fn machine_paths_are_found_in_every_kind_of_file() {
        assert_eq!(check("README.md", &format!("see {}x\n", PLACES[0])).len(), 1);
        assert_eq!(check("Cargo.lock", &format!("source = \"{}\"\n", PLACES[5])).len(), 0);
    }
}
