//! The OpenAPI document: every module's part, merged. Checked in at docs/openapi.json; a test compares the two.

use axum::Json;
use squadron_api::error::Problem;
use utoipa::OpenApi;

use super::{
    arrivals, audit, clusters, events, health, incidents, jobs, logs, lost, policy, prices, queues, ray_jobs,
    routes::{Access, Routes},
    session, tokens, usage,
};

#[derive(OpenApi)]
#[openapi(
    info(title = "Squadron", description = "One control plane for Ray on many Kubernetes clusters."),
    paths(serve),
    components(schemas(Problem))
)]
struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get("/openapi.json", Access::Public, serve)
}

/// The whole document.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = Doc::openapi();
    let parts = [
        health::Doc::openapi(),
        session::Doc::openapi(),
        tokens::Doc::openapi(),
        audit::Doc::openapi(),
        events::Doc::openapi(),
        clusters::Doc::openapi(),
        arrivals::Doc::openapi(),
        logs::Doc::openapi(),
        lost::Doc::openapi(),
        jobs::Doc::openapi(),
        queues::Doc::openapi(),
        policy::Doc::openapi(),
        incidents::Doc::openapi(),
        usage::Doc::openapi(),
        prices::Doc::openapi(),
        ray_jobs::Doc::openapi(),
    ];
    for part in parts {
        document.merge(part);
    }
    name_operations(&mut document);
    document
}

/// Makes operation ids unique by their module, as generators of clients ask: `jobs_list`, `queues_list`.
fn name_operations(document: &mut utoipa::openapi::OpenApi) {
    let paths = document.paths.paths.values_mut();
    let operations = paths.flat_map(|item| [&mut item.get, &mut item.post, &mut item.put, &mut item.delete]);
    for operation in operations.flatten() {
        let module = operation.tags.as_ref().and_then(|tags| tags.first());
        if let (Some(module), Some(id)) = (module, &operation.operation_id) {
            operation.operation_id = Some(format!("{module}_{id}"));
        }
    }
}

/// The document as it is checked in: pretty JSON with a newline at its end.
pub fn text() -> String {
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "about", responses((status = 200, body = Object)))]
async fn serve() -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_what_the_path_names_is_in_the_path() {
        let document = serde_json::to_value(document()).unwrap();
        for (path, item) in document["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    let named = path.contains(&format!("{{{}}}", parameter["name"].as_str().unwrap()));
                    assert_eq!(parameter["in"] == "path", named, "{path}: {parameter}");
                }
            }
        }
    }

    #[test]
    fn every_operation_has_an_id_of_its_own() {
        let document = document();
        let items = document.paths.paths.values();
        let ids: Vec<&str> = items
            .flat_map(|item| [&item.get, &item.post, &item.put, &item.delete])
            .flatten()
            .filter_map(|operation| operation.operation_id.as_deref())
            .collect();
        let distinct: BTreeSet<&&str> = ids.iter().collect();
        assert!(ids.len() > 20, "{ids:?}");
        assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    }
}
