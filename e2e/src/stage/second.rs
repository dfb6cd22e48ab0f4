//! A second agent: a copy of a cluster's controller, with a key, a spool and a Lease of its own and the same cluster id.
//!
//! It runs in the agent's namespace, so that its projected token is as good as the first one's, but takes its Lease in a
//! namespace of its own, because otherwise it would only wait for the first. It never operates. Dropping it removes it.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{NAMESPACE, Stage};

/// Its name, and the namespace of its Lease.
const NAME: &str = "squadron-second-agent";
const FIRST: &str = "squadron-agent";

/// Removes the second agent when it goes.
pub struct SecondAgent<'a> {
    stage: &'a Stage,
    cluster: String,
}

impl Stage {
    /// Starts a second agent in `cluster`.
    pub fn second_agent(&self, cluster: &str) -> Result<SecondAgent<'_>> {
        let read = ["-n", NAMESPACE, "get", "deployment", FIRST, "-o", "json"];
        let first = serde_json::from_str(&self.kubectl(cluster, &read)?).context("the agent's Deployment")?;
        let second = SecondAgent { stage: self, cluster: cluster.to_owned() };
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects(&first)});
        let file = crate::job::write(NAME, &list.to_string())?.to_string_lossy().into_owned();
        self.kubectl(cluster, &["apply", "-f", &file])?;
        Ok(second)
    }
}

impl SecondAgent<'_> {
    /// What it has said so far.
    pub fn log(&self) -> Result<String> {
        self.stage.kubectl(&self.cluster, &["-n", NAMESPACE, "logs", &format!("deployment/{NAME}")])
    }

    /// The uid of its pod.
    pub fn pod_uid(&self) -> Result<String> {
        let selector = format!("app.kubernetes.io/component={NAME}");
        let uid = "jsonpath={.items[*].metadata.uid}";
        self.stage.kubectl(&self.cluster, &["-n", NAMESPACE, "get", "pods", "-l", &selector, "-o", uid])
    }

    /// Removes it; returns when its pod is gone.
    pub fn remove(&self) -> Result<()> {
        let delete = ["delete", "--ignore-not-found", "--wait", "--cascade=foreground"];
        let deployment = ["-n", NAMESPACE, "deployment", NAME];
        self.stage.kubectl(&self.cluster, &[delete.as_slice(), &deployment].concat())?;
        self.stage.kubectl(&self.cluster, &[&delete[..3], &["namespace", NAME]].concat()).map(drop)
    }
}

impl Drop for SecondAgent<'_> {
    fn drop(&mut self) {
        if let Err(problem) = self.remove() {
            eprintln!("the second agent of {} could not be removed: {problem:#}", self.cluster);
        }
    }
}

fn objects(first: &Value) -> Vec<Value> {
    let account = first["spec"]["template"]["spec"]["serviceAccountName"].clone();
    let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME});
    let here = json!({"name": NAME, "namespace": NAME});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": here, "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
             "verbs": ["create", "get", "update", "patch"]},
            {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list", "watch", "delete"]}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": here,
            "roleRef": role, "subjects": [subject]}),
        copy(first),
    ]
}

/// The Deployment under another name, with labels of its own, that keeps nothing and observes only.
fn copy(first: &Value) -> Value {
    let labels = json!({"app.kubernetes.io/component": NAME});
    let mut spec = first["spec"].clone();
    spec["selector"] = json!({"matchLabels": labels});
    spec["template"]["metadata"] = json!({"labels": labels});
    let pod = &mut spec["template"]["spec"];
    for volume in pod["volumes"].as_array_mut().into_iter().flatten() {
        if volume["name"] == "spool" {
            *volume = json!({"name": "spool", "emptyDir": {}});
        }
    }
    for variable in pod["containers"][0]["env"].as_array_mut().into_iter().flatten() {
        match variable["name"].as_str() {
            Some("POD_NAMESPACE") => *variable = json!({"name": "POD_NAMESPACE", "value": NAME}),
            Some("SQUADRON_MODE") => *variable = json!({"name": "SQUADRON_MODE", "value": "observe"}),
            _ => {}
        }
    }
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels}, "spec": spec})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_differs_where_it_must_and_nowhere_else() {
        let variable = |name: &str, value: &str| json!({"name": name, "value": value});
        let first = json!({"metadata": {"name": FIRST, "uid": "u"}, "status": {}, "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/component": "controller"}},
            "template": {"metadata": {"labels": {"app.kubernetes.io/component": "controller"}}, "spec": {
                "serviceAccountName": "squadron-agent",
                "containers": [{"env": [variable("SQUADRON_CLUSTER_ID", "c1"), variable("POD_NAMESPACE", "squadron"),
                    variable("SQUADRON_MODE", "operate")]}],
                "volumes": [{"name": "token", "projected": {}},
                    {"name": "spool", "persistentVolumeClaim": {"claimName": "s"}}]}}}});
        let second = copy(&first);
        let pod = &second["spec"]["template"]["spec"];
        let expected = [("SQUADRON_CLUSTER_ID", "c1"), ("POD_NAMESPACE", NAME), ("SQUADRON_MODE", "observe")];
        let expected: Vec<Value> = expected.iter().map(|(name, value)| variable(name, value)).collect();
        assert_eq!(pod["containers"][0]["env"], json!(expected));
        assert_eq!(pod["volumes"][0], first["spec"]["template"]["spec"]["volumes"][0]);
        assert_eq!(pod["volumes"][1], json!({"name": "spool", "emptyDir": {}}));
        assert_eq!(
            second["spec"]["selector"]["matchLabels"],
            second["spec"]["template"]["metadata"]["labels"]
        );
        assert!(second["metadata"]["uid"].is_null() && second["status"].is_null());
    }
}
