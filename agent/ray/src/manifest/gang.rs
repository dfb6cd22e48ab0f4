//! Gang: the pods of a RayJob that must run together, with what each asks for and which nodes will do, and how far its groups
//! may grow.

use serde_json::Value;
use squadron_core::resources::Resources;

use super::{GangMember, wish};
use crate::{object, requests::pod_requests};

/// Head, submitter (in K8sJobMode) and the workers that the RayCluster starts with.
pub(super) fn of(manifest: &Value) -> Vec<GangMember> {
    let spec = object::at(manifest, &["spec"]);
    let cluster = object::at(spec, &["rayClusterSpec"]);
    let mut gang = Vec::new();
    if cluster.is_object() {
        let head = object::at(cluster, &["headGroupSpec", "template"]);
        let beside = if object::text(spec, &["submissionMode"]) == "SidecarMode" {
            default_submitter()
        } else {
            Resources::default()
        };
        let requests = pod_requests(head) + beside;
        gang.push(GangMember {
            role: "head".to_owned(),
            count: 1,
            most: None,
            requests,
            wish: wish::of(head),
        });
    }
    if matches!(object::text(spec, &["submissionMode"]), "" | "K8sJobMode") {
        gang.push(submitter(spec));
    }
    let autoscaling = object::at(cluster, &["enableInTreeAutoscaling"]) == true;
    let workers =
        object::list(cluster, &["workerGroupSpecs"]).iter().map(|group| workers(group, autoscaling));
    gang.extend(workers.filter(|member| member.count > 0 || member.most.is_some()));
    gang
}

fn submitter(spec: &Value) -> GangMember {
    let template = object::at(spec, &["submitterPodTemplate"]);
    let requests = if template.is_object() { pod_requests(template) } else { default_submitter() };
    GangMember { role: "submitter".to_owned(), count: 1, most: None, requests, wish: wish::of(template) }
}

fn default_submitter() -> Resources {
    Resources { cpu_milli: 500, memory_bytes: 200 << 20, gpus: 0 }
}

fn workers(group: &Value, autoscaling: bool) -> GangMember {
    let number = |field: &str, default: i64| object::at(group, &[field]).as_i64().unwrap_or(default);
    let (least, most) = (number("minReplicas", 0), number("maxReplicas", i64::from(i32::MAX)));
    let (wanted, hosts) =
        (if autoscaling { least } else { number("replicas", 0).max(least) }, number("numOfHosts", 1).max(1));
    let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let count = small(wanted.min(most).max(0).saturating_mul(hosts));
    let grows = autoscaling && object::at(group, &["suspend"]) != true;
    let template = object::at(group, &["template"]);
    GangMember {
        role: object::text(group, &["groupName"]).to_owned(),
        count,
        most: Some(small(most.saturating_mul(hosts))).filter(|most| grows && *most > count),
        requests: pod_requests(template),
        wish: wish::of(template),
    }
}
