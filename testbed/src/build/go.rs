//! Builds the programs of a Go module with the ordinary Go tool.
//!
//! Invariant: `bin/keys/NAME` is written after the binary and names what it was made of. Fails when Go is absent or
//! older than a module wants; installing a newer Go repairs it.

use std::path::Path;
use std::process::Command;

use crate::build::module::Module;
use crate::error::{AtPath, Result};
use crate::files;
use crate::home::Home;
use crate::program;
use crate::progress::Progress;

/// Builds the module's programs unless all of them are there with the right key.
pub fn ensure(home: &Home, module: &Module) -> Result<()> {
    let _held = home.lock(&format!("build-{}", module.name))?;
    let key = module.key(&run(Path::new("/"), "ask Go for its version", &["env", "GOVERSION"])?);
    let bin = home.bin().join(&module.folder);
    let keys = bin.join("keys");
    let is_built = |name: &str| {
        bin.join(name).exists()
            && files::text(&keys.join(name)).ok().flatten().as_deref() == Some(key.as_str())
    };
    if module.programs.iter().all(|program| is_built(program.binary)) {
        return Ok(());
    }
    Progress::new(&module.name).step("building", module.usually, || {
        let out = bin.join(format!("{}.new", module.name));
        build(home, module, &out)?;
        files::folder(&keys)?;
        for program in &module.programs {
            let (built, place) = (out.join(program.built_as), bin.join(program.binary));
            std::fs::rename(&built, &place).at("put in place", &place)?;
            files::replace(&keys.join(program.binary), &key)?;
        }
        files::remove(&out)
    })
}

/// Runs `go` in a folder, without C and without any workspace around it.
pub fn run(folder: &Path, step: &str, words: &[&str]) -> Result<String> {
    let mut go = Command::new("go");
    go.args(words).current_dir(folder).env("CGO_ENABLED", "0").env("GOWORK", "off");
    program::run(step, &mut go)
}

fn build(home: &Home, module: &Module, out: &Path) -> Result<()> {
    let folder = match module.go_sum {
        Some(_) => home.go().join(&module.name),
        None => home.go().join(format!("{}-{}", module.name, module.folder)),
    };
    files::folder(&folder)?;
    files::folder(out)?;
    if let Some(sums) = &module.go_sum {
        files::replace(&folder.join("go.mod"), module.go_mod.as_bytes())?;
        files::replace(&folder.join("go.sum"), sums.as_bytes())?;
    }
    let target = format!("{}/", out.display());
    let mut words = vec!["build", "-ldflags", &module.linker_flags, "-o", &target];
    words.extend(module.programs.iter().map(|program| program.package));
    run(&folder, &format!("build {}", module.name), &words).map(|_| ())
}
