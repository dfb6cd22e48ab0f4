//! Rivals: other people's Go modules, pinned in testbed/go/NAME/go.mod and built unchanged.
//!
//! Invariant: a program is built by Go's own cache, so a second build costs seconds. Fails with what Go said.

use std::{path::PathBuf, process::Command};

use anyhow::Result;
use squadron_e2e::{command, testbed};

/// A module and the folder of its go.mod below testbed/go, which is also the folder of what is built of it.
pub struct Rival {
    pub name: &'static str,
    pub module: &'static str,
}

impl Rival {
    fn go(&self) -> Command {
        let mut go = command::new("go");
        let folder = command::root().join("testbed/go").join(self.name);
        go.current_dir(folder).env("GOFLAGS", "-mod=readonly").env("CGO_ENABLED", "0");
        go
    }

    /// Where the module's sources lie, with the data that comes with them.
    pub fn folder(&self) -> Result<PathBuf> {
        command::run(self.go().args(["mod", "download", self.module]))?;
        let printed = command::output(self.go().args(["list", "-m", "-f", "{{.Dir}}", self.module]))?;
        Ok(PathBuf::from(printed.trim()))
    }

    /// Where programs built of it lie, and what they leave behind.
    pub fn built(&self) -> Result<PathBuf> {
        let folder = testbed::bin()?.join(self.name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Builds a program of the module, or finds it built.
    pub fn program(&self, package: &str, binary: &str) -> Result<PathBuf> {
        self.make(&["build"], package, binary)
    }

    /// Builds the test program of a package, or finds it built.
    pub fn test_program(&self, package: &str, binary: &str) -> Result<PathBuf> {
        self.make(&["test", "-c"], package, binary)
    }

    fn make(&self, verb: &[&str], package: &str, binary: &str) -> Result<PathBuf> {
        let path = self.built()?.join(binary);
        let mut go = self.go();
        go.args(verb).arg("-o").arg(&path).arg(format!("{}{package}", self.module));
        println!("{} (3 minutes the first time)", command::shown(&go));
        command::run(&mut go)?;
        Ok(path)
    }
}
