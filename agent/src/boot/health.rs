//! Health: `/healthz` while the process turns, `/readyz` once the caches are complete.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc};

use http::{Response, StatusCode};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::watch::Cache;

/// Serves until the listener fails.
pub async fn serve(port: u16, cache: Arc<Cache>) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let cache = cache.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request: http::Request<Incoming>| {
                let status = status(request.uri().path(), cache.is_complete());
                async move { Ok::<_, Infallible>(respond(status)) }
            });
            // A probe that breaks off is no news.
            let _ended = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

fn status(path: &str, ready: bool) -> StatusCode {
    match path {
        "/healthz" => StatusCode::OK,
        "/readyz" if ready => StatusCode::OK,
        "/readyz" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::NOT_FOUND,
    }
}

fn respond(status: StatusCode) -> Response<String> {
    let mut response = Response::new(format!("{}\n", status.canonical_reason().unwrap_or_default()));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_waits_for_the_caches() {
        assert_eq!(status("/readyz", false), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status("/readyz", true), StatusCode::OK);
        assert_eq!(status("/healthz", false), StatusCode::OK);
        assert_eq!(status("/secrets", true), StatusCode::NOT_FOUND);
    }
}
