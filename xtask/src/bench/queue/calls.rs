//! Calls of the API, one after another on one connection, with curl's own times.
//!
//! Invariant: every call is answered with success, or the run fails.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use squadron_e2e::command;

const MANIFEST: &str = "xtask/src/bench/rate/rate.yaml";

/// An administrator's access to a control plane.
pub struct Api {
    url: String,
    ca: PathBuf,
    token: String,
    folder: PathBuf,
}

impl Api {
    /// `folder` is for files of the calls.
    pub fn new(data: &Path, port: u16, folder: &Path) -> Result<Api> {
        let token = fs::read_to_string(data.join("admin.token"))?.trim().to_owned();
        let (url, ca) = (format!("https://localhost:{port}"), data.join("tls/ca.crt"));
        Ok(Api { url, ca, token, folder: folder.to_owned() })
    }

    /// One answer's text.
    pub fn get(&self, path: &str) -> Result<String> {
        let mut curl = command::new("curl");
        curl.args(["-sSf", "--cacert"])
            .arg(&self.ca)
            .arg("-H")
            .arg(format!("authorization: Bearer {}", self.token));
        command::output(curl.arg(format!("{}{path}", self.url)))
    }

    /// How long each of these takes.
    pub fn time(&self, paths: impl Iterator<Item = String>) -> Result<Times> {
        self.run(&paths.map(|path| format!("url = \"{}{path}\"\n", self.url)).collect::<Vec<_>>())
    }

    /// How long each of so many submissions takes.
    pub fn submit(&self, count: u32) -> Result<Times> {
        let manifest = fs::read_to_string(command::root().join(MANIFEST)).context("reading the manifest")?;
        let mut calls = Vec::new();
        for number in 0..count {
            let manifest = manifest.replace("NAME", &format!("submitted-{number}"));
            let body = self.folder.join(format!("{number}.body"));
            let json = serde_json::json!({ "manifest": manifest, "queue": format!("q{}", 1 + number % 20) });
            fs::write(&body, json.to_string())?;
            let data = format!(
                "data-binary = \"@{}\"\nheader = \"content-type: application/json\"\n",
                body.display()
            );
            calls.push(format!("url = \"{}/api/v1/jobs\"\n{data}", self.url));
        }
        self.run(&calls)
    }

    fn run(&self, calls: &[String]) -> Result<Times> {
        let mut config = String::new();
        for (number, call) in calls.iter().enumerate() {
            let next = if number > 0 { "next\n" } else { "" };
            writeln!(
                config,
                "{next}{call}cacert = \"{}\"\nheader = \"authorization: Bearer {}\"\noutput = \"/dev/null\"\n\
                 write-out = \"%{{http_code}} %{{time_total}}\\n\"",
                self.ca.display(),
                self.token
            )?;
        }
        let file = self.folder.join("curl.config");
        fs::write(&file, config)?;
        let answers = command::output(command::new("curl").arg("-sS").arg("--config").arg(&file))?;
        read(&answers)
    }
}

fn read(answers: &str) -> Result<Times> {
    let mut seconds = Vec::new();
    for line in answers.lines() {
        match line.split_once(' ') {
            Some((code, time)) if code.starts_with('2') => seconds.push(time.parse()?),
            _ => bail!("a call was answered with {line:?}"),
        }
    }
    Times::new(seconds).context("no call was answered")
}

/// Seconds of many calls, at least one.
pub struct Times(Vec<f64>);

impl Times {
    /// `None` without any.
    pub fn new(mut seconds: Vec<f64>) -> Option<Times> {
        seconds.sort_by(f64::total_cmp);
        (!seconds.is_empty()).then_some(Times(seconds))
    }

    /// The middle, the ninety-ninth of a hundred and the longest, in milliseconds.
    pub fn millis(&self) -> [f64; 3] {
        let last = self.0.len() - 1;
        let at =
            |percent: usize| self.0[(self.0.len() * percent).div_ceil(100).clamp(1, last + 1) - 1] * 1_000.0;
        [at(50), at(99), self.0[last] * 1_000.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ranks_of_what_was_answered() {
        let answers: String = (1..=200).map(|n| format!("200 {}\n", f64::from(n) / 1_000.0)).collect();
        assert_eq!(read(&answers).unwrap().millis().map(f64::round), [100.0, 198.0, 200.0]);
        assert!(read("200 0.1\n503 0.2\n").is_err() && read("").is_err());
    }
}
