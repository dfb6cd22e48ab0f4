//! One request to a server that wants a token, with curl.
//!
//! Invariant: the token is on no command line. Fails with what the server answered.

use std::{io::Write, path::Path, process::Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command;

/// A request of JSON.
pub struct Request<'a> {
    pub method: &'a str,
    pub url: &'a str,
    pub token: &'a str,
    /// The certificate that the server's one comes from.
    pub authority: &'a Path,
    pub body: Option<&'a Value>,
}

/// Sends it and reads the answer.
pub fn call(request: &Request<'_>) -> Result<Value> {
    let mut curl = command::new("curl");
    curl.args(["-sS", "--fail-with-body", "--max-time", "30", "--config", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = curl.spawn().context("starting curl")?;
    child.stdin.take().context("curl listens to nobody")?.write_all(configuration(request).as_bytes())?;
    let done = child.wait_with_output()?;
    let answer = String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        bail!("curl ended with {} for {}: {answer}", done.status, request.url);
    }
    serde_json::from_str(&answer).with_context(|| format!("the answer to {}: {answer}", request.url))
}

fn configuration(request: &Request<'_>) -> String {
    let Request { method, url, token, .. } = request;
    let authority = request.authority.display();
    let mut lines = format!(
        "request = \"{method}\"\nurl = \"{url}\"\ncacert = \"{authority}\"\n\
         header = \"authorization: Bearer {token}\"\nheader = \"content-type: application/json\"\n"
    );
    if let Some(body) = request.body {
        // A string of JSON is quoted as curl's configuration wants it.
        lines.push_str(&format!("data-binary = {}\n", Value::from(body.to_string())));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_quoted_and_a_request_without_one_sends_none() {
        let body = json!({"reason": "it was \"measured\""});
        let mut request = Request {
            method: "POST",
            url: "https://a/b",
            token: "t",
            authority: Path::new("ca"),
            body: Some(&body),
        };
        let lines = configuration(&request);
        assert!(lines.contains(r#"data-binary = "{\"reason\":\"it was \\\"measured\\\"\"}""#), "{lines}");
        assert!(lines.contains("request = \"POST\"\nurl = \"https://a/b\"\ncacert = \"ca\"\n"), "{lines}");
        request.body = None;
        assert!(!configuration(&request).contains("data-binary"));
    }
}
