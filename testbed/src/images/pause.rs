//! The pause image: one small static program.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;
use crate::hash::Key;
use crate::home::Home;
use crate::images::PAUSE;
use crate::images::layer::Times;
use crate::images::oci::Image;
use crate::images::recipe::{self, Recipe};
use crate::program::{self, command};

const SOURCE: &str = include_str!("pause.c");

/// Makes the image unless it is there.
pub fn ensure(home: &Home) -> Result<PathBuf> {
    let image = Image {
        reference: PAUSE.into(),
        user: "65535:65535",
        environment: Vec::new(),
        entrypoint: vec!["/pause".into()],
        command: Vec::new(),
        folder: "/",
    };
    let key = Key::new("pause").part(PAUSE.as_bytes()).part(SOURCE.as_bytes()).finish();
    recipe::ensure(home, &Recipe { short: "pause", key, image, times: Times::None, usually: "1 s" }, compile)
}

fn compile(root: &Path) -> Result<()> {
    let source = root.with_extension("c");
    files::replace(&source, SOURCE)?;
    let mut gcc = command("gcc", ["-static", "-Os", "-s", "-Wall", "-o"]);
    gcc.arg(root.join("pause")).arg(&source);
    program::run("compile the pause program", &mut gcc).map(|_| ())
}
