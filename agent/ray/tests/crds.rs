//! The checked-in CustomResourceDefinitions are the generated ones.

// The test reads and writes files; the crate itself does not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::{fs, path::Path};

use squadron_ray::crd;

/// Run with `UPDATE=1` to write the files anew.
#[test]
fn checked_in_definitions_are_the_generated_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    for (name, generated) in crd::files() {
        let path = folder.join(&name);
        if std::env::var_os("UPDATE").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &generated).unwrap();
        }
        let checked_in = fs::read_to_string(&path).unwrap_or_default();
        let advice = "run `UPDATE=1 cargo test -p squadron-ray --test crds` and check the file in";
        assert!(checked_in == generated, "deploy/crds/{name} is not what the types say; {advice}");
    }
}

#[test]
fn definitions_fit_into_etcd() {
    for crd in crd::all() {
        let size = crd.to_string().len();
        assert!(size < 1_400_000, "{} has {size} bytes", crd["metadata"]["name"]);
    }
}
