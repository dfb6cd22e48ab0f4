//! Install: puts this program where the container of the job can run it, whatever that container's image holds.
//!
//! Invariant: what is copied needs a kernel and `/bin/sh`, nothing else of the image: a program that is linked dynamically takes
//! its libraries and its linker along. Fails with a sentence, and then the pod does not start.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

/// Name of the script that runs the watchdog.
pub const SCRIPT: &str = "watchdog";
const PROGRAM: &str = "squadron-agent";
const LIBRARIES: &str = "lib";

/// What the dynamic linker says that a program needs: names under which files are asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Needs {
    linker: Option<PathBuf>,
    libraries: Vec<(String, PathBuf)>,
}

/// Copies the program into `folder`, with a script that runs it.
pub fn into(folder: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let asked = Command::new(&program)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .output()
        .context("cannot ask the linker what this program needs")?;
    let needs = read(&String::from_utf8_lossy(&asked.stdout));
    fs::create_dir_all(folder.join(LIBRARIES)).context("cannot make the folder for libraries")?;
    copy(&program, &folder.join(PROGRAM))?;
    for (name, path) in &needs.libraries {
        copy(path, &folder.join(LIBRARIES).join(name))?;
    }
    let linker = needs.linker.as_deref().map(|from| (from, folder.join(LIBRARIES).join("linker")));
    if let Some((from, to)) = &linker {
        copy(from, to)?;
    }
    let script = folder.join(SCRIPT);
    fs::write(&script, text(folder, linker.is_some())).context("cannot write the script")?;
    open_to_all(&script)
}

/// The lines of `ldd`: `NAME => PATH (ADDRESS)`, and `PATH (ADDRESS)` for the linker.
fn read(listed: &str) -> Needs {
    let mut needs = Needs::default();
    for line in listed.lines().map(str::trim) {
        let path =
            |text: &str| text.split(' ').next().filter(|word| word.starts_with('/')).map(PathBuf::from);
        match line.split_once(" => ") {
            Some((name, at)) => needs.libraries.extend(path(at).map(|at| (name.to_owned(), at))),
            None => needs.linker = needs.linker.or_else(|| path(line)),
        }
    }
    needs
}

fn text(folder: &Path, by_linker: bool) -> String {
    let folder = folder.display();
    let linker = if by_linker {
        format!("\"{folder}/{LIBRARIES}/linker\" --library-path \"{folder}/{LIBRARIES}\" ")
    } else {
        String::new()
    };
    format!("#!/bin/sh\nexec {linker}\"{folder}/{PROGRAM}\" watchdog run \"$@\"\n")
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    open_to_all(to)
}

/// The job's container may run as any user.
fn open_to_all(file: &Path) -> anyhow::Result<()> {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot open {} to all", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_keep_the_names_that_are_asked_for() {
        let listed = "\tlinux-vdso.so.1 (0x7ffd)\n\tlibc.so.6 => /lib/libc-2.31.so (0x7f)\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        let libraries = vec![("libc.so.6".to_owned(), PathBuf::from("/lib/libc-2.31.so"))];
        let linker = Some(PathBuf::from("/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(read(listed), Needs { linker, libraries });
        assert_eq!(read("Usage: squadron-agent <COMMAND>\n"), Needs::default(), "a static program");
    }
}
