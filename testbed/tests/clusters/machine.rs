//! Looks at the machine from outside: which processes, mounts and files of a cluster are there. Shares no code with the
//! testbed, so that it cannot share its mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::testbed::until;

/// Pids of processes in whose arguments the cluster's folder appears: daemons and shims.
pub fn daemons(folder: &Path) -> BTreeSet<u32> {
    let wanted = format!("{}/", folder.display());
    let of_cluster = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&wanted)
    };
    let listed = fs::read_dir("/proc").unwrap().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(of_cluster).collect()
}

/// Pids in the cluster's cgroups: containers.
pub fn in_cgroups(space: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut folders = cgroups(space);
    while let Some(folder) = folders.pop() {
        let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        found.extend(listed.lines().filter_map(|line| line.parse::<u32>().ok()));
        folders.extend(below(&folder).into_iter().filter(|path| path.is_dir()));
    }
    found
}

fn cgroups(space: &str) -> Vec<PathBuf> {
    let mut roots = below(Path::new("/sys/fs/cgroup"));
    roots.push("/sys/fs/cgroup".into());
    roots.iter().map(|root| root.join(space)).filter(|folder| folder.is_dir()).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// SIGKILL, and waits until they are gone (or zombies).
pub fn kill(pids: &BTreeSet<u32>) {
    for pid in pids {
        Command::new("kill").args(["-9", &pid.to_string()]).output().unwrap();
    }
    until("the end of killed processes", Duration::from_secs(20), || pids.iter().all(|pid| is_gone(*pid)));
}

fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

/// Everything that a cluster could leave behind.
pub fn remains(folder: &Path, space: &str) -> Vec<String> {
    let mut left: Vec<String> = daemons(folder).iter().map(|pid| format!("process {pid}")).collect();
    left.extend(cgroups(space).iter().map(|path| format!("cgroup {}", path.display())));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let wanted = [format!("{}", folder.display()), format!("/run/netns/{space} ")];
    left.extend(
        mounts.lines().filter(|line| wanted.iter().any(|text| line.contains(text))).map(str::to_owned),
    );
    let network = format!("{space}-");
    let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&network);
    left.extend(
        below(Path::new("/var/lib/cni/results")).iter().filter(|p| named(p)).map(|p| format!("{p:?}")),
    );
    let into = |link: &PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(folder));
    left.extend(below(Path::new("/var/log/containers")).iter().filter(|l| into(l)).map(|l| format!("{l:?}")));
    for path in [folder.to_path_buf(), Path::new("/run/netns").join(space)] {
        if path.exists() {
            left.push(format!("{}", path.display()));
        }
    }
    left.extend(cables_of(folder));
    left
}

/// The host's end of a cable carries the cluster's folder as its alias.
fn cables_of(folder: &Path) -> Vec<String> {
    let alias = |device: &PathBuf| fs::read_to_string(device.join("ifalias")).unwrap_or_default();
    let ours = |device: &PathBuf| alias(device).trim() == folder.display().to_string();
    below(Path::new("/sys/class/net"))
        .iter()
        .filter(|device| ours(device))
        .map(|d| format!("{d:?}"))
        .collect()
}

/// Answers every connection on some port of all addresses, for as long as the test runs.
pub fn echo_server() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            });
        }
    });
    port
}
