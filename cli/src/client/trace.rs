//! Trace: what `--debug` prints of each request. Bodies are left out and secrets are masked.

use std::time::Duration;

use reqwest::{Response, Url};

use super::call::Call;

/// The lines for a request that is about to leave.
pub fn request(call: &Call, url: &Url, has_token: bool) -> String {
    let mut lines = format!("> {} {url}", call.method);
    for (name, value) in &call.headers {
        lines.push_str(&format!("\n> {name}: {value}"));
    }
    if has_token {
        lines.push_str("\n> authorization: Bearer (masked)");
    }
    if let Some((content_type, body)) = &call.body {
        lines.push_str(&format!("\n> content-type: {content_type}, {} bytes", body.len()));
    }
    lines
}

/// The line for an answer.
pub fn answer(response: &Response, took: Duration) -> String {
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
    format!(
        "< {} {:?} in {} ms, {}, request {}",
        response.status(),
        response.version(),
        took.as_millis(),
        header("content-type"),
        header("x-request-id"),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn token_and_body_never_show() {
        let call = Call::change(reqwest::Method::POST, "/api/v1/jobs", "")
            .body("application/json", "{\"pw\":1}".into());
        let url = call.url(&"https://localhost/".parse().unwrap());
        let text = request(&call, &url, true);
        assert!(text.contains("Bearer (masked)") && !text.contains("pw"), "{text}");
    }
}
