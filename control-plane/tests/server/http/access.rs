//! Every route against every role. A route that is not in the table does not exist, so none escapes this.

use reqwest::{Method, StatusCode};
use serde_json::json;
use squadron_control_plane::http::{self, ray_jobs::manners, routes::Access};
use squadron_core::authz::{self, Actor, Object, Role};
use tokio_util::sync::CancellationToken;

use crate::plane::Plane;

/// A path with something in place of its parameters.
fn concrete(path: &str) -> String {
    path.split('/')
        .map(|part| if part.starts_with('{') { "nothing" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

fn expected(access: Access, role: Role) -> bool {
    let actor = Actor { subject: "ann".into(), role };
    match access {
        Access::Public | Access::SignedIn => true,
        Access::Needs(action) => authz::allow(&actor, action, Object::Any).is_ok(),
        Access::Owner(action) => authz::allow(&actor, action, Object::OwnedBy("ann")).is_ok(),
    }
}

#[tokio::test]
async fn every_route_lets_in_exactly_whom_the_table_names() {
    let plane = Plane::start().await;
    let (_router, table) = http::router(&plane.running.app, CancellationToken::new());
    assert!(table.len() > 20);
    for role in Role::ALL {
        let body = json!({ "subject": "ann", "role": role.word() });
        let (status, reply) = plane.post("/api/v1/tokens", &body).await;
        assert_eq!(status, StatusCode::OK);
        let token = reply["secret"].as_str().unwrap();
        for route in &table {
            let request = plane.stranger(route.method.clone(), &concrete(route.path)).bearer_auth(token);
            let status = request.send().await.unwrap().status();
            let passed = !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            // Signing in brings its own credentials and a header of its own.
            let is_sign_in = route.path == squadron_api::route::SESSION && route.method == Method::POST;
            assert!(
                is_sign_in || passed == expected(route.access, role),
                "{role} {} {}: {status}",
                route.method,
                route.path
            );
        }
    }
    plane.stop().await;
}

#[tokio::test]
async fn nobody_passes_without_credentials() {
    let plane = Plane::start().await;
    let (_router, table) = http::router(&plane.running.app, CancellationToken::new());
    let strangers = ["", "sqd_", "sqd_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Bearer x"];
    for route in table.iter().filter(|route| route.access != Access::Public) {
        for token in strangers {
            let mut request = plane.stranger(route.method.clone(), &concrete(route.path));
            if !token.is_empty() {
                request = request.bearer_auth(token);
            }
            // Ray's client is told whether its token is missing or wrong.
            let is_ray_s = manners::is_spoken_at(&concrete(route.path));
            let refused =
                if is_ray_s && !token.is_empty() { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
            let status = request.send().await.unwrap().status();
            assert_eq!(status, refused, "{} {}", route.method, route.path);
        }
    }
    plane.stop().await;
}

#[tokio::test]
async fn a_denial_names_the_role_that_would_do_and_is_audited() {
    let plane = Plane::start().await;
    let (_, reply) = plane.post("/api/v1/tokens", &json!({ "subject": "ann", "role": "viewer" })).await;
    let request = plane.stranger(Method::POST, "/api/v1/clusters/east/accept");
    let response = request.bearer_auth(reply["secret"].as_str().unwrap()).send().await.unwrap();
    let problem: serde_json::Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "SQD-1002");
    assert_eq!(problem["detail"], "ann has the role viewer and may not change clusters");
    assert!(problem["next_step"].as_str().unwrap().contains("admin"));
    let refusals = plane.refusals().await;
    assert!(refusals.iter().any(|detail| detail.contains("ann has the role viewer")), "{refusals:?}");
    plane.stop().await;
}

#[tokio::test]
async fn a_revoked_or_ended_token_opens_nothing() {
    let plane = Plane::start().await;
    let (_, reply) =
        plane.post("/api/v1/tokens", &json!({ "subject": "ci", "role": "submitter", "days": 1 })).await;
    let secret = reply["secret"].as_str().unwrap();
    let me = || plane.stranger(Method::GET, "/api/v1/me").bearer_auth(secret).send();
    assert_eq!(me().await.unwrap().status(), StatusCode::OK);
    let path = format!("/api/v1/tokens/{}", reply["token"]["id"].as_str().unwrap());
    let removed = plane.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    assert_eq!(me().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(plane.request(Method::DELETE, &path).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    for bad in [
        json!({ "subject": "x", "role": "root" }),
        json!({ "subject": "", "role": "viewer" }),
        json!({ "subject": "x", "role": "viewer", "days": 400 }),
    ] {
        assert_eq!(plane.post("/api/v1/tokens", &bad).await.0, StatusCode::BAD_REQUEST, "{bad}");
    }
    plane.stop().await;
}
