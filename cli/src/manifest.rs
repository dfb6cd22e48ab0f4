//! Manifest: reads a RayJob from a file or stdin and checks it with the code that the server runs.

use std::{
    fs::File,
    io::{self, Read},
};

use squadron_api::error::FieldProblem;
use squadron_core::job::marks;
use squadron_ray::{
    manifest::{FieldError, LONGEST_MANIFEST, ParsedRayJob, SHORTEN, documents, parse, too_long},
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
        let shown = shown(path);
        Manifest::check(read_text(path, shown, LONGEST_MANIFEST)?, shown)
    }

    /// The same for a text of any number of documents.
    pub fn read_all(path: &str) -> Result<Vec<Manifest>, Failure> {
        let shown = shown(path);
        let text = read_text(path, shown, LONGEST_SWEEP)?;
        match documents(&text).as_slice() {
            [] | [_] => Ok(vec![Manifest::check(text, shown)?]),
            many => Manifest::check_all(many, shown),
        }
    }

    fn check(text: String, shown: &str) -> Result<Manifest, Failure> {
        if let Some(problem) = too_long(text.len() as u64) {
            return Err(too_large(shown, &problem));
        }
        match parse(&text) {
            Ok(parsed) => Ok(Manifest { text, parsed }),
            Err(errors) => {
                let number = count(errors.len(), "problem");
                Err(refused(format!("{shown} is no valid RayJob ({number}); nothing was sent"), "", errors))
            }
        }
    }

    fn check_all(documents: &[&str], shown: &str) -> Result<Vec<Manifest>, Failure> {
        let mut good = Vec::with_capacity(documents.len());
        for (number, text) in (1..).zip(documents) {
            let parsed = parse(text).map_err(|errors| {
                let what = format!(
                    "document {number} of {} in {shown} is no valid RayJob ({}); nothing was sent",
                    documents.len(),
                    count(errors.len(), "problem")
                );
                refused(what, &format!("document {number}: "), errors)
            })?;
            good.push(Manifest { text: (*text).to_owned(), parsed });
        }
        Ok(good)
    }

    /// Reads a queue's template, which is a RayJob without an entrypoint, and checks it.
    pub fn read_template(path: &str) -> Result<String, Failure> {
        let shown = shown(path);
        let text = read_text(path, shown, LONGEST_MANIFEST)?;
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

/// Bytes of a text of many documents, at most.
const LONGEST_SWEEP: usize = 64 << 20;

fn shown(path: &str) -> &str {
    if path == "-" { "stdin" } else { path }
}

fn refused(what: String, of: &str, errors: Vec<FieldError>) -> Failure {
    let field =
        |error: FieldError| FieldProblem { path: format!("{of}{}", error.path), problem: error.problem };
    Failure::usage(what)
        .fields(errors.into_iter().map(field).collect())
        .next("correct the fields above and submit again")
}

fn too_large(shown: &str, problem: &str) -> Failure {
    Failure::usage(format!("{shown} {problem}; nothing was sent")).next(SHORTEN)
}

fn read_text(path: &str, shown: &str, most: usize) -> Result<String, Failure> {
    let read = match path {
        "-" => read_bounded(io::stdin().lock(), most),
        path => File::open(path).and_then(|file| read_bounded(file, most)),
    };
    let (bytes, size) = read.map_err(|error| {
        Failure::usage(format!("cannot read {shown}"))
            .because(error)
            .next("give a file with one RayJob, or - for stdin")
    })?;
    if size > most as u64 {
        let problem = too_long(size).unwrap_or_default();
        return Err(too_large(shown, &problem));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("{shown} is no UTF-8 text")).because(error))
}

/// What of the input is taken, and how many bytes there are in all.
fn read_bounded(mut input: impl Read, most: usize) -> io::Result<(Vec<u8>, u64)> {
    let mut bytes = Vec::new();
    input.by_ref().take(most as u64).read_to_end(&mut bytes)?;
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
    fn many_documents_are_many_manifests_and_the_wrong_one_is_named() {
        let one = include_str!("../tests/rayjob.yaml");
        let (_folder, path) = file(&format!("# a sweep\n---\n{one}\n---\n{one}"));
        let manifests = Manifest::read_all(&path).unwrap();
        assert_eq!(manifests.len(), 2);
        assert_eq!(manifests[1].text, format!("\n{one}"));
        let (_folder, path) = file(&format!("{one}\n---\nkind: Pod\n---\n{one}"));
        let said = Manifest::read_all(&path).unwrap_err().lines();
        assert!(said.contains("document 2 of 3 in") && said.contains("document 2: kind"), "{said}");
        let (_folder, path) = file(one);
        assert_eq!(Manifest::read_all(&path).unwrap()[0].text, one);
        assert!(Manifest::read(&file(&format!("{one}\n---\n{one}")).1).is_err(), "one is asked for");
    }

    #[test]
    fn absent_file_is_named() {
        let failure = Manifest::read("/nonexistent/job.yaml").unwrap_err();
        assert!(failure.lines().contains("cannot read /nonexistent/job.yaml"), "{}", failure.lines());
    }
}
