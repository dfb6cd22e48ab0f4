//! Params of `ray start` (POD-5 to POD-8).

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use squadron_core::quantity;

use super::{Cluster, Node};
use crate::{names, object, requests::quantity_text};

pub(super) type Params = BTreeMap<String, String>;

/// Accelerators that Ray knows under a name of its own.
const ACCELERATORS: [(&str, &str); 2] =
    [("aws.amazon.com/neuroncore", "neuron_cores"), ("google.com/tpu", "TPU")];

/// All params of a node: the user's, then what the group's resources and labels say, then what is missing.
pub(super) fn of(cluster: &Cluster<'_>, node: Node<'_>) -> Params {
    let head = &cluster.spec.head_group_spec;
    let (own, resources, labels) = match node {
        Node::Head => (&head.ray_start_params, &head.resources, &head.labels),
        Node::Worker(group) => (&group.ray_start_params, &group.resources, &group.labels),
    };
    let mut params = own.clone().unwrap_or_default();
    group_resources(&mut params, resources.as_ref());
    if let Some(labels) = labels.as_ref().filter(|labels| !labels.is_empty()) {
        let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        params.insert("labels".to_owned(), pairs.join(","));
    }
    add_missing(&mut params, cluster, node);
    container_resources(&mut params, node.template(cluster.spec));
    params
}

/// POD-6.
fn add_missing(params: &mut Params, cluster: &Cluster<'_>, node: Node<'_>) {
    let mut missing = |name: &str, value: String| {
        params.entry(name.to_owned()).or_insert(value);
    };
    match node {
        Node::Head => missing("dashboard-host", "0.0.0.0".to_owned()),
        Node::Worker(_) => missing("address", format!("{}:{}", cluster.head_host(), cluster.gcs_port())),
    }
    missing("metrics-export-port", names::PORT_METRICS.to_string());
    missing("dashboard-agent-listen-port", names::PORT_AGENT.to_string());
    params.insert("block".to_owned(), "true".to_owned());
    if matches!(node, Node::Head) && cluster.spec.autoscaling() {
        params.insert("no-monitor".to_owned(), "true".to_owned());
    }
}

/// POD-7, second half: a group's `resources` win over everything.
fn group_resources(params: &mut Params, resources: Option<&BTreeMap<String, String>>) {
    let mut others = Map::new();
    for (name, text) in resources.into_iter().flatten() {
        let Ok(whole) = quantity::whole(text) else { continue };
        match name.to_lowercase().as_str() {
            "cpu" => params.insert("num-cpus".to_owned(), whole.to_string()),
            "memory" => params.insert("memory".to_owned(), whole.to_string()),
            lower if is_gpu_key(lower) => params.insert("num-gpus".to_owned(), whole.to_string()),
            _ => {
                others.extend(exact(text).map(|number| (name.clone(), number)));
                None
            }
        };
    }
    if !others.is_empty() {
        params.insert("resources".to_owned(), quoted(&others));
    }
}

/// POD-7, first half: what the container may use is what Ray may schedule.
fn container_resources(params: &mut Params, template: &Value) {
    let container = object::list(template, &["spec", "containers"]).first().unwrap_or(&Value::Null);
    let resources = object::at(container, &["resources"]);
    let amount = |part: &str, name: &str| {
        let amount = object::at(resources, &[part, name]);
        quantity::whole(&quantity_text(amount)).ok().filter(|amount| *amount > 0)
    };
    let mut missing = |name: &str, value: Option<i64>| {
        if let Some(value) = value {
            params.entry(name.to_owned()).or_insert_with(|| value.to_string());
        }
    };
    missing("num-cpus", amount("limits", "cpu").or_else(|| amount("requests", "cpu")));
    missing("memory", amount("limits", "memory"));
    let mut limits: Vec<&String> =
        object::at(resources, &["limits"]).as_object().into_iter().flat_map(Map::keys).collect();
    limits.sort();
    let gpus = limits.iter().filter(|name| is_gpu_key(name)).find_map(|name| amount("limits", name));
    missing("num-gpus", gpus);
    if let Some((ray_name, text)) = limits.iter().find_map(|name| accelerator(name, resources)) {
        add_accelerator(params, ray_name, &text);
    }
}

fn accelerator(name: &str, resources: &Value) -> Option<(&'static str, String)> {
    let (_, ray_name) = ACCELERATORS.iter().find(|(known, _)| *known == name)?;
    let text = quantity_text(object::at(resources, &["limits", name]));
    quantity::milli(&text).ok().filter(|amount| *amount > 0)?;
    Some((ray_name, text))
}

/// Only one accelerator, and only if the user's `resources` name none.
fn add_accelerator(params: &mut Params, ray_name: &str, text: &str) {
    let own = params.get("resources").map_or("{}", |own| own.trim_matches(['\'', '"', '`', ' ']));
    let Ok(Value::Object(mut resources)) = serde_json::from_str(own) else { return };
    if ACCELERATORS.iter().any(|(_, known)| resources.contains_key(*known)) {
        return;
    }
    resources.extend(exact(text).map(|number| (ray_name.to_owned(), number)));
    params.insert("resources".to_owned(), quoted(&resources));
}

/// Sorted JSON in single quotes, for the shell.
fn quoted(resources: &Map<String, Value>) -> String {
    let sorted: BTreeMap<&String, &Value> = resources.iter().collect();
    let text = serde_json::to_string(&sorted).unwrap_or_default();
    format!("'{text}'")
}

/// A quantity as a JSON number: whole where it is whole.
fn exact(text: &str) -> Option<Value> {
    let milli = quantity::milli(text).ok()?;
    if milli % 1_000 == 0 {
        return Some(Value::from(milli / 1_000));
    }
    let number: f64 = format!("{}e-3", milli).parse().ok()?;
    Number::from_f64(number).map(Value::Number)
}

/// `…gpu`, or a slice of an NVIDIA GPU such as `nvidia.com/mig-1g.5gb`.
fn is_gpu_key(name: &str) -> bool {
    let slice = name.strip_prefix("nvidia.com/mig-").and_then(|rest| rest.strip_suffix("gb"));
    let is_slice = slice.and_then(|rest| rest.split_once("g.")).is_some_and(|(compute, memory)| {
        [compute, memory].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    });
    name.ends_with("gpu") || is_slice
}

/// POD-5: `true` is a bare flag, `false` is left out, except for flags that take the word themselves.
pub(super) fn render(params: &Params) -> String {
    const TAKE_A_WORD: [&str; 3] = ["log-color", "include-dashboard", "include-log-monitor"];
    let mut text = String::new();
    for (name, value) in params {
        match value.to_lowercase().as_str() {
            "true" if !TAKE_A_WORD.contains(&name.as_str()) => text += &format!(" --{name}"),
            "false" if !TAKE_A_WORD.contains(&name.as_str()) => {}
            _ => text += &format!(" --{name}={value}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn from_container(own: &[(&str, &str)], resources: &Value) -> Params {
        let mut found = params(own);
        container_resources(&mut found, &json!({"spec": {"containers": [{"resources": resources}]}}));
        found
    }

    #[test]
    fn pod_5_flags_and_values() {
        let mixed = params(&[
            ("block", "True"),
            ("no-monitor", "false"),
            ("include-dashboard", "true"),
            ("port", "6380"),
        ]);
        assert_eq!(render(&mixed), " --block --include-dashboard=true --port=6380");
    }

    #[test]
    fn pod_7_limits_become_resources_of_ray() {
        let limits = json!({"limits": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 2}});
        let expected = params(&[("num-cpus", "2"), ("memory", "1073741824"), ("num-gpus", "2")]);
        assert_eq!(from_container(&[], &limits), expected);
        assert_eq!(from_container(&[("num-cpus", "1")], &limits)["num-cpus"], "1");
        let requests = json!({"requests": {"cpu": "300m", "memory": "1Gi"}});
        assert_eq!(from_container(&[], &requests), params(&[("num-cpus", "1")]));
    }

    #[test]
    fn pod_7_accelerators_go_into_the_resources() {
        let both = json!({"limits": {"google.com/tpu": 4, "aws.amazon.com/neuroncore": 2, "nvidia.com/mig-1g.5gb": 1}});
        let found = from_container(&[("resources", "'{\"R1\": 4}'")], &both);
        assert_eq!(found["resources"], r#"'{"R1":4,"neuron_cores":2}'"#);
        assert_eq!(found["num-gpus"], "1");
        assert_eq!(from_container(&[("resources", "{\"TPU\": 1}")], &both)["resources"], "{\"TPU\": 1}");
    }

    #[test]
    fn pod_7_group_resources_win_and_skip_nonsense() {
        let mut found = params(&[("num-cpus", "9")]);
        let map = [("CPU", "1500m"), ("memory", "1Gi"), ("GPU", "2"), ("custom", "0.5"), ("bad", "x")];
        let map = map.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        group_resources(&mut found, Some(&map));
        assert_eq!(found["num-cpus"], "2");
        assert_eq!(found["num-gpus"], "2");
        assert_eq!(found["resources"], r#"'{"custom":0.5}'"#);
    }

    #[test]
    fn gpu_keys() {
        for (name, expected) in [
            ("nvidia.com/gpu", true),
            ("gpu", true),
            ("nvidia.com/mig-2g.10gb", true),
            ("nvidia.com/mig-g.gb", false),
            ("cpu", false),
        ] {
            assert_eq!(is_gpu_key(name), expected, "{name}");
        }
    }
}
