//! Manifest: reads a RayJob from a file or stdin and checks it with the code that the server runs.

use std::{
    fs::File,
    io::{self, Read},
};

use squadron_api::error::FieldProblem;
use squadron_core::job::marks;
use squadron_ray::{
    manifest::{LONGEST_MANIFEST, ParsedRayJob, SHORTEN, parse, too_long},
    submission::check_template,
};

use crate::{failure::Failure, render::count};

/// A manifest that passed every check that needs no cluster.
#[derive(Debug)]
pub struct Manifest {
    /// As it was written; this is what is sent.
    pub text: String,
    pub parsed: ParsedRayJob,
}

impl Manifest {
    /// Reads `path`, or stdin for `-`, and checks it. Everything that is wrong is reported together.
    pub fn read(path: &str) -> Result<Manifest, Failure> {
        let shown = if path == "-" { "stdin" } else { path };
        let text = read_text(path, shown)?;
        match parse(&text) {
            Ok(parsed) => Ok(Manifest { text, parsed }),
            Err(errors) => {
                let number = count(errors.len(), "problem");
                let fields =
                    errors.into_iter().map(|error| FieldProblem { path: error.path, problem: error.problem });
                Err(Failure::usage(format!("{shown} is no valid RayJob ({number}); nothing was sent"))
                    .fields(fields.collect())
                    .next("correct the fields above and submit again"))
            }
        }
    }

    /// Reads a queue's template, which is a RayJob without an entrypoint, and checks it.
    pub fn read_template(path: &str) -> Result<String, Failure> {
        let shown = if path == "-" { "stdin" } else { path };
        let text = read_text(path, shown)?;
        check_template(&text).map_err(|errors| {
            let number = count(errors.len(), "problem");
            let fields =
                errors.into_iter().map(|error| FieldProblem { path: error.path, problem: error.problem });
            Failure::usage(format!("{shown} is no valid template ({number}); nothing was sent"))
                .fields(fields.collect())
                .next("correct the fields above and set it again")
        })?;
        Ok(text)
    }

    /// The queue that the manifest's own label names; labels write `/` as `.`.
    pub fn queue(&self) -> Option<String> {
        self.parsed.labels.get(marks::QUEUE).map(|queue| queue.replace('.', "/"))
    }
}

/// Bytes that are counted of a text that is too long; it may have no end.
const MOST_COUNTED: u64 = 1 << 30;

fn read_text(path: &str, shown: &str) -> Result<String, Failure> {
    let read = match path {
        "-" => read_bounded(io::stdin().lock()),
        path => File::open(path).and_then(read_bounded),
    };
    let (bytes, size) = read.map_err(|error| {
        Failure::usage(format!("cannot read {shown}"))
            .because(error)
            .next("give a file with one RayJob, or - for stdin")
    })?;
    if let Some(problem) = too_long(size) {
        return Err(Failure::usage(format!("{shown} {problem}; nothing was sent")).next(SHORTEN));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("{shown} is no UTF-8 text")).because(error))
}

/// What fits into a manifest, and how many bytes there are in all.
fn read_bounded(mut input: impl Read) -> io::Result<(Vec<u8>, u64)> {
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_MANIFEST as u64).read_to_end(&mut bytes)?;
    let more = io::copy(&mut input.take(MOST_COUNTED), &mut io::sink())?;
    let size = bytes.len() as u64 + more;
    Ok((bytes, size))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.yaml");
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap().to_owned();
        (folder, path)
    }

    #[test]
    fn what_is_no_manifest_is_refused_before_anything_is_sent() {
        let (_folder, path) = file("kind: [");
        let failure = Manifest::read(&path).unwrap_err();
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
        assert!(failure.lines().contains("nothing was sent"), "{}", failure.lines());
    }

    #[test]
    fn manifest_that_the_server_would_not_take_is_refused_with_size_and_limit() {
        let comment = format!("{}\n", "#".repeat(1023));
        let (_folder, path) = file(&comment.repeat(300));
        let failure = Manifest::read(&path).unwrap_err();
        assert_eq!(failure.exit, crate::exit::Exit::Usage);
        let said = failure.lines();
        assert!(said.contains("job.yaml is 300 KiB long, and a manifest may have 256 KiB at most"), "{said}");
        assert!(said.contains("nothing was sent"), "{said}");
        let (_folder, path) = file(&comment.repeat(256));
        let within = Manifest::read(&path).unwrap_err().lines();
        assert!(within.contains("is no valid RayJob") && !within.contains("KiB"), "{within}");
    }

    #[test]
    fn absent_file_is_named() {
        let failure = Manifest::read("/nonexistent/job.yaml").unwrap_err();
        assert!(failure.lines().contains("cannot read /nonexistent/job.yaml"), "{}", failure.lines());
    }
}
