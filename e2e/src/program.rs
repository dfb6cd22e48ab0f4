//! Programs: where the built ones lie, and of which profile they are.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

use crate::command;

/// Names the profile whose programs are built and run: `release`, or else the one for development.
const PROFILE: &str = "SQUADRON_PROFILE";

/// Whether programs are built for measuring instead of for development.
pub fn is_release() -> bool {
    env::var(PROFILE).is_ok_and(|named| named == "release")
}

/// One of the programs that the workspace builds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    ControlPlane,
    Agent,
    Cli,
    Testbed,
}

impl Program {
    fn file_name(self) -> &'static str {
        match self {
            Program::ControlPlane => "squadron-control-plane",
            Program::Agent => "squadron-agent",
            Program::Cli => "squadron",
            Program::Testbed => "squadron-testbed",
        }
    }

    /// The built program, in the folder that cargo builds to.
    pub fn path(self) -> PathBuf {
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| command::root().join("target"), PathBuf::from);
        target.join(if is_release() { "release" } else { "debug" }).join(self.file_name())
    }

    /// Changes whenever the program was built anew.
    pub fn stamp(self) -> Result<String> {
        let path = self.path();
        let metadata =
            path.metadata().with_context(|| format!("looking at {}; is it built?", path.display()))?;
        let written = metadata.modified()?.duration_since(std::time::UNIX_EPOCH)?;
        Ok(format!("{}-{}", metadata.len(), written.as_nanos()))
    }
}
