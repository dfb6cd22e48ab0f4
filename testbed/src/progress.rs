//! Says on standard error what is being done and how long that usually takes.
//!
//! Invariant: one line when a step starts, one when it ends; a step that has nothing to do says nothing.

use std::time::Instant;

/// Tells about the steps of one subject: a cluster, a binary, an image.
#[derive(Clone, Debug)]
pub struct Progress {
    subject: String,
}

impl Progress {
    /// For the subject of this name.
    pub fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned() }
    }

    /// Announces the step, does it, and says how long it took.
    pub fn step<T, E>(&self, what: &str, usually: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.say(&format!("{what} (usually {usually})"));
        let start = Instant::now();
        let done = work()?;
        self.say(&format!("{what}: done in {:.1} s", start.elapsed().as_secs_f64()));
        Ok(done)
    }

    /// One line about the subject.
    pub fn say(&self, line: &str) {
        eprintln!("{:<12} {line}", self.subject);
    }
}
