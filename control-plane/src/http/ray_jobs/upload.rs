//! Upload: a package's bytes on their way into the database, chunk by chunk.
//!
//! Invariant: one chunk is in memory, nothing is stored of what is announced as too large, and nobody sees a package
//! before its last chunk is stored. What breaks off is removed at once, or by the sweep if we break off too.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use futures::StreamExt as _;
use sha2::{Digest as _, Sha256};
use squadron_store::ray_package::{NAME_TAKEN, Package};
use uuid::Uuid;

use super::{
    packages::too_large,
    refusal::{Refusal, Result},
};
use crate::{clock, state::AppState};

/// A package must be smaller, in bytes: a head's dashboard takes no greater request, and into one it goes in the end.
pub const MOST_BYTES: u64 = 100 << 20;
/// What one person may keep here at a time, in bytes. Packages that nobody uses go after a week.
const MOST_KEPT: u64 = 16 << 30;
/// Of a body that is refused so much is read, in bytes. Ray's client sends no greater one.
const DISCARDED: u64 = 2 << 30;
/// Bytes of one row.
const CHUNK: usize = 1 << 20;
/// A body that brings nothing for this long is given up.
const IDLE: Duration = Duration::from_secs(30);
/// Names that carry a hash of the content begin so.
const HASHED: &str = "_ray_pkg_";

/// Takes the body in as the owner's package.
pub async fn receive(app: &AppState, owner: &str, name: &str, body: Body) -> Result<()> {
    if app.store.kept_by(owner).await? >= MOST_KEPT {
        return Err(Refusal::Ray(
            StatusCode::INSUFFICIENT_STORAGE,
            format!(
                "ValueError: you keep {} GiB of packages, which is all that one person may; those that no job has used \
                 for a week are removed. Use a smaller working directory, or put large files into the image.",
                MOST_KEPT >> 30
            ),
        ));
    }
    let id = Uuid::now_v7();
    app.store.begin_package(id, owner, name, clock::now()).await?;
    let kept = match write(app, id, body).await {
        Ok(package) => keep(app, owner, name, &package).await,
        Err(refused) => Err(refused),
    };
    if !matches!(kept, Ok(Kept::New)) {
        app.store.drop_package(id).await?;
    }
    kept.map(|_| ())
}

/// Reads a body that is refused anyway, so that its sender gets to hear why: a client that still writes when the
/// connection closes reports that instead. What is longer still hears nothing.
pub async fn discard(body: Body) {
    let mut parts = body.into_data_stream();
    let mut read = 0;
    while read < DISCARDED
        && let Ok(Some(Ok(part))) = tokio::time::timeout(IDLE, parts.next()).await
    {
        read += part.len() as u64;
    }
}

enum Kept {
    New,
    /// A package of this name was there before.
    Known,
}

async fn keep(app: &AppState, owner: &str, name: &str, package: &Package) -> Result<Kept> {
    match app.store.complete_package(package).await {
        Ok(()) => return Ok(Kept::New),
        Err(error) if error.violates(NAME_TAKEN) => {}
        Err(error) => return Err(error.into()),
    }
    let known = app.store.package(owner, name, clock::now()).await?;
    let same = known.is_some_and(|known| known.sha256 == package.sha256);
    if same || name.starts_with(HASHED) {
        return Ok(Kept::Known);
    }
    Err(Refusal::Ray(
        StatusCode::CONFLICT,
        format!(
            "ValueError: you uploaded another {name} before, and jobs may still use it; give this one another name or version"
        ),
    ))
}

async fn write(app: &AppState, id: Uuid, body: Body) -> Result<Package> {
    let mut parts = body.into_data_stream();
    let mut writer = Writer { app, id, buffer: Vec::new(), number: 0, bytes: 0, digest: Sha256::new() };
    loop {
        let part = tokio::time::timeout(IDLE, parts.next()).await;
        match part {
            Ok(Some(Ok(part))) => writer.take(&part).await?,
            Ok(None) => return writer.finish().await,
            Ok(Some(Err(_))) | Err(_) => {
                return Err(Refusal::bad("ValueError: the package did not arrive whole; submit again"));
            }
        }
    }
}

struct Writer<'a> {
    app: &'a AppState,
    id: Uuid,
    buffer: Vec<u8>,
    number: i32,
    bytes: u64,
    digest: Sha256,
}

impl Writer<'_> {
    async fn take(&mut self, part: &Bytes) -> Result<()> {
        self.bytes += part.len() as u64;
        if self.bytes >= MOST_BYTES {
            return Err(too_large());
        }
        self.digest.update(part);
        self.buffer.extend_from_slice(part);
        while self.buffer.len() >= CHUNK {
            let rest = self.buffer.split_off(CHUNK);
            self.flush().await?;
            self.buffer = rest;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        self.app.store.add_chunk(self.id, self.number, &self.buffer).await?;
        self.number += 1;
        self.buffer.clear();
        Ok(())
    }

    async fn finish(mut self) -> Result<Package> {
        if !self.buffer.is_empty() {
            self.flush().await?;
        }
        Ok(Package { id: self.id, bytes: self.bytes, sha256: self.digest.finalize().into() })
    }
}
