//! Tidy: the house rules that a program can check.
//!
//! Owns the rules on arrows between crates, on the text of source files and on words that have no place in the
//! tree. Every finding names file, line and rule; one finding fails the run. Sizes are printed for a reader to judge.

mod arrows;
mod shape;
mod text;

use anyhow::{Result, bail};

use crate::repo;

/// Checks everything; prints each finding and the largest files and functions.
pub fn run() -> Result<()> {
    let mut findings = arrows::check()?;
    let files = repo::files()?;
    let mut sizes = shape::Sizes::default();
    for path in &files {
        let text = repo::text(path)?;
        findings.extend(text::check(path, &text));
        findings.extend(shape::check(path, &text));
        sizes.add(path, &text);
    }
    sizes.print();
    for finding in &findings {
        println!("tidy: {finding}");
    }
    if !findings.is_empty() {
        bail!("tidy found {} things to put right", findings.len());
    }
    println!("tidy: {} files, nothing to put right", files.len());
    Ok(())
}
