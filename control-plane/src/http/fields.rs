//! Fields: a request's body, which is one JSON object.
//!
//! Invariant: a list is no request. The reader of our types would take one field by field, and `[]` for all of them left out.
//! What stands within the object is read as its types say.

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{FromRequest, Request},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::de::DeserializeOwned;

/// The body as what it means; what is wrong with it is told as axum tells it.
pub struct Fields<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Fields<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Fields<T>, Response> {
        let (parts, body) = request.into_parts();
        let bytes = Bytes::from_request(Request::from_parts(parts.clone(), body), state)
            .await
            .map_err(IntoResponse::into_response)?;
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err((StatusCode::BAD_REQUEST, "the body is a list; send one JSON object").into_response());
        }
        let again = Request::from_parts(parts, Body::from(bytes));
        let Json(value) = Json::from_request(again, state).await.map_err(IntoResponse::into_response)?;
        Ok(Fields(value))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::{Router, http::header, routing::post};
    use tower::ServiceExt as _;

    use super::*;

    #[derive(serde::Deserialize)]
    struct Wish {
        #[serde(default)]
        reason: String,
    }

    async fn status(body: &'static str) -> StatusCode {
        let router: Router =
            Router::new().route("/", post(|Fields(wish): Fields<Wish>| async move { wish.reason }));
        let request = Request::post("/").header(header::CONTENT_TYPE, "application/json");
        router.oneshot(request.body(Body::from(body)).unwrap()).await.unwrap().status()
    }

    #[tokio::test]
    async fn a_list_is_no_object() {
        assert_eq!(status(r#"{"reason": "x"}"#).await, StatusCode::OK);
        assert_eq!(status("{}").await, StatusCode::OK);
        for list in ["[]", " \n[\"x\"]"] {
            assert_eq!(status(list).await, StatusCode::BAD_REQUEST, "{list}");
        }
        assert_eq!(status("{").await, StatusCode::BAD_REQUEST);
        assert_eq!(status("7").await, StatusCode::UNPROCESSABLE_ENTITY);
    }
}
