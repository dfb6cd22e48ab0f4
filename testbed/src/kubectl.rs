//! Asks a cluster through kubectl, with the administrator's kubeconfig.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::program;

/// kubectl for one cluster.
#[derive(Clone, Debug)]
pub struct Kubectl {
    /// The program.
    pub program: PathBuf,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
}

impl Kubectl {
    /// A command to which the words are still to be added.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).arg("--request-timeout=20s");
        command
    }

    /// Runs the words and gives the answer as text.
    pub fn run(&self, step: &str, words: &[&str]) -> Result<String> {
        program::run(step, self.command().args(words))
    }

    /// Runs `get` and gives the answer as JSON.
    pub fn get(&self, step: &str, words: &[&str]) -> Result<Value> {
        self.json(step, self.command().arg("get").args(words).args(["-o", "json"]))
    }

    /// The version that the API server says, such as `v1.34.4`.
    pub fn server_version(&self) -> Result<String> {
        let step = "ask for the version";
        let answer = self.json(step, self.command().args(["get", "--raw=/version"]))?;
        Ok(answer["gitVersion"].as_str().unwrap_or_default().to_owned())
    }

    fn json(&self, step: &str, command: &mut Command) -> Result<Value> {
        let text = program::run(step, command)?;
        serde_json::from_str(&text).map_err(|source| Error::Answer { step: step.to_owned(), source })
    }

    /// Applies objects on the server's side.
    pub fn apply(&self, step: &str, manifest: &str) -> Result<()> {
        let mut command = self.command();
        command.args(["apply", "--server-side", "--force-conflicts", "-f", "-"]);
        program::feed(step, &mut command, manifest).map(|_| ())
    }
}
