//! Services of a RayCluster.

use serde_json::json;

use super::*;
use crate::{Options, plan::Action};

fn services(change: impl FnOnce(&mut Value), options: Options) -> Vec<Value> {
    let mut cluster = ray_cluster(0, 0, 1);
    change(&mut cluster);
    let mut world = world(cluster);
    world.options = options;
    let created = world.plan_cluster("c").steps.into_iter().filter_map(|step| match step.action {
        Action::Create { object } if object["kind"] == "Service" => Some(object),
        _ => None,
    });
    created.collect()
}

fn head_service(change: impl FnOnce(&mut Value)) -> Value {
    services(change, Options::default()).remove(0)
}

fn ports(service: &Value) -> Vec<(String, i64)> {
    let ports = service["spec"]["ports"].as_array().unwrap().iter();
    ports.map(|port| (port["name"].as_str().unwrap().to_owned(), port["port"].as_i64().unwrap())).collect()
}

#[test]
fn obj_1_ports_come_from_the_ray_container() {
    let service = head_service(|cluster| {
        let container = &mut cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0];
        container["ports"] = json!([{"name": "dashboard", "containerPort": 9000}, {"containerPort": 77}]);
    });
    let expected = [("77-port", 77), ("dashboard", 9_000), ("metrics", 8_080)];
    assert_eq!(ports(&service), expected.map(|(name, port)| (name.to_owned(), port)));
}

#[test]
fn obj_1_other_types_are_not_headless() {
    let service = head_service(|cluster| cluster["spec"]["headGroupSpec"]["serviceType"] = json!("NodePort"));
    assert_eq!((&service["spec"]["type"], &service["spec"]["clusterIP"]), (&json!("NodePort"), &Value::Null));
    let own = services(|_| {}, Options { head_cluster_ip: true, ..Options::default() }).remove(0);
    assert!(own["spec"]["clusterIP"].is_null() && own["spec"]["publishNotReadyAddresses"].is_null());
}

#[test]
fn obj_1_own_service_keeps_what_may_be_its_own() {
    let service = head_service(|cluster| {
        cluster["spec"]["headServiceAnnotations"] = json!({"a": "ours", "b": "ours"});
        cluster["spec"]["headGroupSpec"]["headService"] = json!({
            "metadata": {"name": "mine", "namespace": "elsewhere", "labels": {"l": "1", "ray.io/cluster": "x"}, "annotations": {"a": "theirs"}},
            "spec": {"type": "LoadBalancer", "selector": {"x": "y"}, "ports": [{"name": "extra", "port": 1}, {"name": "dashboard", "port": 2}]},
        });
    });
    assert_eq!(
        (&service["metadata"]["name"], &service["metadata"]["namespace"]),
        (&json!("mine"), &json!("test"))
    );
    assert_eq!(
        (&service["metadata"]["labels"]["l"], &service["metadata"]["labels"]["ray.io/cluster"]),
        (&json!("1"), &json!("c"))
    );
    assert_eq!(service["metadata"]["annotations"], json!({"a": "ours", "b": "ours"}));
    assert_eq!(
        (&service["spec"]["type"], &service["spec"]["selector"]["x"]),
        (&json!("LoadBalancer"), &Value::Null)
    );
    assert_eq!(ports(&service)[..2], [("extra".to_owned(), 1), ("dashboard".to_owned(), 2)]);
    assert!(ports(&service).iter().any(|(name, _)| name == "gcs-server"));
}

#[test]
fn obj_1_app_name_of_the_head_is_selected() {
    let service = head_service(|cluster| {
        cluster["spec"]["headGroupSpec"]["template"]["metadata"] =
            json!({"labels": {"app.kubernetes.io/name": "mine"}});
    });
    assert_eq!(service["spec"]["selector"]["app.kubernetes.io/name"], "mine");
}

#[test]
fn obj_2_serve_service_is_made_on_request() {
    let made = services(
        |cluster| cluster["metadata"]["annotations"] = json!({"ray.io/enable-serve-service": "true"}),
        Options::default(),
    );
    assert_eq!((made.len(), made[1]["metadata"]["name"].as_str()), (2, Some("c-serve-svc")));
    assert_eq!(ports(&made[1]), [("serve".to_owned(), 8_000)]);
}
