//! The submitter's script.
//!
//! Idempotent: a restarted submitter finds its job by id and follows it. The quick form asks the dashboard by the
//! shell alone, because each start of the `ray` command takes seconds; it waits for all Ray nodes, and posts a plain
//! request itself, so that the driver starts while the log follower still loads. A request that the user's shell would
//! change ($, quotes and the like), or that uploads local files, goes through `ray job submit`.

use serde_json::Value;

use super::{pass::Pass, request};
use crate::{
    submission::Extras,
    types::RayJobSpec,
    validate::{entrypoint_resources, runtime_env},
};

/// Environment variable that holds the request body.
pub(super) const REQUEST: &str = "SQUADRON_RAY_JOB_REQUEST";

/// A script and, for its environment, the request it posts.
pub(super) struct Script {
    pub(super) text: String,
    pub(super) request: Option<String>,
}

/// The script that submits to `dashboard`, waiting for this many Ray nodes.
pub(super) fn of(pass: &Pass<'_>, dashboard: &str, id: &str, nodes: Option<i32>) -> Script {
    let address = format!("http://{dashboard}");
    if !pass.options.quick_submitter {
        return Script { text: patient(pass.spec, &address, id), request: None };
    }
    let (host, port) = dashboard.rsplit_once(':').unwrap_or((dashboard, "8265"));
    let request = plain_request(pass.spec, id);
    let submit = match &request {
        Some(body) => format!("post {}", body.len()),
        None => {
            format!("{} || known || exit 1", submit_command(pass.spec, &address, id))
        }
    };
    let wait = nodes.map_or_else(String::new, |nodes| format!("wait_for_nodes {nodes}\n"));
    let text = format!(
        "host={host}; port={port}; id={id}\n{FUNCTIONS}\
         wait_for_dashboard\n\
         if known; then\n\
         \x20 echo \"Job '$id' was submitted before; following its log.\"\n\
         else\n\
         {wait}\
         {submit}\n\
         fi\n\
         follow\n\
         watch\n",
    );
    Script { text, request }
}

/// `ask` speaks HTTP/1.0, so the answer ends with the connection.
const FUNCTIONS: &str = r#"ask() {
  timeout 5 bash -c 'exec 3<> "/dev/tcp/$0/$1"; printf "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n" "$2" "$0" >&3; cat <&3' "$host" "$port" "$1" 2> /dev/null || true
}
healthy() { [[ "$(ask /api/gcs_healthz)" == *success* ]]; }
known() { local answer; answer="$(ask "/api/jobs/$id")"; [[ "${answer%%$'\n'*}" == *" 200 "* ]]; }
state() { ask "/api/jobs/$id" | grep -oE '"status": *"(PENDING|RUNNING|STOPPED|SUCCEEDED|FAILED)"' | head -n 1 | cut -d '"' -f 4 || true; }
follow() { ray job logs --address "http://$host:$port" --follow "$id" || true; }
wait_for_dashboard() {
  SECONDS=0
  until healthy; do
    if (( SECONDS > 600 )); then echo "Ray's dashboard at $host:$port did not answer for 10 minutes." >&2; exit 1; fi
    sleep 0.2
  done
}
wait_for_nodes() {
  local alive=0; SECONDS=0
  while true; do
    alive="$(ask '/nodes?view=summary' | { grep -o '"state": *"ALIVE"' || true; } | wc -l)"
    if (( alive >= $1 )); then return; fi
    if (( alive == 0 && SECONDS > 60 )); then echo "The dashboard lists no nodes; submitting without waiting for them."; return; fi
    sleep 0.3
  done
}
post() {
  local answer
  answer="$(timeout 60 bash -c 'exec 3<> "/dev/tcp/$0/$1"; printf "POST /api/jobs/ HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s" "$0" "$2" "$SQUADRON_RAY_JOB_REQUEST" >&3; cat <&3' "$host" "$port" "$1" || true)"
  if [[ "${answer%%$'\n'*}" == *" 200 "* ]] || known; then
    echo "Job '$id' submitted successfully"
  else
    echo "Ray refused the job: ${answer:-no answer}" >&2
    exit 1
  fi
}
watch() {
  local misses=0
  while (( misses < 10 )); do
    case "$(state)" in
      SUCCEEDED | FAILED | STOPPED) return ;;
      PENDING | RUNNING) misses=0; follow ;;
      *) misses=$(( misses + 1 )) ;;
    esac
    sleep 1
  done
  echo "Ray's dashboard does not answer, or does not know job '$id' any more." >&2
}
"#;

/// The form that KubeRay's users know.
fn patient(spec: &RayJobSpec, address: &str, id: &str) -> String {
    let submit = submit_command(spec, address, id);
    format!(
        "if ! ray job status --address {address} {id} >/dev/null 2>&1 ; then {submit} ; fi ; \
         ray job logs --address {address} --follow {id}"
    )
}

fn submit_command(spec: &RayJobSpec, address: &str, id: &str) -> String {
    let mut command = format!("ray job submit --address {address} --no-wait");
    if let Ok(Some(env)) = runtime_env(spec) {
        command += &format!(" --runtime-env-json {}", quoted(&env.to_string()));
    }
    if let Some(metadata) = spec.metadata.as_ref().filter(|map| !map.is_empty()) {
        let text = serde_json::to_string(metadata).unwrap_or_default();
        command += &format!(" --metadata-json {}", quoted(&text));
    }
    command += &format!(" --submission-id {id}");
    let numbers = [("cpus", spec.entrypoint_num_cpus), ("gpus", spec.entrypoint_num_gpus)];
    for (name, number) in numbers {
        if let Some(number) = number.filter(|number| *number > 0.0) {
            command += &format!(" --entrypoint-num-{name} {number:.6}");
        }
    }
    if let Ok(Some(resources)) = entrypoint_resources(spec) {
        command += &format!(" --entrypoint-resources {}", quoted(&resources.to_string()));
    }
    command + " -- " + spec.entrypoint.as_deref().unwrap_or_default().trim()
}

/// Double quotes for the shell: variables are still filled in, as users of ray.io/v1 expect.
fn quoted(json: &str) -> String {
    let mut text = String::from("\"");
    for c in json.chars() {
        if matches!(c, '"' | '\\' | '`') {
            text.push('\\');
        }
        text.push(c);
    }
    text + "\""
}

/// The request, if posting it as it is does the same as `ray job submit` in the submitter's shell.
fn plain_request(spec: &RayJobSpec, id: &str) -> Option<String> {
    let entrypoint = spec.entrypoint.as_deref().unwrap_or_default().trim();
    let env = runtime_env(spec).ok().flatten().unwrap_or_default();
    let uploads =
        ["working_dir", "py_modules", "py_executable"].iter().any(|field| names_local_files(&env[*field]));
    let body = request::body(spec, &Extras::default(), id).to_string();
    let hooks = spec
        .submitter_pod_template
        .as_ref()
        .is_some_and(|template| template.to_string().contains("RAY_JOB_"));
    let safe = !entrypoint.is_empty() && is_plain(entrypoint) && !body.contains('$');
    (safe && !uploads && !hooks).then_some(body)
}

/// Whether a shell reads these words the same, however often it reads them: nothing special outside quotes, and
/// nothing that is filled in within them.
fn is_plain(words: &str) -> bool {
    let mut quote = None;
    for c in words.chars() {
        match quote {
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if !(c.is_ascii_alphanumeric() || " _./:=,@%+-".contains(c)) => return false,
            Some(open) if c == open => quote = None,
            Some('"') if matches!(c, '$' | '`' | '\\' | '!') => return false,
            _ => {}
        }
    }
    quote.is_none()
}

/// Anything but an address that Ray fetches itself.
fn names_local_files(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.contains("://"),
        Value::Array(items) => items.iter().any(names_local_files),
        _ => true,
    }
}
