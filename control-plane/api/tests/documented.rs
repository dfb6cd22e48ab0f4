//! docs/errors.md lists every error code with its status and name, and no code that does not exist.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, fs, path::Path};

use squadron_api::error::Code;

#[test]
fn every_code_is_documented_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let text = fs::read_to_string(path).unwrap();
    let documented: BTreeSet<String> =
        text.lines().filter(|line| line.starts_with("| SQD-")).map(first_columns).collect();
    let real: BTreeSet<String> =
        Code::ALL.iter().map(|code| format!("{} | {} | {code:?}", code.text(), code.status())).collect();
    assert_eq!(documented, real);
}

/// `SQD-1000 | 400 | BadRequest` of a row.
fn first_columns(row: &str) -> String {
    let columns: Vec<&str> = row.split('|').map(str::trim).collect();
    columns[1..4].join(" | ")
}
