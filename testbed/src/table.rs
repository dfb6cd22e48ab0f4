//! Prints the status of clusters for people.

use crate::provider::Status;

/// One block for each cluster.
pub fn render(statuses: &[Status]) -> String {
    if statuses.is_empty() {
        return "no clusters; `squadron-testbed up --clusters east,west` makes two\n".into();
    }
    statuses.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(status: &Status) -> String {
    let version = status.kubernetes_version.as_deref().unwrap_or("-");
    let cut = if status.is_cut { ", cut off from the control plane" } else { "" };
    let mut text = format!("{} ({}): {}{cut}\n", status.name, status.provider, status.state);
    text.push_str(&format!("  Kubernetes {version} at {}\n", status.api_server));
    for component in &status.components {
        let (name, pid, memory) = (component.name, component.pid, component.resident_mib);
        text.push_str(&format!("  {name:<24} pid {pid:<8} {memory:>5} MiB\n"));
    }
    if !status.components.is_empty() {
        let sum: u64 = status.components.iter().map(|component| component.resident_mib).sum();
        text.push_str(&format!("  {:<24} {:<12} {sum:>5} MiB\n", "together", ""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::ComponentStatus;

    #[test]
    fn nothing_says_what_to_do() {
        assert!(render(&[]).contains("squadron-testbed up"));
    }

    #[test]
    fn cut_and_sum_are_shown() {
        let component = |name, resident_mib| ComponentStatus { name, pid: 7, resident_mib };
        let text = render(&[Status {
            name: "east".into(),
            provider: "local",
            state: "up".into(),
            kubernetes_version: Some("v1.34.4".into()),
            api_server: "https://10.201.1.2:6443".into(),
            is_cut: true,
            components: vec![component("etcd", 40), component("kubelet", 90)],
        }]);
        assert!(text.contains("cut off") && text.contains("130 MiB") && text.contains("v1.34.4"), "{text}");
    }
}
