//! Cookies: who gets one, and what it opens.

use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::json;

use crate::plane::Plane;

async fn sign_in(plane: &Plane, token: &str) -> Response {
    let request = plane.stranger(Method::POST, "/api/v1/session").header("x-squadron-csrf", "1");
    request.json(&json!({ "token": token })).send().await.unwrap()
}

async fn cookie(plane: &Plane) -> String {
    let response = sign_in(plane, plane.token()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let set = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    for part in ["__Host-squadron=", "; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict"] {
        assert!(set.contains(part), "{set}");
    }
    set.split(';').next().unwrap().to_owned()
}

async fn status(request: RequestBuilder) -> StatusCode {
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn a_session_reads_and_ends_at_sign_out() {
    let plane = Plane::start().await;
    let cookie = cookie(&plane).await;
    let with = |method, path: &str| plane.stranger(method, path).header("cookie", &cookie);
    assert_eq!(status(with(Method::GET, "/api/v1/me")).await, StatusCode::OK);
    let out = with(Method::DELETE, "/api/v1/session").header("x-squadron-csrf", "1");
    assert_eq!(status(out).await, StatusCode::NO_CONTENT);
    assert_eq!(status(with(Method::GET, "/api/v1/me")).await, StatusCode::UNAUTHORIZED);
    assert_eq!(sign_in(&plane, "sqd_nonsense").await.status(), StatusCode::UNAUTHORIZED);
    plane.stop().await;
}

#[tokio::test]
async fn a43_a_page_of_another_origin_cannot_write() {
    let plane = Plane::start().await;
    let cookie = cookie(&plane).await;
    let write = || {
        plane.stranger(Method::POST, "/api/v1/queues").header("cookie", &cookie).json(&json!({ "name": "q" }))
    };
    let own = format!("https://{}", plane.running.people);
    assert_eq!(status(write()).await, StatusCode::FORBIDDEN, "no header of ours");
    let foreign = write().header("x-squadron-csrf", "1").header("origin", "https://evil.example");
    assert_eq!(status(foreign).await, StatusCode::FORBIDDEN);
    let null = write().header("x-squadron-csrf", "1").header("origin", "null");
    assert_eq!(status(null).await, StatusCode::FORBIDDEN);
    let queues = plane.get("/api/v1/queues").await;
    assert!(!queues.to_string().contains("\"q\""), "nothing was written: {queues}");
    let ours = write().header("x-squadron-csrf", "1").header("origin", own);
    assert!(status(ours).await.is_success());
    plane.stop().await;
}

#[tokio::test]
async fn every_name_of_the_listener_is_its_own_origin_and_no_other_name_is() {
    let plane = Plane::start().await;
    let by_name = format!("https://localhost:{}", plane.running.people.port());
    let sign_in = |origin: String| {
        let request = plane.client.post(format!("{by_name}/api/v1/session")).header("x-squadron-csrf", "1");
        request.header("origin", origin).json(&json!({ "token": plane.token() }))
    };
    let response = sign_in(by_name.clone()).send().await.unwrap();
    assert_eq!((response.status(), response.version()), (StatusCode::OK, reqwest::Version::HTTP_2));
    assert_eq!(status(sign_in("https://localhost:1".to_owned())).await, StatusCode::FORBIDDEN);
    plane.stop().await;
}

#[tokio::test]
async fn a_cookie_that_comes_twice_opens_nothing() {
    let plane = Plane::start().await;
    let cookie = cookie(&plane).await;
    let twice = format!("{cookie}; __Host-squadron=tossed");
    assert_eq!(
        status(plane.stranger(Method::GET, "/api/v1/me").header("cookie", twice)).await,
        StatusCode::UNAUTHORIZED
    );
    plane.stop().await;
}
