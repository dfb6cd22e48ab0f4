//! The command that starts Ray (POD-4).

use serde_json::{Value, json};

use super::{Cluster, Node, labels::overwrites_command, params, ray_container};
use crate::{object, options::Options};

/// `ray start …` with all params, sorted.
pub(super) fn ray_start(node: Node<'_>, params: &params::Params) -> String {
    let head = if matches!(node, Node::Head) { " --head" } else { "" };
    format!("ray start{head}{}", params::render(params))
}

/// `/bin/bash -c --`, with further one-letter options.
pub(crate) fn shell(options: &Options, letters: &str) -> Value {
    let login = if options.login_shell { "l" } else { "" };
    json!(["/bin/bash", format!("-c{letters}{login}"), "--"])
}

/// Replaces the Ray container's command, unless the user starts Ray himself. A user's own command runs first.
pub(super) fn set(cluster: &Cluster<'_>, template: &mut Value, start: &str) {
    let overwritten = overwrites_command(template);
    let container = ray_container(template);
    let own = words(container, "command").chain(words(container, "args")).collect::<Vec<_>>().join(" ");
    if overwritten || own.contains("ray start") {
        return;
    }
    let generated = format!("ulimit -n \"${{RAY_START_ULIMIT_OPEN_FILES:-65536}}\"; {start}");
    let script = if own.is_empty() { generated } else { format!("{own} && {generated}") };
    container["command"] = shell(cluster.options, "");
    container["args"] = json!([script]);
}

fn words<'a>(container: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    object::list(container, &[field]).iter().filter_map(Value::as_str)
}
