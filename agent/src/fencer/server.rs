//! Server: an API server in this process for tests, as slow as a test wants.
//!
//! It speaks HTTP to a real client and behaves like the real one in what stopping needs: lists by label in pages,
//! preconditions, finalizers, graces of pods that only shrink, deletion of what a deleted owner leaves, versions of objects
//! that are replaced, and a limit of calls at the same time. Time is tokio's, so that tests may move it.

#![allow(clippy::unwrap_used)]
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use http::{Method, Request, Response};
use kube::client::{Body, Client};
use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// Resource, namespace, name.
type Key = (String, String, String);

/// A deletion that was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub at: Duration,
    pub resource: String,
    pub name: String,
    /// Seconds that were given to containers.
    pub grace: Option<i64>,
}

/// What a test does in the middle of a call, with the means to put objects.
type Deed = Box<dyn FnOnce(&mut dyn FnMut(Value)) + Send>;

#[derive(Default)]
struct Book {
    objects: BTreeMap<Key, Value>,
    /// When pods that are being deleted are gone.
    due: BTreeMap<Key, Instant>,
    asked: Vec<Asked>,
    calls: usize,
    version: u64,
    /// Answers the next deletions of a resource with this code.
    broken: Option<(String, u16, usize)>,
    /// Deletions of this resource are never answered.
    hanging: Option<String>,
    /// Done when RayJobs are listed.
    on_list: Option<Deed>,
}

/// The server. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    book: Arc<Mutex<Book>>,
    seats: Arc<Semaphore>,
    latency: Duration,
    began: Instant,
}

impl Server {
    pub fn new(latency: Duration) -> Server {
        Server { book: Arc::default(), seats: Arc::new(Semaphore::new(245)), latency, began: Instant::now() }
    }

    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.serve(request).await }
        });
        Client::new(service, "default")
    }

    pub fn put(&self, object: Value) {
        self.book.lock().unwrap().put(object);
    }

    /// Time since it began.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Does `what` when RayJobs are listed next; it may put objects.
    pub fn on_list(&self, what: impl FnOnce(&mut dyn FnMut(Value)) + Send + 'static) {
        self.book.lock().unwrap().on_list = Some(Box::new(what));
    }

    /// The next `times` deletions of a resource fail.
    pub fn break_deletions(&self, resource: &str, code: u16, times: usize) {
        self.book.lock().unwrap().broken = Some((resource.to_owned(), code, times));
    }

    /// Deletions of a resource are not answered any more.
    pub fn hang_deletions(&self, resource: &str) {
        self.book.lock().unwrap().hanging = Some(resource.to_owned());
    }

    pub fn asked(&self, resource: &str) -> Vec<Asked> {
        let book = self.book.lock().unwrap();
        book.asked.iter().filter(|asked| asked.resource == resource).cloned().collect()
    }

    pub fn calls(&self) -> usize {
        self.book.lock().unwrap().calls
    }

    pub fn count(&self, resource: &str) -> usize {
        let mut book = self.book.lock().unwrap();
        book.sweep();
        book.objects.keys().filter(|key| key.0 == resource).count()
    }

    pub fn all(&self, resource: &str) -> Vec<Value> {
        let book = self.book.lock().unwrap();
        book.objects.iter().filter(|(key, _)| key.0 == resource).map(|(_, object)| object.clone()).collect()
    }

    /// Notes a deletion that is not answered.
    fn hangs(&self, method: &Method, path: &str) -> bool {
        let mut book = self.book.lock().unwrap();
        let mut parts = path.rsplit('/');
        let (name, resource) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let hangs = method == Method::DELETE && book.hanging.as_deref() == Some(resource);
        if hangs {
            let (resource, name) = (resource.to_owned(), name.to_owned());
            book.asked.push(Asked { at: self.now(), resource, name, grace: None });
        }
        hangs
    }

    async fn serve(&self, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let _seat = self.seats.acquire().await.unwrap();
        sleep(self.latency).await;
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if self.hangs(&head.method, head.uri.path()) {
            std::future::pending::<()>().await;
        }
        let (code, answer) = {
            let mut book = self.book.lock().unwrap();
            book.calls += 1;
            book.sweep();
            let at = self.now();
            book.answer(&head.method, &head.uri.to_string(), body, at)
        };
        let answer = Body::from(serde_json::to_vec(&answer).unwrap());
        Ok(Response::builder().status(code).header("content-type", "application/json").body(answer).unwrap())
    }
}

impl Book {
    fn put_in(&mut self, namespace: &str, mut object: Value) -> Value {
        object["metadata"]["namespace"] = namespace.into();
        self.put(object)
    }

    /// Answers the object as it is stored.
    fn put(&mut self, mut object: Value) -> Value {
        let resource = match object["kind"].as_str().unwrap() {
            "Job" => "jobs".to_owned(),
            kind => format!("{}s", kind.to_lowercase()),
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let part = |name: &str| object["metadata"][name].as_str().unwrap().to_owned();
        self.objects.insert((resource, part("namespace"), part("name")), object.clone());
        object
    }

    fn sweep(&mut self) {
        let now = Instant::now();
        let gone: Vec<Key> =
            self.due.iter().filter(|(_, due)| **due <= now).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.due.remove(&key);
            self.objects.remove(&key);
        }
    }

    fn answer(&mut self, method: &Method, uri: &str, body: Value, at: Duration) -> (u16, Value) {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let rest = &parts[if parts[0] == "api" { 2 } else { 3 }..];
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            rest => ("", rest),
        };
        match (method, rest) {
            (&Method::GET, [resource]) => (200, self.list(resource, namespace, query)),
            (&Method::POST, [_]) => (201, self.put_in(namespace, body)),
            (method, [resource, name]) => {
                let key = ((*resource).to_owned(), namespace.to_owned(), (*name).to_owned());
                self.one(method, &key, body, at)
            }
            _ => panic!("{method} {uri}"),
        }
    }

    fn one(&mut self, method: &Method, key: &Key, body: Value, at: Duration) -> (u16, Value) {
        if method == Method::DELETE {
            let grace = body["gracePeriodSeconds"].as_i64();
            self.asked.push(Asked { at, resource: key.0.clone(), name: key.2.clone(), grace });
            if let Some((resource, code, times)) = &mut self.broken
                && *resource == key.0
                && *times > 0
            {
                *times -= 1;
                return failure(*code, "broken by the test");
            }
        }
        let Some(found) = self.objects.get(key).cloned() else { return failure(404, "NotFound") };
        let meta = &found["metadata"];
        match *method {
            Method::GET => (200, found),
            Method::PUT if body["metadata"]["resourceVersion"] != meta["resourceVersion"] => {
                failure(409, "Conflict")
            }
            Method::PUT => (200, self.put_in(&key.1, body)),
            Method::DELETE => {
                let uid = &body["preconditions"]["uid"];
                if !uid.is_null() && *uid != meta["uid"] {
                    return failure(409, "Conflict");
                }
                self.delete(key, body["gracePeriodSeconds"].as_i64());
                if body["propagationPolicy"] != "Orphan" {
                    self.collect(key);
                }
                (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
            }
            _ => failure(405, "MethodNotAllowed"),
        }
    }

    fn delete(&mut self, key: &Key, grace: Option<i64>) {
        let Some(object) = self.objects.get_mut(key) else { return };
        let meta = &mut object["metadata"];
        let is_pod = key.0 == "pods";
        if !is_pod && meta["finalizers"].as_array().is_none_or(Vec::is_empty) {
            self.objects.remove(key);
            return;
        }
        meta["deletionTimestamp"] = "2026-09-01T00:00:00Z".into();
        // Asking again for less does not shorten a grace that runs: the worst that was seen.
        if is_pod && meta["deletionGracePeriodSeconds"].is_null() {
            let seconds = grace.unwrap_or(30);
            meta["deletionGracePeriodSeconds"] = seconds.into();
            let seconds = Duration::from_secs(u64::try_from(seconds).unwrap());
            self.due.insert(key.clone(), Instant::now() + seconds);
        }
    }

    /// The objects of a resource, in one namespace or in all.
    fn of(&self, resource: &str, namespace: &str) -> impl Iterator<Item = (&Key, &Value)> {
        let from: Key = (resource.to_owned(), namespace.to_owned(), String::new());
        let (resource, namespace) = (from.0.clone(), from.1.clone());
        self.objects
            .range(from..)
            .take_while(move |(key, _)| key.0 == resource && (namespace.is_empty() || key.1 == namespace))
    }

    /// What a deleted owner leaves goes with the grace of its own.
    fn collect(&mut self, owner: &Key) {
        let label = match owner.0.as_str() {
            "rayclusters" => "ray.io/cluster",
            "jobs" => "batch.kubernetes.io/job-name",
            _ => return,
        };
        let pods = self.of("pods", &owner.1);
        let owned = pods.filter(|(_, pod)| pod["metadata"]["labels"][label] == owner.2.as_str());
        let owned: Vec<Key> = owned.map(|(key, _)| key.clone()).collect();
        owned.iter().for_each(|pod| self.delete(pod, None));
    }

    fn list(&mut self, resource: &str, namespace: &str, query: &str) -> Value {
        if resource == "rayjobs"
            && let Some(what) = self.on_list.take()
        {
            what(&mut |object| _ = self.put(object));
        }
        let asked = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(key, _)| *key == name).map(|(_, value)| decode(value)).next().unwrap_or_default()
        };
        let (selector, from) = (asked("labelSelector"), asked("continue").parse().unwrap_or(0));
        let limit = asked("limit").parse().unwrap_or(usize::MAX);
        let (key, values) = selector.split_once(" in ").unwrap_or((&selector, ""));
        let values: BTreeSet<&str> =
            values.trim_matches(['(', ')']).split(',').filter(|v| !v.is_empty()).collect();
        let found = self.of(resource, namespace).filter(|(_, object)| {
            let label = object["metadata"]["labels"][key].as_str();
            label.is_some_and(|label| values.is_empty() || values.contains(label))
        });
        let all: Vec<Value> = found.map(|(_, object)| object.clone()).collect();
        let page: Vec<Value> = all.iter().skip(from).take(limit).cloned().collect();
        let next = from + page.len();
        let token = if next < all.len() { next.to_string() } else { String::new() };
        json!({"kind": "List", "apiVersion": "v1", "items": page,
            "metadata": {"resourceVersion": self.version.to_string(), "continue": token}})
    }
}

fn decode(text: &str) -> String {
    let text = text.replace('+', " ");
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = u8::from_str_radix(&part[..2], 16).unwrap();
        decoded.push(char::from(code));
        decoded.push_str(&part[2..]);
    }
    decoded
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": reason, "metadata": {}}),
    )
}
