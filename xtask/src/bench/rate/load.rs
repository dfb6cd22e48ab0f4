//! Load: many submissions at once, through the API as programs make them.
//!
//! Invariant: every submission is answered with success, or the run fails; nothing is sent twice. The generator is curl with
//! kept connections; it takes a few per cent of one core.

use std::{fmt::Write, fs, path::PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;
use squadron_e2e::{command, stage::Stage};

const MANIFEST: &str = "xtask/src/bench/rate/rate.yaml";
/// Connections that submit at the same time.
const AT_ONCE: &str = "8";

/// Submits jobs called `<prefix>-<number>`.
pub struct Load<'a> {
    pub stage: &'a Stage,
    pub prefix: String,
    pub folder: PathBuf,
}

impl Load<'_> {
    /// Sends `count` submissions and returns when all are answered.
    pub fn send(&self, count: u32) -> Result<()> {
        let config = self.config(count)?;
        let mut curl = command::new("curl");
        curl.args(["-sS", "--parallel", "--parallel-max", AT_ONCE, "--config"]).arg(config);
        let codes = command::output(&mut curl)?;
        let good = codes.lines().filter(|code| code.starts_with('2')).count();
        if good != count as usize {
            bail!("{good} of {count} submissions were taken; the answers: {codes}");
        }
        Ok(())
    }

    fn config(&self, count: u32) -> Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        let manifest = fs::read_to_string(command::root().join(MANIFEST)).context("reading the manifest")?;
        let (token, ca) = (self.stage.token()?, self.stage.data().join("tls/ca.crt"));
        let mut config = String::new();
        for number in 0..count {
            let body = self.folder.join(format!("{number}.json"));
            let named = manifest.replace("NAME", &format!("{}-{number}", self.prefix));
            fs::write(&body, json!({"manifest": named, "queue": "default"}).to_string())?;
            if number > 0 {
                config.push_str("next\n");
            }
            writeln!(
                config,
                "url = \"{}/api/v1/jobs\"\ncacert = \"{}\"\nheader = \"authorization: Bearer {token}\"\n\
                 header = \"content-type: application/json\"\ndata = \"@{}\"\noutput = \"/dev/null\"\n\
                 write-out = \"%{{http_code}}\\n\"",
                self.stage.server(),
                ca.display(),
                body.display()
            )?;
        }
        let path = self.folder.join("curl.config");
        fs::write(&path, config)?;
        Ok(path)
    }
}
