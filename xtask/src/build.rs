//! Build: the web console and the programs, each once, into the folders that everything else uses.

use anyhow::Result;
use squadron_e2e::{command, program};

use crate::repo;

/// npm in web/.
pub fn npm(args: &[&str]) -> std::process::Command {
    let mut npm = command::new("npm");
    npm.current_dir(command::root().join("web")).args(args);
    npm
}

/// Installs what the console is built with, unless that was done for the same lock file.
pub fn web_packages() -> Result<()> {
    let stamp = command::root().join("web/node_modules/.installed-for");
    let wanted = repo::text("web/package-lock.json")?;
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    command::run(&mut npm(&["ci", "--no-audit", "--no-fund"]))?;
    Ok(std::fs::write(stamp, wanted)?)
}

/// Builds the console to web/dist, from where the control plane embeds it.
pub fn web() -> Result<()> {
    web_packages()?;
    command::run(&mut npm(&["run", "build"]))
}

/// The same, unless nothing of the console changed since: release programs embed it and would be built anew.
pub fn web_if_changed() -> Result<()> {
    let written = |path: &str| command::root().join(path).metadata().and_then(|found| found.modified());
    let Ok(built) = written("web/dist/index.html") else { return web() };
    let sources = repo::files()?.into_iter().filter(|path| path.starts_with("web/"));
    if sources.map(|path| written(&path)).collect::<Result<Vec<_>, _>>()?.into_iter().any(|time| time > built)
    {
        return web();
    }
    Ok(())
}

/// Builds all programs of the workspace.
pub fn programs() -> Result<()> {
    let profile: &[&str] = if program::is_release() { &["--release"] } else { &[] };
    command::run(command::new("cargo").args(["build", "--locked", "--workspace", "--bins"]).args(profile))
}
