//! One shape for every error, and the headers of every answer.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::plane::Plane;

async fn problem(request: reqwest::RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["status"], status.as_u16());
    assert_eq!(problem["request_id"], id.as_str());
    assert!(problem["code"].as_str().unwrap().starts_with("SQD-"));
    for field in ["detail", "next_step"] {
        assert!(problem[field].as_str().unwrap().len() > 10, "{problem}");
    }
    (status, problem)
}

#[tokio::test]
async fn every_refusal_is_a_problem() {
    let plane = Plane::start().await;
    let ask = |method, path: &str| plane.request(method, path);
    let (status, _) = problem(ask(Method::GET, "/api/v1/no-such-thing")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = problem(ask(Method::PATCH, "/api/v1/clusters")).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
    let (status, bad) =
        problem(ask(Method::POST, "/api/v1/clusters").body("{").header("content-type", "application/json"))
            .await;
    assert_eq!((status, bad["code"].as_str()), (StatusCode::BAD_REQUEST, Some("SQD-1000")));
    let (status, unknown) =
        problem(ask(Method::POST, "/api/v1/clusters").json(&json!({ "nmae": "east" }))).await;
    assert!(status.is_client_error() && unknown["detail"].as_str().unwrap().contains("nmae"), "{unknown}");
    let (_, name) = problem(ask(Method::POST, "/api/v1/clusters").json(&json!({ "name": "East" }))).await;
    assert!(name["detail"].as_str().unwrap().contains("lower-case"), "{name}");
    let (status, _) = problem(ask(Method::GET, "/api/v1/jobs?limti=3")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, large) =
        problem(ask(Method::POST, "/api/v1/clusters").json(&json!({ "name": "x".repeat(2 << 20) }))).await;
    assert_eq!((status, large["code"].as_str()), (StatusCode::PAYLOAD_TOO_LARGE, Some("SQD-1005")));
    plane.stop().await;
}

#[tokio::test]
async fn a75_a_name_never_splits_an_answer() {
    let plane = Plane::start().await;
    let (status, _) = problem(plane.request(Method::GET, "/api/v1/jobs/a%0d%0aset-cookie:%20x=y")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    plane.stop().await;
}

#[tokio::test]
async fn answers_carry_a_strict_policy() {
    let plane = Plane::start().await;
    for path in ["/", "/jobs/anything", "/api/v1/me", "/healthz"] {
        let response = plane.request(Method::GET, path).send().await.unwrap();
        let headers = response.headers();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert!(headers.contains_key("strict-transport-security"));
    }
    plane.stop().await;
}
