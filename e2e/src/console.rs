//! The console in a real browser: Chromium looks at what the stage shows.
//!
//! Invariant: a page is compared with what the API says at that moment. Fails with what the browser test printed.

use std::process::Command;

use anyhow::Result;

use crate::{command, stage::Stage};

/// What a person should find on the console after a test did something to the fleet.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// The cluster is silent, and since when.
    Silent,
    /// The cluster has an alarm; the browser clears it.
    Alarm,
    /// The job's sentence, and what it waits for.
    Job,
    /// The token opens nothing.
    Token,
}

impl Told {
    fn word(self) -> &'static str {
        match self {
            Told::Silent => "silent",
            Told::Alarm => "alarm",
            Told::Job => "job",
            Told::Token => "token",
        }
    }
}

impl Stage {
    /// The browser tests of `web/` against this stage, signed in as its administrator.
    pub fn browser_tests(&self) -> Result<Command> {
        let mut npm = command::new("npm");
        npm.current_dir(command::root().join("web")).args(["run", "e2e"]);
        npm.env("SQUADRON_SERVER", self.server()).env("SQUADRON_TOKEN", self.token()?);
        Ok(npm)
    }

    /// Looks in Chromium whether the console tells it about this cluster, job or token.
    pub fn console_tells(&self, what: Told, about: &str) -> Result<()> {
        let mut npm = self.browser_tests()?;
        npm.env("SQUADRON_TOLD", what.word()).env("SQUADRON_ABOUT", about);
        command::capture(&mut npm)?.ok().map(drop)
    }
}
