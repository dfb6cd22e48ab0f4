//! Book: the objects of one fake API server, and who watches them.

use std::{collections::BTreeMap, sync::Arc};

use http::{Method, Response, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};

use super::{Place, Stream};
use crate::identity::ISSUER;

/// Collection (`rayjobs`, `leases`), namespace and name.
pub(super) type Key = (String, String, String);

pub(super) struct Book {
    objects: BTreeMap<Key, Arc<Value>>,
    watchers: BTreeMap<String, Vec<mpsc::UnboundedSender<Bytes>>>,
    version: u64,
    /// Requests by verb and collection.
    pub(super) requests: BTreeMap<(String, String), u64>,
    jwks: String,
    uid: String,
    /// Takes the RayJobs that are made.
    born: mpsc::UnboundedSender<(Key, Instant)>,
}

impl Book {
    /// With one node that has room for everything.
    pub(super) fn new(name: &str, jwks: &str, born: mpsc::UnboundedSender<(Key, Instant)>) -> Book {
        let mut book = Book {
            objects: BTreeMap::new(),
            watchers: BTreeMap::new(),
            version: 0,
            requests: BTreeMap::new(),
            jwks: jwks.to_owned(),
            uid: format!("kube-system-of-{name}"),
            born,
        };
        book.put("nodes", node(name));
        book
    }

    /// What the server says about itself and its namespaces.
    pub(super) fn about(&self, path: &str) -> Option<String> {
        Some(match path {
            "openid/v1/jwks" => self.jwks.clone(),
            ".well-known/openid-configuration" => json!({"issuer": ISSUER}).to_string(),
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

    pub(super) fn serve(&mut self, method: &Method, place: &Place, sent: Value) -> Response<Stream> {
        let Some(name) = place.name.clone() else {
            return if method == Method::POST { self.create(place, sent) } else { self.list(place) };
        };
        let key = (place.collection.clone(), place.namespace.clone(), name);
        let Some(found) = self.objects.get(&key).cloned() else {
            return status(StatusCode::NOT_FOUND, "NotFound");
        };
        match method.as_str() {
            "GET" => Stream::whole(StatusCode::OK, found.to_string()),
            "PUT" => answered(&self.put(&place.collection, sent)),
            "PATCH" => {
                let mut merged = found.as_ref().clone();
                merge(&mut merged, &sent);
                answered(&self.put(&place.collection, merged))
            }
            "DELETE" => {
                self.objects.remove(&key);
                self.tell(&place.collection, "DELETED", &found);
                answered(&found)
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
        if place.collection == "rayjobs" {
            // The other end lives as long as this server.
            let _sent = self.born.send((key, Instant::now()));
        }
        Stream::whole(StatusCode::CREATED, made.to_string())
    }

    /// A RayJob's status becomes this, if the RayJob is still there.
    pub(super) fn say(&mut self, key: &Key, deployment: &str, job: &str) {
        let Some(found) = self.objects.get(key) else { return };
        let mut object = found.as_ref().clone();
        object["status"] = json!({"jobDeploymentStatus": deployment, "jobStatus": job, "jobId": key.2});
        self.put(&key.0, object);
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
        let of = |(collection, namespace, _): &Key| {
            *collection == place.collection && (place.namespace.is_empty() || *namespace == place.namespace)
        };
        let items: Vec<&Value> =
            self.objects.iter().filter(|(key, _)| of(key)).map(|(_, object)| object.as_ref()).collect();
        let list = json!({"kind": "List", "apiVersion": "v1", "items": items,
            "metadata": {"resourceVersion": self.version.to_string()}});
        Stream::whole(StatusCode::OK, list.to_string())
    }

    /// A stream of what changed after version `since`. What was deleted before the stream began is not told.
    pub(super) fn watch(&mut self, place: &Place, since: u64) -> Response<Stream> {
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
        Stream::lines(receiver)
    }
}

fn line(event: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"))
}

fn answered(object: &Value) -> Response<Stream> {
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
    let room = json!({"cpu": "1000000", "memory": "1000Ti", "pods": "1000000"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("node-of-{cluster}"), "uid": format!("node-of-{cluster}"), "namespace": "",
            "labels": {"kubernetes.io/os": "linux"}, "creationTimestamp": "2026-11-30T00:00:00Z"},
        "spec": {},
        "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True",
            "lastHeartbeatTime": "2026-11-30T00:00:00Z", "lastTransitionTime": "2026-11-30T00:00:00Z"}]}})
}
