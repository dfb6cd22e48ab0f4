//! The stage that all tests of a file share, set once.

use std::sync::OnceLock;

use squadron_e2e::stage::{Spec, Stage};

/// Two clusters with agents, one control plane.
pub fn stage() -> &'static Stage {
    static STAGE: OnceLock<Stage> = OnceLock::new();
    STAGE.get_or_init(|| Stage::set(Spec::tests(), &|part| println!("-- {part}")).expect("setting the stage"))
}

/// The text of a JSON value, empty if it is none.
pub fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
