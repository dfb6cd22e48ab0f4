//! CPU time of everything that takes part, from /proc.
//!
//! Invariant: only processes that live at both ends count; on a machine where nothing else of these names runs, that is
//! the whole price of the work. What ended in between is missing and makes the figure too small.

use std::{collections::BTreeMap, fs};

/// Names as the kernel keeps them, cut to 15 characters.
const PARTS: [&str; 11] = [
    "squadron-contro",
    "postgres",
    "squadron-agent",
    "kube-apiserver",
    "etcd",
    "kube-controller",
    "kube-scheduler",
    "kubelet",
    "containerd",
    "coredns",
    "kueue",
];

/// CPU ticks (hundredths of a second) by process.
pub struct Ticks(BTreeMap<u32, (String, u64)>);

impl Ticks {
    pub fn now() -> Ticks {
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        Ticks(pids.filter_map(|pid| Some((pid, of(pid)?))).collect())
    }

    /// Seconds since `before` by process name, leaving out those that used none.
    pub fn since(&self, before: &Ticks, takes_part: impl Fn(&str) -> bool) -> BTreeMap<String, f64> {
        let mut parts = BTreeMap::new();
        for (pid, (name, ticks)) in self.0.iter().filter(|(_, (name, _))| takes_part(name)) {
            let earlier =
                before.0.get(pid).filter(|(known, _)| known == name).map_or(*ticks, |known| known.1);
            let used = u32::try_from(ticks.saturating_sub(earlier)).unwrap_or(u32::MAX);
            if used > 0 {
                *parts.entry(name.clone()).or_default() += f64::from(used) / 100.0;
            }
        }
        parts
    }
}

fn of(pid: u32) -> Option<(String, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = (stat.split_once('(')?.1.rsplit_once(')')?.0, stat.rsplit_once(") ")?.1);
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    PARTS.contains(&name).then_some(())?;
    // utime and stime, the 14th and 15th field of the line.
    Some((name.to_owned(), ticks(11)? + ticks(12)?))
}
