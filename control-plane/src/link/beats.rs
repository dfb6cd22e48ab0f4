//! Heartbeats: gathered from all streams and written together; tells when a cluster falls silent or is heard again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use squadron_core::{
    id::ClusterId,
    silence::{Judge, Word},
    time::Timestamp,
};
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
        // Whatever way this ends, the rest of the control plane must not go on without it.
        let all = stop.clone().drop_guard();
        tokio::spawn(async move {
            let _all = all;
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
            let turned = self.book().turn(&waiting, app.settings.silence(clock::now()));
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
    match app.store.note_beats(beats, clock::now()).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "heartbeats could not be written; trying again");
            false
        }
    }
}

impl Book {
    /// Notes what was heard and returns the clusters that fell silent or are heard again.
    fn turn(&mut self, beats: &[Beat], silence: Judge) -> Vec<ClusterId> {
        let mut turned = Vec::new();
        for beat in beats {
            let before = self.heard.insert(beat.cluster, Heard { at: beat.heard_at, silent: false });
            if before.is_none_or(|heard| heard.silent) {
                turned.push(beat.cluster);
            }
        }
        for (cluster, heard) in &mut self.heard {
            if !heard.silent && silence.word(Some(heard.at)) != Word::Heard {
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
        let judge = |millis| Judge { now: at(millis), after_ms: 25 };
        let mut book = Book::default();
        assert_eq!(book.turn(&beat(0), judge(0)), [cluster], "heard for the first time");
        assert_eq!(book.turn(&beat(10), judge(10)), []);
        assert_eq!(book.turn(&[], judge(35)), []);
        assert_eq!(book.turn(&[], judge(36)), [cluster], "silent");
        assert_eq!(book.turn(&[], judge(90)), []);
        assert_eq!(book.turn(&beat(100), judge(100)), [cluster], "heard again");
    }
}
