//! Told: what stands to be told on arrivals, read for all streams at once.
//!
//! Invariant: a stream sees a change within one poll. While the database is away the last states stay, and no stream ends.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use squadron_core::{
    arrival::{Told as Words, message},
    id::ClusterId,
    sentence::clip,
    time::Timestamp,
};
use squadron_proto::link::{ArrivalState, Arrivals};
use squadron_store::{Result, arrival::ToldRow};
use tokio_util::sync::CancellationToken;

use super::newest::{self, Newest, Of};
use crate::{state::AppState, wake::Topic};

/// Objects of one cluster that are told of at most, those that became jobs first; those that were told the end leave the set.
const MOST: i64 = 20_000;
/// States in one message; each is shorter than 2 KiB.
const AT_ONCE: usize = 2_000;

type States = BTreeMap<String, ArrivalState>;
type All = BTreeMap<ClusterId, States>;

/// The newest states. Cheap to clone.
#[derive(Clone)]
pub struct Told(Newest<States>);

impl Told {
    pub fn start(app: AppState, stop: CancellationToken) -> Told {
        let (what, pause) = ("what is to be told on arrivals", Duration::from_millis(200));
        Told(Newest::start(app, stop, Of { what, topics: [Topic::Desired; 2], pause }, read))
    }

    /// What one stream to this cluster has sent and has to send.
    pub fn to(&self, cluster: ClusterId) -> Teller {
        Teller { states: self.0.follow(cluster), sent: None }
    }
}

fn read(app: &AppState) -> BoxFuture<'_, Result<All>> {
    let all = async move {
        let rows = app.store.arrivals_to_tell(MOST).await?;
        Ok(grouped(rows, |job| app.settings.job_link(job)))
    };
    all.boxed()
}

fn grouped(rows: Vec<ToldRow>, link: impl Fn(squadron_core::id::JobId) -> String) -> All {
    let mut clusters = All::new();
    for row in rows {
        let states = clusters.entry(row.cluster).or_default();
        states.insert(row.uid.clone(), state(row, &link));
    }
    clusters
}

fn state(row: ToldRow, link: impl Fn(squadron_core::id::JobId) -> String) -> ArrivalState {
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
    states: newest::Follow<States>,
    /// Absent until something was sent.
    sent: Option<Arc<States>>,
}

impl Teller {
    /// Returns when something of this cluster changed.
    pub async fn changed(&mut self) {
        newest::changed(&mut self.states).await;
    }

    /// What is to be sent now, in messages of a fair length; they count as sent.
    pub fn news(&mut self) -> Vec<Arrivals> {
        let newest = self.states.borrow_and_update().clone().unwrap_or_default();
        let (first, known) = (self.sent.is_none(), self.sent.clone().unwrap_or_default());
        let differing = newest.iter().filter(|(uid, state)| known.get(*uid) != Some(*state));
        let states: Vec<ArrivalState> = differing.map(|(_, state)| state.clone()).collect();
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
    use squadron_core::{id::JobId, job::JobState};
    use squadron_store::arrival::ToldJob;
    use uuid::Uuid;

    use super::*;

    fn row(uid: usize, state: JobState) -> ToldRow {
        ToldRow {
            cluster: ClusterId(Uuid::from_u128(1)),
            uid: format!("{uid:05}"),
            namespace: "ml".into(),
            name: "train".into(),
            edited: false,
            refusal: String::new(),
            sentence: format!("{state} somewhere"),
            job: Some(ToldJob {
                id: JobId(Uuid::from_u128(7)),
                state,
                reason: String::new(),
                started_at: Some(Timestamp(5)),
                ended_at: None,
            }),
        }
    }

    fn publish(newest: &Newest<States>, rows: Vec<ToldRow>) {
        newest.keep(grouped(rows, |job| format!("https://s/jobs/{job}")));
    }

    fn told(news: &[Arrivals]) -> Vec<(bool, usize)> {
        news.iter().map(|message| (message.all, message.states.len())).collect()
    }

    #[test]
    fn a_stream_sends_everything_once_and_then_what_changed() {
        let sender = Newest::default();
        let mut teller = Told(sender.clone()).to(ClusterId(Uuid::from_u128(1)));
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
