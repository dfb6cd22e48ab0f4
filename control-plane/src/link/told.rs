//! Told: what stands to be told on arrivals, read for all streams together.
//!
//! Invariant: only clusters whose agents are connected here are read, a bounded part of them at a time, over and over. What this
//! process learns of a job is looked at within one pause, or once the database is back; what another one does, what is refused,
//! and what changes beyond [`MOST_JOBS`] at once, when its page comes, which is within one poll while all sets together are small.
//! While the database is away the last states stay, and no stream ends.

mod book;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use squadron_api::Change;
use squadron_core::{
    arrival::{Told as Words, message},
    id::{ClusterId, JobId},
    sentence::clip,
    time::Timestamp,
};
use squadron_proto::link::{ArrivalState, Arrivals};
use squadron_store::{
    Result,
    arrival::{Place, ToldRow},
};
use tokio::{
    sync::{
        Notify,
        broadcast::{
            Receiver,
            error::{RecvError, TryRecvError},
        },
        watch,
    },
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::book::{Book, States};
use crate::state::AppState;

/// At least so long after a turn comes no other.
const PAUSE: Duration = Duration::from_millis(200);
/// How often pages are turned when everything was read to its end once.
const POLL: Duration = Duration::from_millis(500);
/// Jobs that are looked at by themselves in one turn, and that wait for that; others are seen when their page comes.
const JOBS: usize = 1_000;
const MOST_JOBS: usize = 10_000;
/// States in one message; each is shorter than 2 KiB.
const AT_ONCE: usize = 2_000;

/// What is to be told. Cheap to clone.
#[derive(Clone, Default)]
pub struct Told(Arc<Shared>);

#[derive(Default)]
struct Shared {
    book: Mutex<Book>,
    /// A stream began.
    followed: Notify,
}

impl Told {
    pub fn start(app: AppState, stop: CancellationToken) -> Told {
        let told = Told::default();
        let reader = told.clone();
        // Whatever way this ends, the rest of the control plane must not go on without it.
        let all = stop.clone().drop_guard();
        tokio::spawn(async move {
            let _all = all;
            tokio::select! {
                () = stop.cancelled() => {}
                () = reader.forever(&app) => {}
            }
        });
        told
    }

    /// What one stream to this cluster has sent and has to send.
    pub fn to(&self, cluster: ClusterId) -> Teller {
        let states = self.book().follow(cluster);
        self.0.followed.notify_one();
        Teller { states, sent: None }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn forever(&self, app: &AppState) {
        let (mut news, mut failing, mut turned) = (News::of(app), false, None::<Instant>);
        loop {
            let due = turned.is_none_or(|turned| turned.elapsed() >= POLL) || self.book().has_news_to_read();
            if due {
                turned = Some(Instant::now());
            }
            match self.turn(app, due, &mut news).await {
                Ok(()) => failing = false,
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(%error, "what is to be told on arrivals could not be read; what was read last stays");
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
            let again = !failing && self.book().has_news_to_read();
            if !again {
                tokio::select! {
                    () = news.wait(), if !failing => {}
                    () = self.0.followed.notified() => {}
                    () = tokio::time::sleep(POLL) => {}
                }
            }
        }
    }

    /// Looks at some of the jobs that changed and, if that is due, at the next pages. What cannot be read is looked at again.
    async fn turn(&self, app: &AppState, due: bool, news: &mut News) -> Result<()> {
        let jobs = news.some();
        let done = self.read(app, due, &jobs).await;
        if done.is_err() {
            news.jobs.extend(jobs);
        }
        done
    }

    async fn read(&self, app: &AppState, due: bool, jobs: &[JobId]) -> Result<()> {
        let link = |job: JobId| app.settings.job_link(job);
        if !jobs.is_empty() {
            for (row, stands) in app.store.arrivals_of(jobs).await? {
                let (cluster, place) = (row.cluster, row.place.clone());
                self.book().note(cluster, place, stands.then(|| state(row, link)));
            }
        }
        let pages = if due { self.book().pages() } else { Vec::new() };
        if pages.is_empty() {
            return Ok(());
        }
        let told = app.store.arrivals_to_tell(&pages).await?;
        for (page, rows) in pages.iter().zip(told) {
            let rows = rows.into_iter().map(|row| (row.place.clone(), state(row, link))).collect();
            self.book().turn_page(page, rows);
        }
        Ok(())
    }
}

/// Jobs that changed in this process and were not looked at yet.
struct News {
    changes: Receiver<Change>,
    jobs: BTreeSet<JobId>,
}

impl News {
    fn of(app: &AppState) -> News {
        News { changes: app.wake.changes(), jobs: BTreeSet::new() }
    }

    /// The next of them.
    fn some(&mut self) -> Vec<JobId> {
        loop {
            match self.changes.try_recv() {
                Ok(change) => self.add(&change),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        let some: Vec<JobId> = self.jobs.iter().copied().take(JOBS).collect();
        some.iter().for_each(|job| _ = self.jobs.remove(job));
        some
    }

    /// Returns when there are some.
    async fn wait(&mut self) {
        while self.jobs.is_empty() {
            match self.changes.recv().await {
                Ok(change) => self.add(&change),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    fn add(&mut self, change: &Change) {
        if change.kind == "job" && self.jobs.len() < MOST_JOBS {
            self.jobs.extend(change.id.parse::<JobId>().ok());
        }
    }
}

fn state(row: ToldRow, link: impl Fn(JobId) -> String) -> ArrivalState {
    let begun =
        ArrivalState { uid: row.uid, namespace: row.namespace, name: row.name, ..ArrivalState::default() };
    let Some(job) = row.job else {
        return ArrivalState { reason: row.refusal, message: clip(&row.sentence, 1_000), ..begun };
    };
    let link = link(job.id);
    let words = Words { job: job.id, sentence: &row.sentence, link: &link, edited: row.edited };
    let micros = |at: Option<Timestamp>| at.map_or(0, |at| at.0);
    ArrivalState {
        job_id: job.id.to_string(),
        state: job.state.word().to_owned(),
        message: message(&words),
        reason: job.reason,
        started_at_us: micros(job.started_at),
        ended_at_us: micros(job.ended_at),
        ..begun
    }
}

/// One stream's memory.
pub struct Teller {
    states: watch::Receiver<Arc<States>>,
    /// Absent until something was sent.
    sent: Option<Arc<States>>,
}

impl Teller {
    /// Returns when something of this cluster changed.
    pub async fn changed(&mut self) {
        if self.states.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// What is to be sent now, in messages of a fair length; they count as sent.
    pub fn news(&mut self) -> Vec<Arrivals> {
        let newest = self.states.borrow_and_update().clone();
        if self.sent.as_ref().is_some_and(|sent| Arc::ptr_eq(sent, &newest)) {
            return Vec::new();
        }
        let (first, known) = (self.sent.is_none(), self.sent.clone().unwrap_or_default());
        let same = |place: &Place, state: &Arc<ArrivalState>| {
            known.get(place).is_some_and(|old| Arc::ptr_eq(old, state) || old == state)
        };
        let differing = newest.iter().filter(|(place, state)| !same(place, state));
        let states: Vec<ArrivalState> = differing.map(|(_, state)| ArrivalState::clone(state)).collect();
        if !states.is_empty() || !first {
            self.sent = Some(newest);
        }
        let parts = states.chunks(AT_ONCE).enumerate();
        parts.map(|(part, states)| Arrivals { all: first && part == 0, states: states.to_vec() }).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_core::job::JobState;
    use squadron_store::arrival::{Page, ToldJob};
    use uuid::Uuid;

    use super::*;
    use crate::http::jobs::tests::Room;

    fn row(uid: usize, state: JobState) -> ToldRow {
        ToldRow {
            cluster: ClusterId(Uuid::from_u128(1)),
            uid: format!("{uid:05}"),
            namespace: "ml".into(),
            name: "train".into(),
            edited: false,
            refusal: String::new(),
            sentence: format!("{state} somewhere"),
            place: Place { refused: false, uid: format!("{uid:05}") },
            job: Some(ToldJob {
                id: JobId(Uuid::from_u128(7)),
                state,
                reason: String::new(),
                started_at: Some(Timestamp(5)),
                ended_at: None,
            }),
        }
    }

    const CLUSTER: ClusterId = ClusterId(Uuid::from_u128(1));

    fn publish(told: &Told, rows: Vec<ToldRow>) {
        let page = Page { cluster: CLUSTER, after: None, limit: u32::MAX };
        let state = |row: ToldRow| (row.place.clone(), state(row, |job| format!("https://s/jobs/{job}")));
        told.book().turn_page(&page, rows.into_iter().map(state).collect());
    }

    fn told(news: &[Arrivals]) -> Vec<(bool, usize)> {
        news.iter().map(|message| (message.all, message.states.len())).collect()
    }

    #[test]
    fn a_stream_sends_everything_once_and_then_what_changed() {
        let sender = Told::default();
        let mut teller = sender.to(CLUSTER);
        assert_eq!(told(&teller.news()), [], "an agent that told of nothing hears nothing");
        publish(&sender, (0..2_500).map(|uid| row(uid, JobState::Queued)).collect());
        assert_eq!(told(&teller.news()), [(true, 2_000), (false, 500)]);
        assert_eq!(told(&teller.news()), []);
        let mut rows: Vec<ToldRow> = (0..2_500).map(|uid| row(uid, JobState::Queued)).collect();
        rows[7] = row(7, JobState::Running);
        publish(&sender, rows);
        let news = teller.news();
        assert_eq!(told(&news), [(false, 1)]);
        let state = &news[0].states[0];
        assert_eq!((state.uid.as_str(), state.state.as_str(), state.started_at_us), ("00007", "running", 5));
        assert!(state.message.starts_with("running somewhere; job 0"), "{}", state.message);
        publish(&sender, vec![]);
        assert_eq!(told(&teller.news()), [], "an object that left is not spoken of");
        publish(&sender, vec![row(7, JobState::Running)]);
        assert_eq!(told(&teller.news()), [(false, 1)], "and is told anew when it comes back");
    }

    #[tokio::test]
    async fn jobs_that_could_not_be_read_are_looked_at_again() {
        let app = Room::new().await.app;
        let (told, mut news) = (Told::default(), News::of(&app));
        let job = JobId(Uuid::from_u128(7));
        app.wake.changed("job", job, 1);
        told.turn(&app, true, &mut news).await.unwrap();
        assert_eq!(news.jobs, [].into());
        app.wake.changed("job", job, 2);
        app.store.pool().close().await;
        told.turn(&app, true, &mut news).await.unwrap_err();
        assert_eq!(news.jobs, [job].into());
    }

    #[test]
    fn a_refused_object_has_no_job() {
        let refused = ToldRow {
            refusal: "NOT_ALLOWED".into(),
            sentence: "may not".into(),
            job: None,
            ..row(1, JobState::Queued)
        };
        let state = state(refused, |_| String::new());
        assert_eq!(
            (state.job_id.as_str(), state.reason.as_str(), state.message.as_str()),
            ("", "NOT_ALLOWED", "may not")
        );
    }
}
