//! Preferences and the pin that a manifest states by annotations, and a manifest that states others.

use serde_json::{Map, Value};
use squadron_core::{
    job::marks,
    preference::{Field, Texts, read},
};

use super::FieldError;
use crate::object;

/// What the annotations say.
pub(super) fn texts(manifest: &Value) -> Texts {
    let mut texts = Texts::default();
    for field in Field::ALL {
        let text = object::annotation(manifest, &field.annotation());
        if !text.is_empty() {
            texts.set(field, text.to_owned());
        }
    }
    texts
}

/// The only cluster that it may run on, if it says so.
pub(super) fn cluster(manifest: &Value) -> Option<String> {
    let name = object::annotation(manifest, marks::CLUSTER).trim();
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// Everything that is wrong with what they say.
pub(super) fn check(manifest: &Value) -> Vec<FieldError> {
    let faults = read(&texts(manifest)).err().unwrap_or_default();
    let error = |fault: squadron_core::preference::Fault| FieldError {
        path: format!("metadata.annotations[\"{}\"]", fault.field.annotation()),
        problem: fault.problem,
    };
    faults.into_iter().map(error).collect()
}

/// The manifest with this pin and these preferences as its annotations, so that its object says what was decided by.
pub fn stating(manifest: &Value, cluster: Option<&str>, texts: &Texts) -> Value {
    let mut manifest = manifest.clone();
    let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) else { return manifest };
    let stated = Field::ALL.into_iter().filter(|field| !texts.get(*field).is_empty());
    let stated = stated.map(|field| (field.annotation(), texts.get(field).into()));
    let pinned = cluster.map(|name| (marks::CLUSTER.to_owned(), name.into()));
    let stated: Vec<(String, Value)> = stated.chain(pinned).collect();
    if stated.is_empty() {
        return manifest;
    }
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    // YAML writes null where somebody left everything below out.
    if annotations.is_null() {
        *annotations = Map::new().into();
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.extend(stated);
    }
    manifest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_read_checked_and_stated() {
        let manifest =
            json!({"metadata": {"annotations": {"squadron.dev/prefer": "west", "squadron.dev/spot": "no"}}});
        assert_eq!(texts(&manifest).get(Field::Prefer), "west");
        let wrong: Vec<String> = check(&manifest).iter().map(ToString::to_string).collect();
        assert_eq!(
            wrong,
            ["metadata.annotations[\"squadron.dev/spot\"]: \"no\" is not known; write never or allow"]
        );
        let mut others = Texts::default();
        others.set(Field::Spot, "never".to_owned());
        others.set(Field::MaxPrice, "3 EUR".to_owned());
        let stated = stating(&manifest, None, &others);
        let expected = json!({"squadron.dev/prefer": "west", "squadron.dev/spot": "never", "squadron.dev/max-price": "3 EUR"});
        assert_eq!(stated["metadata"]["annotations"], expected);
        assert_eq!(texts(&stating(&json!({"metadata": {}}), None, &others)), others);
        assert_eq!(texts(&stating(&json!({"metadata": {"annotations": null}}), None, &others)), others);
        assert_eq!(stating(&manifest, None, &Texts::default()), manifest);
    }
    #[test]
    fn a_pin_is_read_and_stated_and_a_blank_one_pins_nothing() {
        let pinned = |name: &str| json!({"metadata": {"annotations": {"squadron.dev/cluster": name}}});
        assert_eq!(cluster(&pinned(" west")).as_deref(), Some("west"));
        assert_eq!((cluster(&pinned(" ")), cluster(&json!({"metadata": {}}))), (None, None));
        let stated = stating(&pinned("west"), Some("east"), &Texts::default());
        assert_eq!(stated, pinned("east"));
    }
}
