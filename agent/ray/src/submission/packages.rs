//! Packages: which uploaded files a runtime environment names.

use serde_json::{Map, Value};

const SCHEME: &str = "gcs://";

/// Names behind `gcs://` in `working_dir` and `py_modules`, each once, in order.
pub fn package_names(runtime_env: &Map<String, Value>) -> Vec<String> {
    let modules = runtime_env.get("py_modules").and_then(Value::as_array).into_iter().flatten();
    let addresses = runtime_env.get("working_dir").into_iter().chain(modules);
    let mut names: Vec<String> = Vec::new();
    for name in addresses.filter_map(Value::as_str).filter_map(|address| address.strip_prefix(SCHEME)) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
