//! Sums of quantities, written the way Kubernetes writes them (3.3: desiredCPU and its sisters).

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use squadron_core::quantity;

use crate::{object, requests::quantity_text, types::RayClusterSpec};

/// What all pods of the spec ask for together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Desired {
    pub(super) cpu: String,
    pub(super) memory: String,
    pub(super) gpu: String,
    pub(super) tpu: String,
}

pub(super) fn desired(spec: &RayClusterSpec) -> Desired {
    let mut sums = Sums::default();
    sums.add_pod(&spec.head_group_spec.template, 1);
    for group in spec.groups().iter().filter(|group| !group.is_suspended()) {
        let pods = i64::from(group.replicas.unwrap_or(0).max(0)) * i64::from(group.hosts());
        sums.add_pod(&group.template, pods);
    }
    Desired {
        cpu: sums.text(|name| name == "cpu"),
        memory: sums.text(|name| name == "memory"),
        gpu: sums.text(|name| name.ends_with("gpu") || name.starts_with("nvidia.com/mig-")),
        tpu: sums.text(|name| name == "google.com/tpu"),
    }
}

/// Thousandths per resource, and whether its first quantity was written in powers of 1024.
#[derive(Default)]
struct Sums(BTreeMap<String, (i128, bool)>);

impl Sums {
    /// Per container the request counts, a limit only where there is no request.
    fn add_pod(&mut self, template: &Value, times: i64) {
        for container in object::list(template, &["spec", "containers"]) {
            let part = |name: &str| {
                object::at(container, &["resources", name]).as_object().cloned().unwrap_or_default()
            };
            let mut amounts: Map<String, Value> = part("limits");
            amounts.extend(part("requests"));
            for (name, amount) in amounts {
                self.add(name, &quantity_text(&amount), times);
            }
        }
    }

    fn add(&mut self, name: String, text: &str, times: i64) {
        let milli = match (quantity::milli(text), quantity::whole(text)) {
            (Ok(milli), _) => i128::from(milli),
            (Err(_), Ok(whole)) => i128::from(whole) * 1_000,
            _ => return,
        };
        let sum = self.0.entry(name).or_insert((0, text.ends_with('i')));
        sum.0 += milli * i128::from(times);
    }

    fn text(&self, which: impl Fn(&str) -> bool) -> String {
        let chosen = self.0.iter().filter(|(name, _)| which(name)).map(|(_, sum)| *sum);
        let (milli, binary) = chosen.fold((0, false), |(sum, binary), (one, own)| (sum + one, binary || own));
        canonical(milli, binary)
    }
}

/// The shortest exact form: the greatest suffix that divides the amount.
fn canonical(milli: i128, binary: bool) -> String {
    if milli % 1_000 != 0 {
        return format!("{milli}m");
    }
    let mut amount = milli / 1_000;
    let (step, suffixes) = if binary {
        (1_024, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
    } else {
        (1_000, ["", "k", "M", "G", "T", "P", "E"])
    };
    let mut suffix = 0;
    while amount != 0 && amount % step == 0 && suffix + 1 < suffixes.len() {
        amount /= step;
        suffix += 1;
    }
    format!("{amount}{}", suffixes[suffix])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn canonical_forms_are_those_of_kubernetes() {
        let cases = [
            (0, false, "0"),
            (1_500, false, "1500m"),
            (2_000, false, "2"),
            (3 << 30, true, "3Gi"),
            (1_000, true, "1000"),
        ];
        for (amount, binary, text) in cases {
            let milli = if binary { amount * 1_000 } else { amount };
            assert_eq!(canonical(milli, binary), text);
        }
        assert_eq!(canonical(2_000_000_000 * 1_000, false), "2G");
        assert_eq!(canonical(1_536 * 1_024 * 1_024 * 1_000, true), "1536Mi");
    }

    #[test]
    fn requests_win_and_replicas_multiply() {
        let pod = |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
        let spec: RayClusterSpec = serde_json::from_value(json!({
            "headGroupSpec": {"template": pod(json!({"requests": {"cpu": "300m", "memory": "1G"}, "limits": {"cpu": 1, "nvidia.com/gpu": 1}}))},
            "workerGroupSpecs": [
                {"groupName": "a", "replicas": 3, "minReplicas": 0, "maxReplicas": 1, "template": pod(json!({"limits": {"cpu": "1", "memory": "1G"}}))},
                {"groupName": "b", "replicas": 3, "suspend": true, "template": pod(json!({"limits": {"cpu": "1"}}))},
            ],
        }))
        .unwrap();
        let expected = Desired { cpu: "3300m".into(), memory: "4G".into(), gpu: "1".into(), tpu: "0".into() };
        assert_eq!(desired(&spec), expected);
    }
}
