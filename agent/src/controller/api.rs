//! Api: writes to the API server, on raw objects of any kind.
//!
//! Owns how a write is sent and how its refusal reads. Invariant: answers are put into the cache, so that the next pass
//! sees them even if the watch is late.

use std::sync::Arc;

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::{DynamicObject, GroupVersionKind},
};
use serde_json::Value;
use squadron_ray::{plan::ObjectRef, view::Object};

use crate::watch::{Cache, Kind, object};

/// The name under which the API server books our writes.
const MANAGER: &str = "squadron-agent";

/// A refused write, in the API server's words.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{message}")]
    Refused { code: u16, reason: String, message: String },
    #[error("the API server could not be asked to {verb} {object}")]
    Unsent {
        verb: &'static str,
        object: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("{0} is no Kubernetes object")]
    Malformed(String, #[source] serde_json::Error),
}

impl WriteError {
    pub fn code(&self) -> u16 {
        match self {
            WriteError::Refused { code, .. } => *code,
            _ => 0,
        }
    }

    /// The error and its cause in one line.
    pub fn sentence(&self) -> String {
        let cause = std::error::Error::source(self);
        cause.map_or_else(|| self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

/// The API server, for writing.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    cache: Arc<Cache>,
}

impl Writer {
    pub fn new(client: Client, cache: Arc<Cache>) -> Writer {
        Writer { client, cache }
    }

    /// Creates an object; answers it as the API server stored it.
    pub async fn create(&self, object: &Value) -> Result<Object, WriteError> {
        let target = reference(object);
        let body = parse(object)?;
        let made = self.api(&target).create(&params(), &body).await;
        self.keep(&target, &made.map_err(|cause| failed("create", &target, cause))?)
    }

    /// Deletes in the background; an object that is gone already is a success.
    pub async fn delete(&self, target: &ObjectRef) -> Result<(), WriteError> {
        self.delete_as(target, DeleteParams::background()).await
    }

    /// The same with another grace for its containers than its own, in milliseconds. A batch Job leaves its pods behind.
    pub async fn delete_within(&self, target: &ObjectRef, kind: Kind, grace: u64) -> Result<(), WriteError> {
        let how = if kind == Kind::BatchJob { DeleteParams::orphan() } else { DeleteParams::background() };
        let seconds = u32::try_from(grace.div_ceil(1_000)).unwrap_or(u32::MAX);
        self.delete_as(target, how.grace_period(seconds)).await
    }

    async fn delete_as(&self, target: &ObjectRef, how: DeleteParams) -> Result<(), WriteError> {
        let uid = (!target.uid.is_empty()).then(|| target.uid.clone());
        let how = how.preconditions(Preconditions { uid: uid.clone(), resource_version: None });
        // Before the call: the watch may tell the end earlier than the answer arrives.
        uid.iter().for_each(|uid| self.cache.note_deletion(uid));
        match self.api(target).delete(&target.name, &how).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(cause) => {
                if matches!(cause, kube::Error::Api(_)) {
                    uid.iter().for_each(|uid| _ = self.cache.take_deletion(uid));
                }
                Err(failed("delete", target, cause))
            }
        }
    }

    /// A JSON merge patch of the main resource.
    pub async fn patch(&self, target: &ObjectRef, patch: &Value) -> Result<Object, WriteError> {
        let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patched = self.api(target).patch(&target.name, &how, &Patch::Merge(patch)).await;
        self.keep(target, &patched.map_err(|cause| failed("patch", target, cause))?)
    }

    /// Replaces the status of `object`, if it is still at the resource version that it carries.
    pub async fn replace_status(&self, object: &Value) -> Result<Object, WriteError> {
        let target = reference(object);
        let body = parse(object)?;
        let written = self.api(&target).replace_status(&target.name, &params(), &body).await;
        self.keep(&target, &written.map_err(|cause| failed("write the status of", &target, cause))?)
    }

    /// An object fresh from the API server.
    pub async fn get(&self, target: &ObjectRef) -> Result<Option<Object>, WriteError> {
        let found = self.api(target).get_opt(&target.name).await;
        found.map_err(|cause| failed("read", target, cause))?.map(|found| raw(target, &found)).transpose()
    }

    fn api(&self, target: &ObjectRef) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &target.namespace, &resource(target))
    }

    fn keep(&self, target: &ObjectRef, answer: &DynamicObject) -> Result<Object, WriteError> {
        let answer = raw(target, answer)?;
        if let Some(kind) = kind_of(target).filter(|kind| kind.keeps(&answer)) {
            self.cache.shelf(kind).put_answer(answer.clone());
        }
        Ok(answer)
    }
}

fn params() -> PostParams {
    PostParams { dry_run: false, field_manager: Some(MANAGER.to_owned()) }
}

/// A reference to an object, from its own fields.
pub fn reference(value: &Value) -> ObjectRef {
    let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    ObjectRef {
        api_version: word("apiVersion"),
        kind: word("kind"),
        namespace: object::namespace(value).to_owned(),
        name: object::name(value).to_owned(),
        uid: object::uid(value).to_owned(),
    }
}

fn resource(target: &ObjectRef) -> ApiResource {
    let (group, version) = target.api_version.split_once('/').unwrap_or(("", &target.api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &target.kind))
}

fn kind_of(target: &ObjectRef) -> Option<Kind> {
    let same = |kind: &&Kind| {
        let resource = kind.resource();
        resource.kind == target.kind && resource.api_version == target.api_version
    };
    Kind::ALL.iter().find(same).copied()
}

fn parse(value: &Value) -> Result<DynamicObject, WriteError> {
    serde_json::from_value(value.clone())
        .map_err(|cause| WriteError::Malformed(object::name(value).to_owned(), cause))
}

fn raw(target: &ObjectRef, answer: &DynamicObject) -> Result<Object, WriteError> {
    let mut value =
        serde_json::to_value(answer).map_err(|cause| WriteError::Malformed(target.name.clone(), cause))?;
    value["apiVersion"] = target.api_version.clone().into();
    value["kind"] = target.kind.clone().into();
    if let Some(meta) = value["metadata"].as_object_mut() {
        meta.remove("managedFields");
    }
    Ok(Arc::new(value))
}

fn failed(verb: &'static str, target: &ObjectRef, cause: kube::Error) -> WriteError {
    match cause {
        kube::Error::Api(status) => WriteError::Refused {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
        },
        cause => WriteError::Unsent {
            verb,
            object: format!("{} {}/{}", target.kind, target.namespace, target.name),
            cause: Box::new(cause),
        },
    }
}
