//! A listener that answers one scripted reply for each connection, or breaks off.
//!
//! It stands for a bad wire, not for the control plane: it knows no rule of the API.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// What happens to one connection after its request was read.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Closed without a byte.
    Drop,
    /// Written as it stands, then closed.
    Bytes(Vec<u8>),
}

impl Reply {
    pub fn json(status: u16, body: &str) -> Reply {
        Reply::with(status, &[("content-type", "application/json")], body.as_bytes(), body.len())
    }

    pub fn html(status: u16, body: &str) -> Reply {
        Reply::with(status, &[("content-type", "text/html")], body.as_bytes(), body.len())
    }

    pub fn full(headers: &[(&str, &str)], body: &[u8]) -> Reply {
        Reply::with(200, headers, body, body.len())
    }

    /// Announces more bytes than it sends.
    pub fn cut(headers: &[(&str, &str)], body: &[u8], announced: usize) -> Reply {
        Reply::with(200, headers, body, announced)
    }

    fn with(status: u16, headers: &[(&str, &str)], body: &[u8], announced: usize) -> Reply {
        let mut text =
            format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {announced}\r\nconnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        Reply::Bytes([text.as_bytes(), b"\r\n", body].concat())
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub line: String,
    headers: Vec<String>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<String> {
        let value =
            |line: &String| line.to_ascii_lowercase().strip_prefix(&format!("{name}: ")).map(str::to_owned);
        self.headers.iter().find_map(value)
    }
}

/// The listener. Connections beyond the script are closed at once.
pub struct Flaky {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Flaky {
    pub fn start(script: Vec<Reply>) -> Flaky {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for (stream, reply) in listener.incoming().zip(script) {
                let mut stream = stream.unwrap();
                noted.lock().unwrap().push(read_request(&stream));
                if let Reply::Bytes(bytes) = reply {
                    // The client may have left already; that is one of the cases.
                    let _ = stream.write_all(&bytes);
                }
            }
        });
        Flaky { port, seen }
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let line = if lines.is_empty() { String::new() } else { lines.remove(0) };
    let request = Request { line, headers: lines };
    let length: usize = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request
}
