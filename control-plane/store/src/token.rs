//! API tokens and console sessions. Only SHA-256 digests of their secrets are stored.
//!
//! Invariant: a token that ended or was revoked opens nothing, and neither do the sessions that were made with it.

use sqlx::{
    PgConnection, Row,
    postgres::{PgQueryResult, PgRow},
};
use squadron_core::time::Timestamp;
use uuid::Uuid;

use crate::{Result, Store, at, at_opt, stamp, stamp_opt};

/// SHA-256 of a secret.
pub type Digest = [u8; 32];

/// A token without its secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub id: Uuid,
    pub subject: String,
    pub role: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// A console session that is about to begin.
#[derive(Clone, Debug)]
pub struct Session {
    pub digest: Digest,
    pub token_id: Uuid,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Adds a token.
pub async fn insert(db: &mut PgConnection, token: &Token, digest: &Digest) -> Result<()> {
    sqlx::query(
        "insert into api_token (id, sha256, subject, role, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(token.id)
    .bind(digest.as_slice())
    .bind(&token.subject)
    .bind(&token.role)
    .bind(at(token.created_at))
    .bind(at_opt(token.expires_at))
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a token with its sessions; answers whether there was one.
pub async fn delete(db: &mut PgConnection, id: Uuid) -> Result<bool> {
    Ok(sqlx::query("delete from api_token where id = $1").bind(id).execute(db).await?.rows_affected() == 1)
}

/// Begins a session.
pub async fn insert_session(db: &mut PgConnection, session: &Session) -> Result<()> {
    sqlx::query(
        "insert into console_session (sha256, token_id, created_at, used_at, expires_at) values ($1, $2, $3, $3, $4)",
    )
    .bind(session.digest.as_slice())
    .bind(session.token_id)
    .bind(at(session.created_at))
    .bind(at(session.expires_at))
    .execute(db)
    .await?;
    Ok(())
}

/// Ends a session; ending it twice is harmless.
pub async fn delete_session(db: &mut PgConnection, digest: &Digest) -> Result<()> {
    sqlx::query("delete from console_session where sha256 = $1").bind(digest.as_slice()).execute(db).await?;
    Ok(())
}

/// Uses are noted so often, in milliseconds.
const NOTED_EVERY_MS: i64 = 60_000;

impl Store {
    /// The token with this digest, unless it ended before `now`. Its last use is noted once a minute.
    pub async fn token_by_digest(&self, digest: &Digest, now: Timestamp) -> Result<Option<Token>> {
        let row = sqlx::query(
            "select id, subject, role, created_at, expires_at, last_used_at from api_token
             where sha256 = $1 and (expires_at is null or expires_at > $2)",
        )
        .bind(digest.as_slice())
        .bind(at(now))
        .fetch_optional(self.pool())
        .await?;
        let token = row.as_ref().map(read).transpose()?;
        if let Some(token) = &token {
            self.note_use(token, now).await;
        }
        Ok(token)
    }

    async fn note_use(&self, token: &Token, now: Timestamp) {
        if token.last_used_at.is_some_and(|last| now.millis_since(last) < NOTED_EVERY_MS) {
            return;
        }
        let noted = sqlx::query("update api_token set last_used_at = $2 where id = $1")
            .bind(token.id)
            .bind(at(now))
            .execute(self.pool());
        tell_unnoted(noted.await);
    }

    /// The token behind the session with this digest, unless either ended, or the session was idle since
    /// `idle_since`. Using a session keeps it from being idle, which is noted once a minute.
    pub async fn token_by_session(
        &self,
        digest: &Digest,
        idle_since: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Token>> {
        let row = sqlx::query(
            "select t.id, t.subject, t.role, t.created_at, t.expires_at, t.last_used_at, s.used_at
             from console_session s join api_token t on t.id = s.token_id
             where s.sha256 = $1 and s.used_at > $2 and s.expires_at > $3
               and (t.expires_at is null or t.expires_at > $3)",
        )
        .bind(digest.as_slice())
        .bind(at(idle_since))
        .bind(at(now))
        .fetch_optional(self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let used = stamp(row.try_get("used_at")?);
        if now.millis_since(used) >= NOTED_EVERY_MS {
            let noted = sqlx::query("update console_session set used_at = $2 where sha256 = $1")
                .bind(digest.as_slice())
                .bind(at(now))
                .execute(self.pool());
            tell_unnoted(noted.await);
        }
        read(&row).map(Some)
    }

    /// The token with this id, unless it ended before `now`.
    pub async fn token_by_id(&self, id: Uuid, now: Timestamp) -> Result<Option<Token>> {
        let row = sqlx::query(
            "select id, subject, role, created_at, expires_at, last_used_at from api_token
             where id = $1 and (expires_at is null or expires_at > $2)",
        )
        .bind(id)
        .bind(at(now))
        .fetch_optional(self.pool())
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// Whether the session with this digest exists, has not ended and was used after `idle_since`.
    pub async fn session_lives(
        &self,
        digest: &Digest,
        idle_since: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        let row = sqlx::query(
            "select 1 from console_session where sha256 = $1 and used_at > $2 and expires_at > $3",
        )
        .bind(digest.as_slice())
        .bind(at(idle_since))
        .bind(at(now))
        .fetch_optional(self.pool())
        .await?;
        Ok(row.is_some())
    }

    /// All tokens, oldest first.
    pub async fn tokens(&self) -> Result<Vec<Token>> {
        let rows = sqlx::query(
            "select id, subject, role, created_at, expires_at, last_used_at from api_token order by created_at, id",
        )
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }
}

/// Reading must not need a write: a use that cannot be noted, on a full disk for example, turns nobody away.
fn tell_unnoted(noted: sqlx::Result<PgQueryResult>) {
    if let Err(error) = noted {
        tracing::warn!(%error, "the use of a token could not be noted");
    }
}

fn read(row: &PgRow) -> Result<Token> {
    Ok(Token {
        id: row.try_get("id")?,
        subject: row.try_get("subject")?,
        role: row.try_get("role")?,
        created_at: stamp(row.try_get("created_at")?),
        expires_at: stamp_opt(row.try_get("expires_at")?),
        last_used_at: stamp_opt(row.try_get("last_used_at")?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing;

    const DAY: i64 = 86_400_000;
    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    fn token(expires_at: Option<Timestamp>) -> Token {
        Token {
            id: Uuid::now_v7(),
            subject: "ann".into(),
            role: "viewer".into(),
            created_at: NOW,
            expires_at,
            last_used_at: None,
        }
    }

    async fn with_session(store: &Store, token: &Token) {
        let mut db = store.pool().acquire().await.unwrap();
        insert(&mut db, token, &[1; 32]).await.unwrap();
        let session = Session {
            digest: [2; 32],
            token_id: token.id,
            created_at: NOW,
            expires_at: NOW.plus_millis(DAY),
        };
        insert_session(&mut db, &session).await.unwrap();
    }

    #[tokio::test]
    async fn a_token_opens_until_it_ends() {
        let store = testing::store().await;
        let ends = NOW.plus_millis(DAY);
        with_session(&store, &token(Some(ends))).await;
        assert!(store.token_by_digest(&[1; 32], ends.plus_millis(-1)).await.unwrap().is_some());
        assert!(store.token_by_digest(&[1; 32], ends).await.unwrap().is_none());
        assert!(store.token_by_digest(&[9; 32], NOW).await.unwrap().is_none());
        assert_eq!(store.tokens().await.unwrap()[0].last_used_at, Some(ends.plus_millis(-1)));
    }

    #[tokio::test]
    async fn a_full_disk_keeps_nobody_from_reading() {
        let store = testing::store().await;
        with_session(&store, &token(None)).await;
        for table in ["api_token", "console_session"] {
            testing::fixture::break_writes(&store, table, "true", "53100").await;
            let now = NOW.plus_millis(120_000);
            assert!(store.token_by_digest(&[1; 32], now).await.unwrap().is_some(), "{table}");
            assert!(store.token_by_session(&[2; 32], NOW.plus_millis(-1), now).await.unwrap().is_some());
            testing::fixture::heal(&store).await;
        }
    }

    #[tokio::test]
    async fn a_session_ends_by_idleness_by_age_and_with_its_token() {
        let store = testing::store().await;
        let token = token(None);
        with_session(&store, &token).await;
        let open = async |idle_since: i64, now: i64| {
            let (idle_since, now) = (NOW.plus_millis(idle_since), NOW.plus_millis(now));
            store.token_by_session(&[2; 32], idle_since, now).await.unwrap().is_some()
        };
        assert!(open(-1, 60_000).await);
        assert!(!open(60_000, 61_000).await, "idle since its last use");
        assert!(!open(-1, DAY).await, "past its age");
        assert!(open(59_999, 61_000).await);
        let mut db = store.pool().acquire().await.unwrap();
        assert!(delete(&mut db, token.id).await.unwrap());
        assert!(!open(-1, 62_000).await, "its token was revoked");
        assert!(!delete(&mut db, token.id).await.unwrap());
    }
}
