//! Load: many submissions at once, as programs make them.
//!
//! Invariant: every submission is answered with success, or the run fails; nothing is sent twice. The generator is curl with
//! kept connections, the same for every side; it takes a few per cent of one core.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result, bail};
use squadron_e2e::command;

const MANIFEST: &str = "xtask/src/bench/rate/rate.yaml";
/// Connections that submit at the same time.
const AT_ONCE: &str = "8";

/// Where submissions go.
pub struct Target {
    pub url: String,
    /// Lines of a curl configuration: who asks and what is sent.
    pub options: String,
    /// Makes the request's body of a manifest.
    pub body: fn(&str) -> String,
}

/// Submits `count` jobs called `<prefix>-<number>` and returns when all are answered.
pub fn send(target: &Target, prefix: &str, count: u32, folder: &Path) -> Result<()> {
    let config = folder.join("curl.config");
    fs::create_dir_all(folder)?;
    fs::write(&config, configuration(target, prefix, count, folder)?)?;
    let mut curl = command::new("curl");
    curl.args(["-sS", "--parallel", "--parallel-max", AT_ONCE, "--config"]).arg(config);
    let codes = command::output(&mut curl)?;
    let good = codes.lines().filter(|code| code.starts_with('2')).count();
    if good != count as usize {
        bail!("{good} of {count} submissions were taken; the answers: {codes}");
    }
    Ok(())
}

fn configuration(target: &Target, prefix: &str, count: u32, folder: &Path) -> Result<String> {
    let manifest = fs::read_to_string(command::root().join(MANIFEST)).context("reading the manifest")?;
    let mut config = String::new();
    for number in 0..count {
        let body = folder.join(format!("{number}.body"));
        fs::write(&body, (target.body)(&manifest.replace("NAME", &format!("{prefix}-{number}"))))?;
        let next = if number > 0 { "next\n" } else { "" };
        writeln!(
            config,
            "{next}url = \"{}\"\n{}\ndata-binary = \"@{}\"\noutput = \"/dev/null\"\nwrite-out = \"%{{http_code}}\\n\"",
            target.url,
            target.options,
            body.display()
        )?;
    }
    Ok(config)
}
