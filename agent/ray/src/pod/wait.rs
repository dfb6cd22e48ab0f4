//! The init container in which a worker waits for its head (POD-10).

use serde_json::{Value, json};

use super::{Cluster, command::shell};
use crate::{object, options::WaitForGcs};

/// The container; `None` when waiting is switched off. Goes behind the user's own init containers.
pub(super) fn container(cluster: &Cluster<'_>, template: &Value) -> Option<Value> {
    let ray = object::list(template, &["spec", "containers"]).first()?;
    let (host, port) = (cluster.head_host(), cluster.gcs_port());
    let script = match cluster.options.wait_for_gcs {
        WaitForGcs::Off => return None,
        WaitForGcs::Quick => quick(&host, &port, cluster.fault_tolerant()),
        WaitForGcs::Patient => patient(&host, &port),
    };
    let limits = json!({"cpu": "200m", "memory": "256Mi"});
    let mut container = json!({
        "name": "wait-gcs-ready",
        "command": shell(cluster.options, ""),
        "args": [script],
        "resources": {"limits": limits, "requests": limits},
    });
    for field in ["image", "imagePullPolicy", "securityContext", "env", "volumeMounts"] {
        if let Some(value) = ray.get(field).filter(|value| !value.is_null()) {
            container[field] = value.clone();
        }
    }
    Some(container)
}

/// Knocks at the port; a process start of Python would take longer than the whole wait. With external storage the
/// port opens before the state is loaded, so there the GCS is asked once more itself.
fn quick(host: &str, port: &str, fault_tolerant: bool) -> String {
    let check = if fault_tolerant {
        format!("until ray health-check --address {host}:{port} > /dev/null 2>&1; do sleep 1; done\n")
    } else {
        String::new()
    };
    format!(
        "SECONDS=0; next=30\n\
         until (exec 3<>/dev/tcp/{host}/{port}) 2> /dev/null; do\n\
         \x20 if (( SECONDS >= next )); then\n\
         \x20   echo \"$SECONDS seconds elapsed: nothing answers at {host}:{port} yet. Look at the head pod's events and log.\"\n\
         \x20   next=$(( next + 30 ))\n\
         \x20 fi\n\
         \x20 sleep 0.2\n\
         done\n\
         {check}echo \"GCS is ready.\"\n"
    )
}

fn patient(host: &str, port: &str) -> String {
    format!(
        "SECONDS=0\n\
         until ray health-check --address {host}:{port} > /dev/null 2>&1; do\n\
         \x20 echo \"$SECONDS seconds elapsed: Waiting for GCS to be ready at {host}:{port}.\"\n\
         \x20 sleep 5\n\
         done\n\
         echo \"GCS is ready.\"\n"
    )
}
