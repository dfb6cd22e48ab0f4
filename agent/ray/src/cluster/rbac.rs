//! What the autoscaler in the head pod may do (OBJ-4).
//!
//! Looked up and created under the same, trimmed name.

use serde_json::{Value, json};

use super::Pass;
use crate::{
    names, object,
    plan::{Action, Event, Plan, Step},
    pod::service_account,
    view::Object,
};

pub(super) fn plan(pass: &Pass<'_>, plan: &mut Plan) {
    if !pass.cluster.spec.autoscaling() {
        return;
    }
    let account = names::checked_name(&service_account(&pass.view.cluster, pass.cluster.spec));
    let own = object::text(&pass.cluster.spec.head_group_spec.template, &["spec", "serviceAccountName"]);
    let name = names::checked_name(pass.name());
    if !has(&pass.view.service_accounts, &account) {
        if own.is_empty() {
            create(pass, plan, &ACCOUNT, &account, &json!({}));
        } else {
            report_missing(pass, plan, own);
        }
    }
    if !has(&pass.view.roles, &name) {
        create(pass, plan, &ROLE, &name, &json!({"rules": rules()}));
    }
    if !has(&pass.view.role_bindings, &name) {
        let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": pass.namespace()});
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        create(pass, plan, &BINDING, &name, &json!({"subjects": [subject], "roleRef": role}));
    }
}

struct Kind {
    api_version: &'static str,
    kind: &'static str,
    created: &'static str,
    failed: &'static str,
}

const ACCOUNT: Kind = Kind {
    api_version: "v1",
    kind: "ServiceAccount",
    created: "CreatedServiceAccount",
    failed: "FailedToCreateServiceAccount",
};
const ROLE: Kind = Kind {
    api_version: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    created: "CreatedRole",
    failed: "FailedToCreateRole",
};
const BINDING: Kind = Kind {
    api_version: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    created: "CreatedRoleBinding",
    failed: "FailedToCreateRoleBinding",
};

fn has(known: &[Object], name: &str) -> bool {
    known.iter().any(|object| object::name(object) == name)
}

fn create(pass: &Pass<'_>, plan: &mut Plan, kind: &Kind, name: &str, content: &Value) {
    let mut object = json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "namespace": pass.namespace(),
            "labels": {
                names::CLUSTER: names::label_value(pass.name()),
                names::APP_NAME: names::APP,
                names::CREATED_BY: names::OPERATOR,
            },
            "ownerReferences": object::owned_by(&pass.view.cluster, "RayCluster"),
        },
    });
    for (field, value) in content.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    let what = format!("{} {}/{name}", kind.kind, pass.namespace());
    let step = Step::new(format!("create/{}/{name}", kind.kind), Action::Create { object })
        .done(Event::normal(kind.created, "Create", format!("Created {what}")))
        .failed(Event::warning(kind.failed, "Create", format!("Failed to create {what}")))
        .gate();
    pass.push(plan, step);
}

/// Told once per pass without pods: the head could not start without its account.
fn report_missing(pass: &Pass<'_>, plan: &mut Plan, account: &str) {
    if pass.pods.is_empty() {
        let message = format!(
            "ServiceAccount {}/{account} named by the head template does not exist; create it, or remove the name",
            pass.namespace()
        );
        plan.events.push(Event::warning("AutoscalerServiceAccountNotFound", "Create", message));
    }
}

fn rules() -> Value {
    json!([
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
        {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
    ])
}
