//! Manifest: reads a RayJob from a file or stdin and checks it with the code that the server runs.

use std::{
    fs::File,
    io::{self, Read},
};

use squadron_api::error::FieldProblem;
use squadron_core::job::marks;
use squadron_ray::{
    manifest::{LONGEST_MANIFEST, ParsedRayJob, parse},
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

fn read_text(path: &str, shown: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = LONGEST_MANIFEST as u64 + 1;
    let read = match path {
        "-" => io::stdin().lock().take(limit).read_to_end(&mut bytes),
        path => File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read {shown}"))
            .because(error)
            .next("give a file with one RayJob, or - for stdin")
    })?;
    String::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("{shown} is no UTF-8 text")).because(error))
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
    fn absent_file_is_named() {
        let failure = Manifest::read("/nonexistent/job.yaml").unwrap_err();
        assert!(failure.lines().contains("cannot read /nonexistent/job.yaml"), "{}", failure.lines());
    }
}
