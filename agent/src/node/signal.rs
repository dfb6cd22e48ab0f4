//! Signal: what a kernel line means. Pure; a line that is not known here is nobody's business.

use squadron_core::fact::KernelSignal;

/// Reads a line. Kills outside `cgroup_root` (empty: anywhere) are somebody else's.
pub fn of(line: &str, cgroup_root: &str) -> Option<KernelSignal> {
    xid(line).or_else(|| oom(line, cgroup_root))
}

/// At most `most` bytes of `text`, ending at a character.
pub fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// `NVRM: Xid (PCI:0000:3b:00): 79, pid=…`; newer drivers write `(PCI:0000:3b:00): 79,` as well.
fn xid(line: &str) -> Option<KernelSignal> {
    let rest = line.split_once("NVRM: Xid (")?.1;
    let (device, rest) = rest.split_once("): ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(6).collect();
    let pci = device.strip_prefix("PCI:").unwrap_or(device);
    let legal = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.');
    if pci.is_empty() || pci.len() > 20 || !pci.chars().all(legal) {
        return None;
    }
    Some(KernelSignal::Xid { code: digits.parse().ok()?, pci: pci.to_owned(), pods: Vec::new() })
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,…,task_memcg=/kubepods/…/pod<uid>/<id>,task=<name>,pid=<n>,uid=<n>`.
fn oom(line: &str, cgroup_root: &str) -> Option<KernelSignal> {
    let rest = line.split_once("oom-kill:")?.1;
    let group = field(rest, "task_memcg=")?;
    if !group.starts_with(cgroup_root) {
        return None;
    }
    // A process name may hold a comma, so it ends at the last `,pid=`.
    let (process, after) = rest.split_once(",task=")?.1.rsplit_once(",pid=")?;
    let pid = after.split(',').next()?.parse().ok()?;
    Some(KernelSignal::OomKill { pod_uid: pod_uid(group), process: cut(process, 64).to_owned(), pid })
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key)?.1.split(',').next()
}

/// The uid in a cgroup path: `…/pod<uid>/…`, or `…-pod<uid with _>.slice/…`; empty where there is none.
fn pod_uid(group: &str) -> String {
    let parts = group.split('/').filter_map(|part| {
        let slice = part.strip_suffix(".slice").and_then(|name| name.rsplit_once("-pod")).map(|(_, uid)| uid);
        slice.map(|uid| uid.replace('_', "-")).or_else(|| part.strip_prefix("pod").map(str::to_owned))
    });
    let legal = |uid: &String| uid.len() == 36 && uid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    parts.into_iter().find(legal).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const UID: &str = "0f5c2f0e-7a0f-4a57-9f2e-0d1c2b3a4f5e";

    fn kill(group: &str, task: &str) -> String {
        format!(
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg={group},\
             task_memcg={group},task={task},pid=4242,uid=1000"
        )
    }

    #[test]
    fn xid_lines_name_code_and_device() {
        let line = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.";
        assert_eq!(
            of(line, ""),
            Some(KernelSignal::Xid { code: 79, pci: "0000:3b:00".into(), pods: Vec::new() })
        );
        assert_eq!(of("NVRM: Xid (PCI:0000:3b:00): many", ""), None);
        assert_eq!(of("NVRM: Xid (PCI:<script>): 79", ""), None);
    }

    #[test]
    fn kills_name_the_pod_under_both_cgroup_drivers() {
        let fs = format!("/kubepods/burstable/pod{UID}/abcdef");
        let systemd = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-x.scope",
            UID.replace('-', "_")
        );
        for group in [fs, systemd] {
            let told = of(&kill(&group, "ray::IDLE"), "").unwrap();
            assert_eq!(
                told,
                KernelSignal::OomKill { pod_uid: UID.into(), process: "ray::IDLE".into(), pid: 4242 }
            );
        }
    }

    #[test]
    fn kills_of_another_kubelet_are_left_to_it() {
        let line = kill(&format!("/other/kubepods/pod{UID}/x"), "python");
        assert_eq!(of(&line, "/mine/"), None);
        assert!(of(&line, "/other/").is_some());
    }

    #[test]
    fn a_kill_outside_pods_names_no_pod_and_a_comma_in_the_name_does_no_harm() {
        let told = of(&kill("/system.slice/x", "a,pid=1"), "").unwrap();
        assert_eq!(
            told,
            KernelSignal::OomKill { pod_uid: String::new(), process: "a,pid=1".into(), pid: 4242 }
        );
    }

    #[test]
    fn other_lines_are_dropped() {
        assert_eq!(of("usb 1-1: new high-speed USB device", ""), None);
        assert_eq!(cut("aé", 2), "a");
    }
}
