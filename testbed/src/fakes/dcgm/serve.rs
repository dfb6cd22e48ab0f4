//! The fake exporter's HTTP side: `/metrics` and `/health` on the node, as dcgm-exporter has them.
//!
//! Invariant: one request a connection, bounded in bytes and time, so that no client can hold the others up for long.
//! What cannot be read at a scrape becomes a 500 with the reason, and the next scrape tries again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::error::Result;

/// Longest head of a request, in bytes.
const HEAD_LIMIT: u64 = 8 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers for ever; `exposition` is asked at every scrape.
pub fn serve(listener: &TcpListener, exposition: &dyn Fn() -> Result<String>) {
    for stream in listener.incoming().flatten() {
        if let Err(error) = answer(&stream, exposition) {
            eprintln!("a scrape broke off: {error}");
        }
    }
}

fn answer(stream: &TcpStream, exposition: &dyn Fn() -> Result<String>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, content_type, body) = match target(stream)?.as_str() {
        "GET /metrics" => match exposition() {
            Ok(text) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text),
            Err(error) => ("500 Internal Server Error", "text/plain", format!("{error}\n")),
        },
        "GET /health" => ("200 OK", "text/plain", "OK\n".to_owned()),
        _ => (
            "404 Not Found",
            "text/plain",
            "this fake dcgm-exporter serves /metrics and /health\n".to_owned(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Method and path, without a query; the rest of the head is read and not looked at.
fn target(stream: &TcpStream) -> std::io::Result<String> {
    let mut lines = BufReader::new(stream.take(HEAD_LIMIT)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Ok(format!("{method} {}", path.split('?').next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::error::Error;

    fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(format!("{request} HTTP/1.1\r\nhost: node\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_scrape_asks_anew_and_a_failure_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let scrapes = AtomicU32::new(0);
        std::thread::spawn(move || {
            serve(&listener, &|| match scrapes.fetch_add(1, Ordering::Relaxed) {
                1 => Err(Error::Refused("the device list cannot be read".into())),
                count => Ok(format!("scrapes {count}\n")),
            });
        });
        let first = ask(port, "GET /metrics");
        assert!(
            first.starts_with("HTTP/1.1 200 OK\r\n") && first.ends_with("\r\n\r\nscrapes 0\n"),
            "{first}"
        );
        assert!(first.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{first}");
        let second = ask(port, "GET /metrics");
        assert!(second.starts_with("HTTP/1.1 500") && second.contains("the device list"), "{second}");
        assert!(ask(port, "GET /metrics?x=1").ends_with("scrapes 2\n"));
        assert!(ask(port, "GET /health").starts_with("HTTP/1.1 200"));
        assert!(ask(port, "POST /metrics").starts_with("HTTP/1.1 404"));
    }
}
