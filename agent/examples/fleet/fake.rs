//! A fake API server: what an agent asks of one, answered in this process without sockets, disk or admission.
//!
//! It keeps RayJobs, Leases and one node, hands out lists and watches, and counts requests by verb. Everything else is an empty
//! list. It stands for the work that real API servers do elsewhere, so figures with it are figures of Squadron alone.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use kube::client::{Body, Client};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Cheap to clone.
#[derive(Clone)]
pub struct FakeApi(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    /// By collection (`rayjobs`, `leases`), namespace and name.
    objects: BTreeMap<(String, String, String), Arc<Value>>,
    watchers: BTreeMap<String, Vec<mpsc::UnboundedSender<Bytes>>>,
    version: u64,
    /// Requests by verb and collection.
    requests: BTreeMap<(String, String), u64>,
    jwks: String,
    uid: String,
}

impl FakeApi {
    /// One with this key set, of the cluster called `name`, with one node for `pods` pods.
    pub fn new(name: &str, jwks: &str) -> FakeApi {
        let uid = format!("kube-system-of-{name}");
        let api = FakeApi(Arc::new(Mutex::new(Book { jwks: jwks.to_owned(), uid, ..Book::default() })));
        api.book().put("nodes", node(name));
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

    /// RayJobs that exist.
    pub fn ray_jobs(&self) -> usize {
        let first = ("rayjobs".to_owned(), String::new(), String::new());
        self.book().objects.range(first..).take_while(|((of, ..), _)| of == "rayjobs").count()
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
            collection: rest.first().unwrap_or(&"").to_string(),
            namespace: namespace.to_owned(),
            name: rest.get(1).map(ToString::to_string),
        }
    }
}

impl Book {
    /// What the server says about itself and its namespaces.
    fn about(&self, path: &str) -> Option<String> {
        Some(match path {
            "openid/v1/jwks" => self.jwks.clone(),
            ".well-known/openid-configuration" => json!({"issuer": super::identity::ISSUER}).to_string(),
            "version" => json!({"major": "1", "minor": "34", "gitVersion": "v1.34.4", "gitCommit": "fake",
                "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z", "goVersion": "fake", "compiler": "fake",
                "platform": "fake"})
            .to_string(),
            "api/v1/namespaces/kube-system" => json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "kube-system", "uid": self.uid}})
            .to_string(),
            _ => return None,
        })
    }

    fn serve(&mut self, method: &Method, place: &Place, sent: Value) -> Response<Stream> {
        let Some(name) = place.name.clone() else {
            return if method == Method::POST { self.create(place, sent) } else { self.list(place) };
        };
        let key = (place.collection.clone(), place.namespace.clone(), name);
        let Some(found) = self.objects.get(&key).cloned() else {
            return status(StatusCode::NOT_FOUND, "NotFound");
        };
        match method.as_str() {
            "GET" => Stream::whole(StatusCode::OK, found.to_string()),
            "PUT" => answered(self.put(&place.collection, sent)),
            "PATCH" => {
                let mut merged = found.as_ref().clone();
                merge(&mut merged, &sent);
                answered(self.put(&place.collection, merged))
            }
            "DELETE" => {
                self.objects.remove(&key);
                self.tell(&place.collection, "DELETED", &found);
                answered(found)
            }
            _ => status(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed"),
        }
    }

    fn create(&mut self, place: &Place, mut sent: Value) -> Response<Stream> {
        let name = sent["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = (place.collection.clone(), place.namespace.clone(), name);
        if self.objects.contains_key(&key) {
            return status(StatusCode::CONFLICT, "AlreadyExists");
        }
        sent["metadata"]["namespace"] = place.namespace.clone().into();
        sent["metadata"]["uid"] = format!("{}-{}", self.uid, self.version + 1).into();
        sent["metadata"]["creationTimestamp"] = "2026-11-30T00:00:00Z".into();
        let made = self.put(&place.collection, sent);
        Stream::whole(StatusCode::CREATED, made.to_string())
    }

    fn put(&mut self, collection: &str, mut object: Value) -> Arc<Value> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = (collection.to_owned(), text("namespace"), text("name"));
        let object = Arc::new(object);
        let event = if self.objects.insert(key, object.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        self.tell(collection, event, &object);
        object
    }

    fn tell(&mut self, collection: &str, event: &str, object: &Value) {
        let Some(watchers) = self.watchers.get_mut(collection) else { return };
        let line = line(event, object);
        watchers.retain(|watcher| watcher.send(line.clone()).is_ok());
    }

    fn list(&self, place: &Place) -> Response<Stream> {
        let of = |(collection, namespace, _): &(String, String, String)| {
            *collection == place.collection && (place.namespace.is_empty() || *namespace == place.namespace)
        };
        let items: Vec<&Value> =
            self.objects.iter().filter(|(key, _)| of(key)).map(|(_, object)| object.as_ref()).collect();
        let list = json!({"kind": "List", "apiVersion": "v1", "items": items,
            "metadata": {"resourceVersion": self.version.to_string()}});
        Stream::whole(StatusCode::OK, list.to_string())
    }

    /// A stream of what changed after version `since`. What was deleted before the stream began is not told.
    fn watch(&mut self, place: &Place, since: u64) -> Response<Stream> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let newer = |object: &Value| {
            object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0_u64)
                > since
        };
        let of = self.objects.iter().filter(|((collection, ..), _)| *collection == place.collection);
        for (_, object) in of.filter(|(_, object)| newer(object)) {
            // The receiver stands right here.
            let _sent = sender.send(line("ADDED", object));
        }
        self.watchers.entry(place.collection.clone()).or_default().push(sender);
        Response::new(Stream { first: None, rest: Some(receiver) })
    }
}

fn line(event: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"))
}

fn answered(object: Arc<Value>) -> Response<Stream> {
    Stream::whole(StatusCode::OK, object.to_string())
}

fn status(code: StatusCode, reason: &str) -> Response<Stream> {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
        "message": reason, "code": code.as_u16()});
    Stream::whole(code, body.to_string())
}

/// A JSON merge patch.
fn merge(into: &mut Value, patch: &Value) {
    let (Value::Object(into), Value::Object(patch)) = (&mut *into, patch) else {
        *into = patch.clone();
        return;
    };
    for (field, value) in patch {
        if value.is_null() {
            into.remove(field);
        } else {
            merge(into.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

/// One node that has room for everything.
fn node(cluster: &str) -> Value {
    let room = json!({"cpu": "1000000", "memory": "4000Ti", "pods": "1000000"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("node-of-{cluster}"), "uid": format!("node-of-{cluster}"), "namespace": "",
            "labels": {"kubernetes.io/os": "linux"}, "creationTimestamp": "2026-11-30T00:00:00Z"},
        "spec": {},
        "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True",
            "lastHeartbeatTime": "2026-11-30T00:00:00Z", "lastTransitionTime": "2026-11-30T00:00:00Z"}]}})
}

/// The body of an answer: one text, or lines as they come.
pub struct Stream {
    first: Option<Bytes>,
    rest: Option<mpsc::UnboundedReceiver<Bytes>>,
}

impl Stream {
    fn whole(code: StatusCode, text: String) -> Response<Stream> {
        let mut response = Response::new(Stream { first: Some(text.into()), rest: None });
        *response.status_mut() = code;
        response
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
