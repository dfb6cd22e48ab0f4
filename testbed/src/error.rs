//! What can go wrong in the testbed: which step, on which thing, and what to do next.
//!
//! Owns the only error type of the crate. Invariant: the text is one sentence with the step and the thing; the cause
//! is in `source()`. Repaired by the person who reads it: every variant that they can act on names the next step.

use std::path::{Path, PathBuf};

/// The result of every step of the testbed.
pub type Result<T> = std::result::Result<T, Error>;

/// A step that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request itself cannot be carried out; the text says why and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// A file or folder could not be read, written or removed.
    #[error("cannot {step} {}", path.display())]
    File { step: &'static str, path: PathBuf, source: std::io::Error },
    /// A program could not be started at all.
    #[error("cannot start `{program}` to {step}; `squadron-testbed install` installs what is missing")]
    Start { program: String, step: String, source: std::io::Error },
    /// A program ran and said that it failed.
    #[error("could not {step}: `{program}` ended with {status}: {said}")]
    Failed { program: String, step: String, status: String, said: String },
    /// Something did not become true in its time.
    #[error("{what} did not happen within {seconds} s; {hint}")]
    Late { what: String, seconds: u64, hint: String },
    /// A daemon ended while the testbed waited for it.
    #[error("{component} of cluster {cluster} ended while it was starting; see {}", log.display())]
    Died { component: String, cluster: String, log: PathBuf },
    /// A file of the testbed does not hold what the testbed wrote.
    #[error("{} is not valid JSON; move it away and run the command again", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    /// A program answered with something else than JSON.
    #[error("the answer to \"{step}\" was not the JSON that was expected")]
    Answer { step: String, source: serde_json::Error },
    /// A certificate could not be made.
    #[error("cannot make the certificate {name}")]
    Certificate { name: String, source: rcgen::Error },
}

/// Attaches the step and the path to an I/O error.
pub trait AtPath<T> {
    /// Says what was being done with which path.
    fn at(self, step: &'static str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at(self, step: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::File { step, path: path.to_path_buf(), source })
    }
}

/// The error and all its causes as one line, the outermost first.
pub fn sentence(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
