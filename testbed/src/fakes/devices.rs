//! A fake device list in the shape of the kubelet's pod-resources answer (`List`): which pod holds which fake GPU.
//!
//! Pure but for reading pods and the file. Invariant: a device is held by one container at a time, and a pod keeps its
//! devices from one list to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::fakes::gpu::{self, RESOURCE};
use crate::files;
use crate::kubectl::Kubectl;

/// Name of the file in the cluster's folder.
const FILE: &str = "fake-pod-resources.json";

/// The answer, with the field names of the interface's JSON form.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    pod_resources: Vec<Pod>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pod {
    name: String,
    namespace: String,
    containers: Vec<Container>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Container {
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    devices: Vec<Devices>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Devices {
    resource_name: String,
    device_ids: Vec<String>,
}

/// A container that wants GPUs: namespace, pod, container.
pub type Holder = (String, String, String);

/// Writes the list for the pods that run now and gives its path.
pub fn write(kubectl: &Kubectl, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(FILE);
    let before = read(&path)?;
    let count = gpu::of_first_node(kubectl)?.count;
    let pods = kubectl.get("list the pods", &["pods", "-A", "--field-selector=status.phase=Running"])?;
    let list = assign(&held(&before), &wishes(&pods), count);
    let text =
        serde_json::to_string_pretty(&list).map_err(|source| Error::Json { path: path.clone(), source })?;
    files::replace(&path, text)?;
    Ok(path)
}

/// Who holds each device, by the list that was written last; nobody without one.
pub fn holders(folder: &Path) -> Result<BTreeMap<String, Holder>> {
    let held = held(&read(&folder.join(FILE))?);
    Ok(held
        .into_iter()
        .flat_map(|(holder, ids)| ids.into_iter().map(move |id| (id, holder.clone())))
        .collect())
}

fn read(path: &Path) -> Result<List> {
    let Some(text) = files::text(path)? else { return Ok(List::default()) };
    serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })
}

fn held(list: &List) -> BTreeMap<Holder, Vec<String>> {
    let mut held = BTreeMap::new();
    for pod in &list.pod_resources {
        for container in &pod.containers {
            let ids = container.devices.iter().flat_map(|devices| devices.device_ids.clone()).collect();
            held.insert((pod.namespace.clone(), pod.name.clone(), container.name.clone()), ids);
        }
    }
    held
}

/// How many GPUs each container of the running pods wants.
fn wishes(pods: &Value) -> BTreeMap<Holder, usize> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut wishes = BTreeMap::new();
    for pod in pods["items"].as_array().into_iter().flatten() {
        for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
            let count =
                container["resources"]["limits"][RESOURCE].as_str().and_then(|count| count.parse().ok());
            if let Some(count) = count.filter(|count| *count > 0) {
                let name = (text(&pod["metadata"]["namespace"]), text(&pod["metadata"]["name"]));
                wishes.insert((name.0, name.1, text(&container["name"])), count);
            }
        }
    }
    wishes
}

/// Keeps what is held and gives the lowest free devices to the others. A wish that cannot be met gets what is left.
fn assign(held: &BTreeMap<Holder, Vec<String>>, wishes: &BTreeMap<Holder, usize>, count: u32) -> List {
    let kept = wishes.keys().filter_map(|holder| held.get(holder)).flatten();
    let taken: BTreeSet<&String> = kept.collect();
    let all: Vec<String> = (0..count).map(gpu::device_id).collect();
    let mut free = all.iter().filter(|id| !taken.contains(id)).cloned();
    let mut list = List::default();
    for (holder, wish) in wishes {
        let device_ids = match held.get(holder).filter(|ids| ids.len() == *wish) {
            Some(ids) => ids.clone(),
            None => free.by_ref().take(*wish).collect(),
        };
        push(&mut list, holder, device_ids);
    }
    list
}

fn push(list: &mut List, (namespace, pod, container): &Holder, device_ids: Vec<String>) {
    let devices = vec![Devices { resource_name: RESOURCE.into(), device_ids }];
    let container = Container { name: container.clone(), devices };
    match list.pod_resources.last_mut().filter(|last| last.name == *pod && last.namespace == *namespace) {
        Some(last) => last.containers.push(container),
        None => list.pod_resources.push(Pod {
            name: pod.clone(),
            namespace: namespace.clone(),
            containers: vec![container],
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn holder(pod: &str) -> Holder {
        ("ns".into(), pod.into(), "ray-worker".into())
    }

    fn ids(list: &List) -> Vec<(String, Vec<String>)> {
        let ids = |pod: &Pod| pod.containers[0].devices[0].device_ids.clone();
        list.pod_resources.iter().map(|pod| (pod.name.clone(), ids(pod))).collect()
    }

    #[test]
    fn pod_keeps_its_device_when_another_comes_before_it() {
        let first = assign(&BTreeMap::new(), &BTreeMap::from([(holder("b"), 1)]), 2);
        let second = assign(&held(&first), &BTreeMap::from([(holder("a"), 1), (holder("b"), 1)]), 2);
        let expected = [("a".into(), vec!["GPU-fake-1".into()]), ("b".into(), vec!["GPU-fake-0".into()])];
        assert_eq!(ids(&second), expected);
    }

    #[test]
    fn no_device_is_held_twice_however_much_is_wished() {
        let list = assign(&BTreeMap::new(), &BTreeMap::from([(holder("a"), 2), (holder("b"), 2)]), 3);
        let all: Vec<String> = ids(&list).into_iter().flat_map(|(_, ids)| ids).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 3);
    }

    #[test]
    fn only_containers_with_gpus_count() {
        let pods = json!({"items": [{
            "metadata": {"namespace": "ns", "name": "a"},
            "spec": {"containers": [
                {"name": "ray-worker", "resources": {"limits": {"nvidia.com/gpu": "2"}}},
                {"name": "sidecar", "resources": {}}
            ]}
        }]});
        assert_eq!(wishes(&pods), BTreeMap::from([(holder("a"), 2)]));
    }

    #[test]
    fn json_has_the_names_of_the_interface() {
        let list = assign(&BTreeMap::new(), &BTreeMap::from([(holder("a"), 1)]), 1);
        let text = serde_json::to_value(&list).unwrap();
        assert_eq!(text["podResources"][0]["containers"][0]["devices"][0]["resourceName"], "nvidia.com/gpu");
        assert_eq!(text["podResources"][0]["containers"][0]["devices"][0]["deviceIds"][0], "GPU-fake-0");
        assert_eq!(serde_json::from_value::<List>(text).unwrap(), list);
    }
}
