//! Generated files: written by our own programs, checked in, never edited by hand.
//!
//! Invariant: each file equals what its program prints today. Repaired by `cargo xtask generate`.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};
use squadron_e2e::command;

use crate::build;

/// One generated file and the program that prints it.
struct Generated {
    path: &'static str,
    package: &'static str,
    program: &'static str,
    argument: &'static str,
}

const FILES: &[Generated] = &[Generated {
    path: "docs/openapi.json",
    package: "squadron-control-plane",
    program: "squadron-control-plane",
    argument: "openapi",
}];

fn printed(file: &Generated) -> Result<String> {
    let mut cargo = command::new("cargo");
    cargo.args([
        "run",
        "--quiet",
        "--locked",
        "--package",
        file.package,
        "--bin",
        file.program,
        "--",
        file.argument,
    ]);
    command::output(&mut cargo).with_context(|| format!("printing {}", file.path))
}

/// Writes every generated file.
pub fn write() -> Result<()> {
    for file in FILES {
        let path = command::root().join(file.path);
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(path, printed(file)?)?;
        println!("wrote {}", file.path);
    }
    definitions()?;
    build::web_packages()?;
    command::run(&mut web("types"))
}

/// deploy/crds is written by the test of squadron-ray that compares it.
fn definitions() -> Result<()> {
    let mut test = command::new("cargo");
    test.args(["test", "--quiet", "--locked", "--package", "squadron-ray", "--test", "crds"])
        .env("UPDATE", "1");
    command::run(&mut test)
}

/// Fails if a generated file differs from what its program prints. The definitions in deploy/crds are compared by a
/// test of squadron-ray.
pub fn check() -> Result<()> {
    let mut stale = Vec::new();
    for file in FILES {
        let kept = fs::read_to_string(command::root().join(file.path)).unwrap_or_default();
        if kept != printed(file)? {
            stale.push(file.path);
        }
    }
    if !stale.is_empty() {
        bail!(
            "not as their programs print them: {}; run `cargo xtask generate` and commit",
            stale.join(", ")
        );
    }
    build::web_packages()?;
    command::run(&mut web("check:api"))
}

fn web(script: &str) -> Command {
    build::npm(&["run", script])
}
