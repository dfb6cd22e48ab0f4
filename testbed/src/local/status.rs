//! What is known of a local cluster now.

use crate::local::cluster::Cluster;
use crate::local::component::Component;
use crate::local::cut;
use crate::process::resident_kib;
use crate::provider::{ComponentStatus, Status};

/// Looks at every component and asks the API server. Never fails: what does not answer is part of the status.
pub fn status(cluster: &Cluster) -> Status {
    let components: Vec<ComponentStatus> =
        Component::ALL.into_iter().filter_map(|c| running(cluster, c)).collect();
    let version = match components.is_empty() {
        true => None,
        false => cluster.kubectl().server_version().ok(),
    };
    Status {
        name: cluster.name.to_string(),
        provider: "local",
        state: state(&components, version.is_some()),
        kubernetes_version: version,
        api_server: cluster.api_url(),
        is_cut: cluster.space_file().exists() && cut::is_cut(cluster),
        components,
    }
}

fn running(cluster: &Cluster, component: Component) -> Option<ComponentStatus> {
    let process = component.process(cluster)?;
    let resident_mib = resident_kib(process.pid).unwrap_or_default() >> 10;
    Some(ComponentStatus { name: component.name(), pid: process.pid, resident_mib })
}

fn state(components: &[ComponentStatus], answers: bool) -> String {
    if components.is_empty() {
        return "down".into();
    }
    let missing = |component: &&Component| !components.iter().any(|running| running.name == component.name());
    let missing: Vec<&str> =
        Component::ALL.iter().filter(missing).map(|component| component.name()).collect();
    match (missing.is_empty(), answers) {
        (true, true) => "up".into(),
        (true, false) => "partly up: the API server does not answer".into(),
        (false, _) => format!("partly up: {} not running", missing.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<ComponentStatus> {
        let one = |component: Component| ComponentStatus { name: component.name(), pid: 2, resident_mib: 1 };
        Component::ALL.into_iter().map(one).collect()
    }

    #[test]
    fn state_says_what_is_missing() {
        assert_eq!(state(&[], false), "down");
        assert_eq!(state(&all(), true), "up");
        assert!(state(&all(), false).contains("API server"));
        let mut some = all();
        some.retain(|running| running.name != "kubelet");
        assert!(state(&some, true).contains("kubelet not running"));
    }
}
