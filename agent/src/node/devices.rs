//! Devices: which pods hold a GPU of this node, by the kubelet's pod-resources list.
//!
//! The list names devices by the id of their plugin, a kernel line by its PCI address. Without a table between the two
//! the holder is known only where a single pod holds all devices that are held; otherwise nobody is named.

use std::path::Path;

use serde::Deserialize;

/// Largest list that is read, in bytes.
const LIMIT: u64 = 4 * 1024 * 1024;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct List {
    pod_resources: Vec<Pod>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Pod {
    name: String,
    namespace: String,
    containers: Vec<Container>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Container {
    devices: Vec<Device>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Device {
    resource_name: String,
    device_ids: Vec<String>,
}

/// `namespace/name` of the pod that must hold the device; empty where that is not known.
pub fn holders(path: &Path) -> Vec<String> {
    let fits = std::fs::metadata(path).is_ok_and(|data| data.len() <= LIMIT);
    let text = if fits { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    match serde_json::from_str::<List>(&text) {
        Ok(list) => only_holder(&list),
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "the device list cannot be read");
            Vec::new()
        }
    }
}

fn only_holder(list: &List) -> Vec<String> {
    let holds = |pod: &&Pod| pod.containers.iter().flat_map(|container| &container.devices).any(is_gpu);
    let holders: Vec<String> = list
        .pod_resources
        .iter()
        .filter(holds)
        .map(|pod| format!("{}/{}", pod.namespace, pod.name))
        .collect();
    if holders.len() == 1 { holders } else { Vec::new() }
}

fn is_gpu(device: &Device) -> bool {
    squadron_core::resources::is_gpu(&device.resource_name) && !device.device_ids.is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn list(pods: &[&str]) -> List {
        let device = json!({"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-0"]});
        let pods: Vec<_> = pods
            .iter()
            .map(|name| json!({"name": name, "namespace": "ml", "containers": [{"devices": [device]}]}))
            .collect();
        serde_json::from_value(json!({"podResources": pods})).unwrap()
    }

    #[test]
    fn a_single_holder_is_named_and_one_of_several_is_not() {
        assert_eq!(only_holder(&list(&["worker"])), ["ml/worker"]);
        assert!(only_holder(&list(&["worker", "other"])).is_empty());
    }
}
