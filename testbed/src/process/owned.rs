//! Finds processes that belong to a cluster without a pid file: by network namespace, cgroup or containerd's socket.
//!
//! Invariant: each of these three is made by the testbed for one cluster alone, so whatever is in it is ours.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::process::Process;
use crate::process::proc::all;

/// Processes in the network namespace that this file holds open.
pub fn in_space(space: &Path) -> Vec<Process> {
    let Ok(meta) = fs::metadata(space) else { return Vec::new() };
    let wanted = format!("net:[{}]", meta.ino());
    let inside = |process: &Process| {
        fs::read_link(format!("/proc/{}/ns/net", process.pid))
            .is_ok_and(|link| link.as_os_str() == wanted.as_str())
    };
    all().into_iter().filter(inside).collect()
}

/// Processes in this cgroup folder and all below it.
pub fn in_cgroup(folder: &Path) -> Vec<Process> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found
}

fn collect(folder: &Path, found: &mut Vec<Process>) {
    let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    found.extend(listed.lines().filter_map(|line| line.parse().ok()).filter_map(Process::look));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), found);
        }
    }
}

/// The shims of the containerd that listens on this socket.
pub fn shims(socket: &Path) -> Vec<Process> {
    let socket = socket.display().to_string();
    all().into_iter().filter(|process| is_shim_of(&process.arguments(), &socket)).collect()
}

fn is_shim_of(arguments: &[String], socket: &str) -> bool {
    let shim = arguments.first().is_some_and(|program| program.ends_with("containerd-shim-runc-v2"));
    let mut pairs = arguments.windows(2);
    shim && pairs.any(|pair| pair[0] == "-address" && pair[1] == socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_shims_of_this_very_socket_are_ours() {
        let ours = words("/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id 1 -address /a/b.sock");
        assert!(is_shim_of(&ours, "/a/b.sock"));
        assert!(!is_shim_of(&ours, "/a/b.soc"));
        assert!(!is_shim_of(&ours, "/b.sock"));
        assert!(!is_shim_of(&words("grep containerd-shim-runc-v2 -address /a/b.sock"), "/a/b.sock"));
        assert!(!is_shim_of(&[], "/a/b.sock"));
    }

    #[test]
    fn this_process_is_in_its_own_namespace() {
        let pid = std::process::id().to_string();
        let found = in_space(Path::new("/proc/self/ns/net"));
        assert!(found.iter().any(|process| process.pid.to_string() == pid));
        assert!(in_space(Path::new("/nowhere")).is_empty());
    }
}
