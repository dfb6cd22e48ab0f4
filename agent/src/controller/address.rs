//! Address: where a dashboard really listens.
//!
//! Owns the way from a head Service's name to its head pod's address, read from the cache. That spares a DNS question
//! per request and the seconds for which a resolver remembers that a young Service had no address. What the cache does
//! not know is left to DNS.

use serde_json::Value;
use squadron_ray::view::Object;

use crate::watch::{Cache, Kind, object};

/// `host:port` for a dashboard that plans call `service.namespace.svc…:port`.
pub fn resolve(dashboard: &str, cache: &Cache) -> String {
    direct(dashboard, cache).unwrap_or_else(|| dashboard.to_owned())
}

fn direct(dashboard: &str, cache: &Cache) -> Option<String> {
    let (host, port) = dashboard.rsplit_once(':')?;
    let mut parts = host.split('.');
    let (name, namespace) = (parts.next()?, parts.next()?);
    let service = cache.get(Kind::Service, namespace, name)?;
    let cluster = service["spec"]["selector"]["ray.io/cluster"].as_str()?;
    let pods = cache.shelf(Kind::Pod).of_cluster(namespace, cluster);
    let head = pods.iter().find(|pod| is_running_head(pod))?;
    let address = head["status"]["podIP"].as_str()?;
    let port = target_port(&service, head, port.parse().ok()?)?;
    Some(if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") })
}

fn is_running_head(pod: &Object) -> bool {
    object::label(pod, "ray.io/node-type") == "head"
        && !object::is_deleting(pod)
        && pod["status"]["phase"] == "Running"
}

/// The container's port behind a Service's port; a named target is looked up in the pod.
fn target_port(service: &Value, pod: &Value, port: u64) -> Option<u64> {
    let ports = service["spec"]["ports"].as_array()?;
    let entry = ports.iter().find(|entry| entry["port"].as_u64() == Some(port))?;
    match &entry["targetPort"] {
        Value::Number(number) => number.as_u64(),
        Value::String(name) => {
            let containers = pod["spec"]["containers"].as_array()?;
            let named = containers.iter().filter_map(|container| container["ports"].as_array()).flatten();
            named.into_iter().find(|port| port["name"] == *name)?["containerPort"].as_u64()
        }
        _ => Some(port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn cache(phase: &str) -> Cache {
        let cache = Cache::default();
        cache.shelf(Kind::Service).put(Arc::new(json!({
            "metadata": {"namespace": "ml", "name": "c-head-svc", "uid": "s", "labels": {"ray.io/cluster": "c"}},
            "spec": {"selector": {"ray.io/cluster": "c"}, "ports": [{"port": 8265, "targetPort": "dashboard"}]}})));
        cache.shelf(Kind::Pod).put(Arc::new(json!({
            "metadata": {"namespace": "ml", "name": "c-head", "uid": "p",
                "labels": {"ray.io/cluster": "c", "ray.io/node-type": "head"}},
            "spec": {"containers": [{"ports": [{"name": "dashboard", "containerPort": 9000}]}]},
            "status": {"phase": phase, "podIP": "10.1.2.3"}})));
        cache
    }

    #[test]
    fn head_pod_answers_for_its_service() {
        let asked = "c-head-svc.ml.svc.cluster.local:8265";
        assert_eq!(resolve(asked, &cache("Running")), "10.1.2.3:9000");
        assert_eq!(resolve(asked, &cache("Pending")), asked);
        assert_eq!(resolve("ray.example.com:8265", &cache("Running")), "ray.example.com:8265");
    }
}
