//! The OpenAPI document says exactly what is served, and the one that is checked in is this one.

use std::collections::BTreeSet;

use squadron_control_plane::http;
use tokio_util::sync::CancellationToken;

use crate::plane::Plane;

#[tokio::test]
async fn the_document_names_every_route_and_no_other() {
    let plane = Plane::start().await;
    let (_router, table) = http::router(&plane.running.app, CancellationToken::new());
    let served: BTreeSet<String> =
        table.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let document = plane.get("/openapi.json").await;
    let mut told = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "delete"].into_iter().filter(|method| item.get(method).is_some())
        {
            told.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    assert_eq!(told, served);
    plane.stop().await;
}

#[test]
fn the_checked_in_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    let checked_in = std::fs::read_to_string(path).unwrap();
    assert!(
        checked_in == http::openapi::text(),
        "docs/openapi.json is out of date; write it with `squadron-control-plane openapi > docs/openapi.json`"
    );
}
