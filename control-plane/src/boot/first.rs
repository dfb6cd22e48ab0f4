//! What a new database gets: the queue `default`, and a token for its first administrator.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use anyhow::Context as _;
use squadron_core::{authz::Role, name::QueueName};
use squadron_store::{
    Store,
    token::{self, Token},
};
use uuid::Uuid;

use crate::{clock, http::auth};

const FILE: &str = "admin.token";

/// The queue that every installation has.
pub async fn default_queue(store: &Store) -> anyhow::Result<()> {
    store
        .ensure_queue(&QueueName::new("default")?, clock::now())
        .await
        .context("cannot make the queue default")
}

/// Writes the first administrator's token to `<data>/admin.token` while the database knows no token at all. A token
/// whose file was written before a crash is taken into the database as it is.
pub async fn admin_token(store: &Store, data: &Path) -> anyhow::Result<()> {
    if !store.tokens().await?.is_empty() {
        return Ok(());
    }
    let path = data.join(FILE);
    let secret = match fs::read_to_string(&path) {
        Ok(text) if text.trim().starts_with(auth::TOKEN_PREFIX) => text.trim().to_owned(),
        Ok(_) => anyhow::bail!("{} holds no token; remove it and start again", path.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => write_new(&path)?,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let row = Token {
        id: Uuid::now_v7(),
        subject: "admin".to_owned(),
        role: Role::Admin.word().to_owned(),
        created_at: clock::now(),
        expires_at: None,
        last_used_at: None,
    };
    let digest = auth::digest(&secret);
    store
        .txn("first.token", &(row, digest), |db, (row, digest)| Box::pin(token::insert(db, row, digest)))
        .await?;
    tracing::info!(file = %path.display(), "wrote a token for the first administrator");
    Ok(())
}

fn write_new(path: &Path) -> anyhow::Result<String> {
    let secret = auth::new_secret();
    let next = path.with_extension("next");
    let mut file = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&next)
        .with_context(|| format!("cannot write {}", next.display()))?;
    writeln!(file, "{secret}")?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    Ok(secret)
}
