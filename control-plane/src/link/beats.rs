//! Heartbeats: gathered from all streams and written together; tells when a cluster falls silent or is heard again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use squadron_core::{id::ClusterId, time::Timestamp};
use squadron_store::cluster::agent::Beat;
use tokio_util::sync::CancellationToken;

use crate::{clock, state::AppState, wake::Topic};

const WRITE_EVERY: Duration = Duration::from_millis(250);

/// Takes heartbeats. Cheap to clone.
#[derive(Clone, Default)]
pub struct Beats(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    waiting: BTreeMap<ClusterId, Beat>,
    heard: BTreeMap<ClusterId, Heard>,
}

#[derive(Clone, Copy)]
struct Heard {
    at: Timestamp,
    silent: bool,
}

impl Beats {
    pub fn start(app: AppState, stop: CancellationToken) -> Beats {
        let beats = Beats::default();
        let writer = beats.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = writer.write_forever(&app) => {}
            }
        });
        beats
    }

    pub fn note(&self, beat: Beat) {
        self.book().waiting.insert(beat.cluster, beat);
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write_forever(&self, app: &AppState) {
        loop {
            tokio::time::sleep(WRITE_EVERY).await;
            let waiting: Vec<Beat> = std::mem::take(&mut self.book().waiting).into_values().collect();
            if !waiting.is_empty() && !write(app, &waiting).await {
                self.put_back(waiting);
                continue;
            }
            let silent_after = i64::try_from(app.settings.silent_after().as_millis()).unwrap_or(i64::MAX);
            let turned = self.book().turn(&waiting, clock::now(), silent_after);
            for cluster in &turned {
                app.wake.changed("cluster", cluster, 0);
            }
            if !turned.is_empty() {
                app.wake.notify(Topic::Dispatch);
            }
        }
    }

    /// Beats that could not be written wait for the next round, unless a newer one came.
    fn put_back(&self, beats: Vec<Beat>) {
        let mut book = self.book();
        for beat in beats {
            book.waiting.entry(beat.cluster).or_insert(beat);
        }
    }
}

async fn write(app: &AppState, beats: &[Beat]) -> bool {
    match app.store.note_beats(beats).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "heartbeats could not be written; trying again");
            false
        }
    }
}

impl Book {
    /// Notes what was heard and returns the clusters that fell silent or are heard again.
    fn turn(&mut self, beats: &[Beat], now: Timestamp, silent_after_ms: i64) -> Vec<ClusterId> {
        let mut turned = Vec::new();
        for beat in beats {
            let before = self.heard.insert(beat.cluster, Heard { at: beat.heard_at, silent: false });
            if before.is_none_or(|heard| heard.silent) {
                turned.push(beat.cluster);
            }
        }
        for (cluster, heard) in &mut self.heard {
            if !heard.silent && now.millis_since(heard.at) > silent_after_ms {
                heard.silent = true;
                turned.push(*cluster);
            }
        }
        turned
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn turns_are_told_once() {
        let cluster = ClusterId(Uuid::from_u128(1));
        let at = Timestamp::from_millis;
        let beat = |millis| {
            let heard_at = at(millis);
            [Beat { cluster, heard_at, skew_ms: 0, spool_bytes: 0, applied_generation: 0 }]
        };
        let mut book = Book::default();
        assert_eq!(book.turn(&beat(0), at(0), 25), [cluster], "heard for the first time");
        assert_eq!(book.turn(&beat(10), at(10), 25), []);
        assert_eq!(book.turn(&[], at(35), 25), []);
        assert_eq!(book.turn(&[], at(36), 25), [cluster], "silent");
        assert_eq!(book.turn(&[], at(90), 25), []);
        assert_eq!(book.turn(&beat(100), at(100), 25), [cluster], "heard again");
    }
}
