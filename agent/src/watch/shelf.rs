//! Shelf: the objects of one kind as last seen, by name and by RayCluster.
//!
//! Owns the cached copies. Invariant: per uid only a newer resource version replaces an older one, so a late watch event
//! cannot undo an answer of the API server that we already know, and a late answer cannot bring back an object that the
//! watch saw deleted. A complete list replaces everything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use squadron_ray::view::Object;

use super::object;

type Key = (String, String);

/// Uids of deleted objects that are remembered. An answer is late by seconds at most.
const GRAVES: usize = 1_024;

/// Objects of one kind.
#[derive(Default, Debug)]
pub struct Shelf {
    by_name: BTreeMap<Key, Object>,
    /// Names by (namespace, label `ray.io/cluster`).
    by_cluster: BTreeMap<Key, BTreeSet<String>>,
    uids: BTreeMap<String, Key>,
    incoming: Option<Vec<Object>>,
    complete: bool,
    /// Uids that were removed lately, oldest first.
    graves: VecDeque<String>,
}

impl Shelf {
    /// Takes an object that the API server sent; `false` if something as new is there already.
    pub fn put(&mut self, new: Object) -> bool {
        if let Some(incoming) = &mut self.incoming {
            incoming.push(new.clone());
        }
        let key = (object::namespace(&new).to_owned(), object::name(&new).to_owned());
        if self.by_name.get(&key).is_some_and(|known| is_as_new(known, &new)) {
            return false;
        }
        self.take_out(&key);
        self.uids.insert(object::uid(&new).to_owned(), key.clone());
        let cluster = object::label(&new, "ray.io/cluster");
        if !cluster.is_empty() {
            self.by_cluster.entry((key.0.clone(), cluster.to_owned())).or_default().insert(key.1.clone());
        }
        self.by_name.insert(key, new);
        true
    }

    /// Takes the API server's answer to a write of ours, unless the watch saw the object deleted meanwhile.
    pub fn put_answer(&mut self, answer: Object) -> bool {
        let buried = self.graves.iter().any(|uid| uid == object::uid(&answer));
        !buried && self.put(answer)
    }

    /// Forgets an object, unless another one of that name took its place.
    pub fn remove(&mut self, gone: &Object) {
        self.graves.push_back(object::uid(gone).to_owned());
        if self.graves.len() > GRAVES {
            self.graves.pop_front();
        }
        let key = (object::namespace(gone).to_owned(), object::name(gone).to_owned());
        if self.by_name.get(&key).is_some_and(|known| object::uid(known) == object::uid(gone)) {
            self.take_out(&key);
        }
    }

    pub fn list_begins(&mut self) {
        self.incoming = Some(Vec::new());
    }

    /// Replaces everything by the list; answers what was there and is not listed.
    pub fn list_ends(&mut self) -> Vec<Object> {
        let Some(listed) = self.incoming.take() else { return Vec::new() };
        self.complete = true;
        let present: BTreeSet<&str> = listed.iter().map(|object| object::uid(object)).collect();
        let lost: Vec<Object> =
            self.by_name.values().filter(|known| !present.contains(object::uid(known))).cloned().collect();
        for gone in &lost {
            self.remove(gone);
        }
        lost
    }

    /// Whether a complete list was seen.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub fn get(&self, namespace: &str, name: &str) -> Option<Object> {
        self.by_name.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    pub fn by_uid(&self, uid: &str) -> Option<Object> {
        self.uids.get(uid).and_then(|key| self.by_name.get(key)).cloned()
    }

    /// Objects with label `ray.io/cluster` = `cluster`, in the order of their names.
    pub fn of_cluster(&self, namespace: &str, cluster: &str) -> Vec<Object> {
        let names = self.by_cluster.get(&(namespace.to_owned(), cluster.to_owned()));
        names.into_iter().flatten().filter_map(|name| self.get(namespace, name)).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Object> {
        self.by_name.values()
    }

    fn take_out(&mut self, key: &Key) {
        let Some(old) = self.by_name.remove(key) else { return };
        self.uids.remove(object::uid(&old));
        let group = (key.0.clone(), object::label(&old, "ray.io/cluster").to_owned());
        if let Some(names) = self.by_cluster.get_mut(&group) {
            names.remove(&key.1);
            if names.is_empty() {
                self.by_cluster.remove(&group);
            }
        }
    }
}

fn is_as_new(known: &Object, new: &Object) -> bool {
    let older = match (object::version(known), object::version(new)) {
        (Some(known), Some(new)) => new <= known,
        _ => false,
    };
    older && object::uid(known) == object::uid(new)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn pod(name: &str, uid: &str, version: &str, cluster: &str) -> Object {
        Arc::new(json!({"metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version,
            "labels": {"ray.io/cluster": cluster}}}))
    }

    #[test]
    fn late_events_do_not_undo_newer_answers() {
        let mut shelf = Shelf::default();
        assert!(shelf.put(pod("a", "u1", "10", "c")));
        assert!(!shelf.put(pod("a", "u1", "9", "c")));
        assert!(shelf.put(pod("a", "u2", "5", "c")), "another uid is another object");
        shelf.remove(&pod("a", "u1", "11", "c"));
        assert_eq!(object::uid(&shelf.get("ns", "a").unwrap()), "u2");
    }

    #[test]
    fn a_late_answer_does_not_bring_back_the_dead() {
        let mut shelf = Shelf::default();
        shelf.put(pod("a", "u1", "1", "c"));
        shelf.remove(&pod("a", "u1", "2", "c"));
        assert!(!shelf.put_answer(pod("a", "u1", "3", "c")));
        assert!(shelf.get("ns", "a").is_none());
        assert!(shelf.put_answer(pod("a", "u2", "4", "c")), "a new object of that name is welcome");
    }

    #[test]
    fn index_by_cluster_follows_labels() {
        let mut shelf = Shelf::default();
        shelf.put(pod("a", "u1", "1", "c"));
        shelf.put(pod("b", "u2", "2", "c"));
        shelf.put(pod("a", "u1", "3", "d"));
        let names = |cluster: &str| -> Vec<String> {
            shelf.of_cluster("ns", cluster).iter().map(|pod| object::name(pod).to_owned()).collect()
        };
        assert_eq!((names("c"), names("d")), (vec!["b".to_owned()], vec!["a".to_owned()]));
    }

    #[test]
    fn a_list_replaces_everything_and_tells_what_is_lost() {
        let mut shelf = Shelf::default();
        shelf.put(pod("a", "u1", "1", "c"));
        shelf.put(pod("b", "u2", "2", "c"));
        assert!(!shelf.is_complete());
        shelf.list_begins();
        shelf.put(pod("b", "u2", "2", "c"));
        let lost = shelf.list_ends();
        assert_eq!(lost.len(), 1);
        assert_eq!(object::uid(&lost[0]), "u1");
        assert!(shelf.is_complete() && shelf.get("ns", "a").is_none() && shelf.by_uid("u2").is_some());
    }
}
