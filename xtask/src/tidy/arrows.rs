//! Arrows: which crate of ours may depend on which. ARCHITECTURE.md draws the same table.

use anyhow::{Context, Result};
use serde_json::Value;

use squadron_e2e::command;

/// Each crate with all that it may depend on; a crate that is not listed here may not exist.
const ALLOWED: &[(&str, &[&str])] = &[
    ("squadron-core", &[]),
    ("squadron-proto", &[]),
    ("squadron-ray", &["squadron-core"]),
    ("squadron-store", &["squadron-core"]),
    ("squadron-api", &["squadron-core"]),
    (
        "squadron-control-plane",
        &["squadron-core", "squadron-proto", "squadron-ray", "squadron-store", "squadron-api"],
    ),
    ("squadron-agent", &["squadron-core", "squadron-proto", "squadron-ray"]),
    ("squadron-sim", &["squadron-core"]),
    ("squadron", &["squadron-api", "squadron-core", "squadron-ray", "squadron-sim"]),
    ("squadron-testbed", &[]),
    ("squadron-e2e", &[]),
    ("xtask", &["squadron-e2e"]),
];

/// Findings on the arrows that `cargo metadata` reports.
pub fn check() -> Result<Vec<String>> {
    let metadata = command::output(command::new("cargo").args([
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
        "--locked",
    ]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("reading cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata names no packages")?;
    Ok(packages.iter().flat_map(check_package).collect())
}

fn check_package(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        return vec![format!("crate {name} has no line in the table of arrows (xtask/src/tidy/arrows.rs)")];
    };
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    dependencies
        .iter()
        .filter(|dependency| dependency["path"].is_string())
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|target| *target != name && !allowed.contains(target))
        .map(|target| format!("{name} may not depend on {target}; allowed: {}", list(allowed)))
        .collect()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependency: &str) -> Value {
        serde_json::json!({"name": name, "dependencies": [
            {"name": dependency, "path": "/somewhere"},
            {"name": "serde", "path": null},
        ]})
    }

    #[test]
    fn arrow_of_the_table_is_fine_and_its_reverse_is_not() {
        assert_eq!(check_package(&package("squadron-ray", "squadron-core")), Vec::<String>::new());
        let refused = check_package(&package("squadron-core", "squadron-ray"));
        assert_eq!(refused, ["squadron-core may not depend on squadron-ray; allowed: nothing of ours"]);
    }

    #[test]
    fn crate_without_a_line_is_a_finding() {
        assert_eq!(check_package(&package("squadron-extra", "serde")).len(), 1);
    }
}
