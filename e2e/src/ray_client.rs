//! Ray's own client: an unmodified Ray from the Python package index, in a virtual environment of its own.
//!
//! Invariant: nothing of it is changed; it finds the control plane by its documented flags and environment alone. The
//! environment is made once and kept beside the built programs.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use crate::{
    command::{self, Ran},
    program::Program,
    stage::Stage,
};

const PACKAGE: &str = "ray[default]==2.60.0";

/// The client, talking to one stage as its administrator.
pub struct RayClient<'a> {
    stage: &'a Stage,
    folder: PathBuf,
}

impl<'a> RayClient<'a> {
    /// Installs it unless that was done before.
    pub fn ensure(stage: &'a Stage) -> Result<RayClient<'a>> {
        let built = Program::Cli.path();
        let folder = built.with_file_name("ray-client");
        let done = folder.join("installed");
        if !done.exists() {
            command::run(command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
            command::run(command::new(folder.join("bin/pip")).args(["install", "--quiet", PACKAGE]))?;
            std::fs::write(done, PACKAGE)?;
        }
        Ok(RayClient { stage, folder })
    }

    /// Runs `ray job VERB ARGS`, whatever its end is.
    pub fn job(&self, verb: &str, args: &[&str]) -> Result<Ran> {
        let mut ray = self.program("bin/ray")?;
        let ca = self.stage.data().join("tls/ca.crt");
        ray.args(["job", verb, "--address", &self.stage.server(), "--verify"]).arg(ca).args(args);
        command::capture(&mut ray)
    }

    /// Runs a Python script in which `client` is a `JobSubmissionClient`.
    pub fn script(&self, script: &str) -> Result<Ran> {
        let ca = self.stage.data().join("tls/ca.crt");
        let head = format!(
            "from ray.job_submission import JobSubmissionClient\nclient = JobSubmissionClient({:?}, verify={:?})\n",
            self.stage.server(),
            ca.display().to_string()
        );
        command::capture(self.program("bin/python")?.args(["-c", &format!("{head}{script}")]))
    }

    fn program(&self, path: &str) -> Result<Command> {
        let mut program = command::new(self.folder.join(path));
        program.env("RAY_AUTH_MODE", "token").env("RAY_AUTH_TOKEN", self.stage.token()?);
        program.env("RAY_LOG_TO_STDERR", "1").env("NO_COLOR", "1");
        Ok(program)
    }
}
