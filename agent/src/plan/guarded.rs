//! Guarded: an attempt that asks for the watchdog gets one in each of its Ray pods.
//!
//! Invariant: the watchdog is the first process of the Ray container and starts Ray by the command that the reconciler made for
//! it, KubeRay's or ours, so nothing of the job runs there without it. An attempt that asks for what cannot be had is refused:
//! one that runs unguarded would be the worse surprise. Attempts that wait stop by nobody's clock and get none.

use serde_json::{Map, Value, json};
use squadron_core::{job::marks, lease::Policy as OnLost};

use super::{DesiredAttempt, Unbuildable, build::of_cluster};
use crate::watchdog::{
    install::SCRIPT,
    run::{ADDRESS, SECRET},
    word::Secret,
};

/// Annotation of a guarded RayJob: the secret of its attempt, by which the agent's next lives know it too.
pub const SECRET_ANNOTATION: &str = "squadron.dev/watchdog-secret";
/// Annotation by which both reconcilers leave the command of the Ray container as it is.
const OWN_COMMAND: &str = "ray.io/overwrite-container-cmd";
/// Name of the volume and of the container that fills it.
const NAME: &str = "squadron-watchdog";
const FOLDER: &str = "/squadron-watchdog";

/// What this cluster offers to guarded attempts.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Host and port where the agent answers.
    pub address: String,
    /// Image of the agent.
    pub image: String,
    /// By which it makes the secrets of attempts.
    pub secret: Secret,
}

/// The RayJob with its watchdogs, if it asks for them and would stop when a lease ends.
pub fn guarded(
    mut job: Value,
    attempt: &DesiredAttempt,
    offer: Option<&Offer>,
) -> Result<Value, Unbuildable> {
    let asks = job["metadata"]["annotations"][marks::WATCHDOG] == "true";
    if !asks || attempt.on_lost() == OnLost::Wait {
        return Ok(job);
    }
    let refuse = |why: &str| Unbuildable::Unguarded(why.to_owned());
    let offer =
        offer.ok_or_else(|| refuse("the agent of this cluster was installed without watchdog.enabled"))?;
    let secret = offer.secret.of(attempt.id);
    let starts_itself = job["metadata"]["annotations"][OWN_COMMAND] == "true";
    let cluster = job.pointer_mut("/spec/rayClusterSpec").filter(|cluster| cluster.is_object());
    let cluster = cluster.ok_or_else(|| refuse("it runs in a RayCluster that is not its own"))?;
    for template in of_cluster(cluster) {
        guard(template, offer, &secret, starts_itself).map_err(refuse)?;
    }
    let annotations = job.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    let annotations = annotations.ok_or_else(|| refuse("it has no annotations"))?;
    annotations.insert(SECRET_ANNOTATION.into(), secret.text().into());
    annotations.insert(OWN_COMMAND.into(), "true".into());
    Ok(job)
}

fn guard(
    template: &mut Value,
    offer: &Offer,
    secret: &Secret,
    starts_itself: bool,
) -> Result<(), &'static str> {
    let pod = template.get_mut("spec").and_then(Value::as_object_mut).ok_or("a pod template has no spec")?;
    if pod.get("shareProcessNamespace") == Some(&true.into()) || pod.get("hostPID") == Some(&true.into()) {
        return Err("its containers share their processes, so no watchdog would be the first of them");
    }
    let ray = pod.get_mut("containers").and_then(|all| all.get_mut(0)).and_then(Value::as_object_mut);
    let ray = ray.ok_or("a pod template has no container")?;
    let command = command(ray, starts_itself)?;
    let script = format!("{FOLDER}/{SCRIPT}");
    let guarded: Vec<Value> = [json!(script), json!("--")].into_iter().chain(command).collect();
    ray.insert("command".into(), guarded.into());
    ray.remove("args");
    push(ray, "volumeMounts", json!({"name": NAME, "mountPath": FOLDER, "readOnly": true}));
    push(ray, "env", json!({"name": ADDRESS, "value": offer.address}));
    push(ray, "env", json!({"name": SECRET, "value": secret.text()}));
    push(pod, "volumes", json!({"name": NAME, "emptyDir": {}}));
    let mut before = vec![installer(offer)];
    before.extend(list(pod, "initContainers"));
    pod.insert("initContainers".into(), before.into());
    Ok(())
}

/// What the watchdog runs: what the job says itself, or what the reconciler would have made of it.
fn command(ray: &Map<String, Value>, starts_itself: bool) -> Result<Vec<Value>, &'static str> {
    let own = [list(ray, "command"), list(ray, "args")].concat();
    let words: Vec<&str> = own.iter().filter_map(Value::as_str).collect();
    let said = words.join(" ");
    if starts_itself || said.contains("ray start") {
        let none = "it starts Ray by the entrypoint of its image, which is not known here; give its containers a command";
        return if list(ray, "command").is_empty() { Err(none) } else { Ok(own) };
    }
    let start = "ulimit -n \"${RAY_START_ULIMIT_OPEN_FILES:-65536}\"; eval \"$KUBERAY_GEN_RAY_START_CMD\"";
    let script = if said.is_empty() { start.to_owned() } else { format!("{said} && {start}") };
    Ok(["/bin/bash", "-c", "--", &script].map(Value::from).to_vec())
}

fn installer(offer: &Offer) -> Value {
    json!({
        "name": NAME,
        "image": offer.image,
        "args": ["watchdog", "install", FOLDER],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": NAME, "mountPath": FOLDER}],
    })
}

fn list(fields: &Map<String, Value>, name: &str) -> Vec<Value> {
    fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn push(fields: &mut Map<String, Value>, name: &str, item: Value) {
    let mut items = list(fields, name);
    items.push(item);
    fields.insert(name.into(), items.into());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_core::id::AttemptId;

    use super::*;

    fn offer() -> Offer {
        Offer { address: "agent:8082".into(), image: "agent:1".into(), secret: Secret::draw() }
    }

    fn attempt(on_lost: &str) -> DesiredAttempt {
        let id = AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 };
        DesiredAttempt { on_lost: on_lost.into(), ..DesiredAttempt::bare(id) }
    }

    /// A RayJob with this Ray container in its head and its only group.
    fn job(ray: &Value, more: &Value) -> Value {
        let mut annotations = json!({"squadron.dev/watchdog": "true"});
        annotations.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let template = json!({"spec": {"containers": [ray, {"name": "beside"}],
            "initContainers": [{"name": "own"}]}});
        json!({"metadata": {"annotations": annotations}, "spec": {"rayClusterSpec": {
            "headGroupSpec": {"template": template}, "workerGroupSpecs": [{"template": template}]}}})
    }

    fn pods(job: &Value) -> [Value; 2] {
        ["/headGroupSpec/template/spec", "/workerGroupSpecs/0/template/spec"]
            .map(|path| job.pointer(&format!("/spec/rayClusterSpec{path}")).unwrap().clone())
    }

    #[test]
    fn every_ray_container_starts_behind_a_watchdog_with_the_secret_of_the_attempt() {
        let (offer, attempt) = (offer(), attempt("fence"));
        let ray = json!({"name": "ray", "env": [{"name": "A", "value": "b"}]});
        let built = guarded(job(&ray, &json!({})), &attempt, Some(&offer)).unwrap();
        let secret = offer.secret.of(attempt.id);
        assert_eq!(built["metadata"]["annotations"][SECRET_ANNOTATION], secret.text());
        assert_eq!(built["metadata"]["annotations"][OWN_COMMAND], "true");
        for pod in pods(&built) {
            let command: Vec<&str> = pod["containers"][0]["command"]
                .as_array()
                .unwrap()
                .iter()
                .map(|word| word.as_str().unwrap())
                .collect();
            assert_eq!(command[..5], ["/squadron-watchdog/watchdog", "--", "/bin/bash", "-c", "--"]);
            assert!(command[5].ends_with("eval \"$KUBERAY_GEN_RAY_START_CMD\""), "{}", command[5]);
            assert_eq!(pod["containers"][0]["env"][2]["value"], secret.text());
            assert_eq!(pod["containers"][1], json!({"name": "beside"}));
            assert_eq!(
                (&pod["initContainers"][0]["image"], &pod["initContainers"][1]["name"]),
                (&json!("agent:1"), &json!("own"))
            );
        }
    }

    #[test]
    fn what_runs_before_ray_and_who_starts_ray_himself_stay_as_they_were() {
        let commands = |ray: &Value, more: &Value| {
            let built = guarded(job(ray, more), &attempt("rerun"), Some(&offer()))?;
            assert_eq!(pods(&built)[0]["containers"][0]["args"], Value::Null);
            Ok::<_, Unbuildable>(pods(&built)[0]["containers"][0]["command"].clone())
        };
        let before = commands(&json!({"command": ["prepare"], "args": ["data"]}), &json!({})).unwrap();
        assert!(before[5].as_str().unwrap().starts_with("prepare data && ulimit"), "{before}");
        let own = json!({"command": ["bash", "-c"], "args": ["ray start --head --block"]});
        let kept = json!(["/squadron-watchdog/watchdog", "--", "bash", "-c", "ray start --head --block"]);
        assert_eq!(commands(&own, &json!({})).unwrap(), kept);
        let overwrites = json!({"ray.io/overwrite-container-cmd": "true"});
        assert_eq!(commands(&own, &overwrites).unwrap(), kept);
        assert!(
            commands(&json!({"args": ["x"]}), &overwrites).unwrap_err().to_string().contains("entrypoint")
        );
    }

    #[test]
    fn what_cannot_be_guarded_is_refused_and_who_does_not_ask_gets_nothing() {
        let (ray, offer) = (json!({"name": "ray"}), offer());
        let asks = job(&ray, &json!({}));
        let missing = guarded(asks.clone(), &attempt("fence"), None).unwrap_err().to_string();
        assert!(missing.contains("watchdog.enabled"), "{missing}");
        let mut shared = asks.clone();
        shared["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["shareProcessNamespace"] =
            true.into();
        assert!(guarded(shared, &attempt("fence"), Some(&offer)).is_err());
        let mut selects = asks.clone();
        selects["spec"] = json!({"clusterSelector": {"a": "b"}});
        assert!(guarded(selects, &attempt("fence"), Some(&offer)).is_err());
        assert_eq!(guarded(asks.clone(), &attempt("wait"), None).unwrap(), asks, "nobody's clock stops it");
        let plain = job(&ray, &json!({"squadron.dev/watchdog": "false"}));
        assert_eq!(guarded(plain.clone(), &attempt("fence"), None).unwrap(), plain);
    }
}
