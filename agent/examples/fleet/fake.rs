//! A fake API server: what an agent asks of one, answered in this process without sockets, disk or admission.
//!
//! It keeps RayJobs, Leases and one node, hands out lists and watches, counts requests by verb, and plays the operator's and the
//! pods' part: a RayJob runs soon after it is made and has succeeded a given time later. Everything else is an empty list. It
//! stands for the work that real API servers do elsewhere, so figures with it are figures of Squadron alone.

mod book;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use kube::client::{Body, Client};
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use book::{Book, Key};

/// From a RayJob's creation until its driver runs, as a part of the time that it lasts.
const STARTING: u32 = 5;

/// Cheap to clone.
#[derive(Clone)]
pub struct FakeApi(Arc<Mutex<Book>>);

impl FakeApi {
    /// One with this key set, of the cluster called `name`, whose RayJobs last so long.
    pub fn new(name: &str, jwks: &str, lasts: Duration) -> FakeApi {
        let (born, births) = mpsc::unbounded_channel();
        let api = FakeApi(Arc::new(Mutex::new(Book::new(name, jwks, born))));
        tokio::spawn(api.clone().live(births, lasts));
        api
    }

    /// A client of it.
    pub fn client(&self) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move { api.answer(request).await }
        });
        Client::new(service, "default")
    }

    /// RayJobs that were ever made.
    pub fn made(&self) -> u64 {
        self.writes().get(&("POST".to_owned(), "rayjobs".to_owned())).copied().unwrap_or(0)
    }

    /// Writes so far, by verb and collection.
    pub fn writes(&self) -> BTreeMap<(String, String), u64> {
        let book = self.book();
        let writes = book.requests.iter().filter(|((verb, _), _)| !matches!(verb.as_str(), "GET" | "WATCH"));
        writes.map(|(key, count)| (key.clone(), *count)).collect()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets RayJobs run and succeed. All last equally long, so what was born first is due first.
    async fn live(self, mut births: mpsc::UnboundedReceiver<(Key, Instant)>, lasts: Duration) {
        let (running, mut runs) = mpsc::unbounded_channel();
        let starting = lasts / STARTING;
        let start = async {
            while let Some((key, born)) = births.recv().await {
                sleep_until(born + starting).await;
                self.book().say(&key, "Running", "RUNNING");
                // The other half stands right there.
                let _sent = running.send((key, born + lasts));
            }
        };
        let end = async {
            while let Some((key, due)) = runs.recv().await {
                sleep_until(due).await;
                self.book().say(&key, "Complete", "SUCCEEDED");
            }
        };
        tokio::join!(start, end);
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Stream>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = head.uri.path().trim_matches('/').to_owned();
        let query = head.uri.query().unwrap_or_default();
        let mut book = self.book();
        if let Some(text) = book.about(&path) {
            return Ok(Stream::whole(StatusCode::OK, text));
        }
        let place = Place::of(&path);
        let watches = query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1");
        let verb = if watches { "WATCH" } else { head.method.as_str() };
        *book.requests.entry((verb.to_owned(), place.collection.clone())).or_default() += 1;
        let since = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion=")?.parse().ok());
        Ok(if watches {
            book.watch(&place, since.unwrap_or(0))
        } else {
            book.serve(&head.method, &place, sent)
        })
    }
}

/// What a path names.
struct Place {
    collection: String,
    namespace: String,
    name: Option<String>,
}

impl Place {
    fn of(path: &str) -> Place {
        let words: Vec<&str> = path.split('/').collect();
        // api/v1/… or apis/<group>/<version>/…
        let rest = words.get(if words.first() == Some(&"api") { 2 } else { 3 }..).unwrap_or_default();
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        Place {
            collection: (*rest.first().unwrap_or(&"")).to_owned(),
            namespace: namespace.to_owned(),
            name: rest.get(1).map(|name| (*name).to_owned()),
        }
    }
}

/// The body of an answer: one text, or lines as they come.
struct Stream {
    first: Option<Bytes>,
    rest: Option<mpsc::UnboundedReceiver<Bytes>>,
}

impl Stream {
    fn whole(code: StatusCode, text: String) -> Response<Stream> {
        let mut response = Response::new(Stream { first: Some(text.into()), rest: None });
        *response.status_mut() = code;
        response
    }

    fn lines(rest: mpsc::UnboundedReceiver<Bytes>) -> Response<Stream> {
        Response::new(Stream { first: None, rest: Some(rest) })
    }
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        match &mut self.rest {
            Some(rest) => rest.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line)))),
            None => Poll::Ready(None),
        }
    }
}
