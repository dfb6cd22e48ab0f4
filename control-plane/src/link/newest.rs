//! Newest: a value that is read from the database again and again, once for all streams.
//!
//! Invariant: while the database cannot be read the last value stays, and the log says so once. If the reader ever ended, the
//! whole control plane would end with it rather than go on with old values.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::future::{BoxFuture, select};
use squadron_store::Result;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{state::AppState, wake::Topic};

/// How often the value is read while no hint comes.
const POLL: Duration = Duration::from_millis(500);

/// The value as last read; the default before the first read.
pub type Newest<T> = watch::Receiver<Arc<T>>;

/// Reads after every hint on one of the topics and twice a second; `what` names the value in the log.
pub fn start<T, R>(
    app: AppState,
    stop: CancellationToken,
    topics: [Topic; 2],
    what: &'static str,
    read: R,
) -> Newest<T>
where
    T: Default + PartialEq + Send + Sync + 'static,
    R: for<'a> Fn(&'a AppState) -> BoxFuture<'a, Result<T>> + Send + Sync + 'static,
{
    let (sender, receiver) = watch::channel(Arc::default());
    let all = stop.clone().drop_guard();
    tokio::spawn(async move {
        let _all = all;
        tokio::select! {
            () = stop.cancelled() => {}
            () = forever(&app, &sender, topics, what, read) => {}
        }
    });
    receiver
}

async fn forever<T: PartialEq, R>(
    app: &AppState,
    sender: &watch::Sender<Arc<T>>,
    topics: [Topic; 2],
    what: &str,
    read: R,
) where
    R: for<'a> Fn(&'a AppState) -> BoxFuture<'a, Result<T>>,
{
    let [mut one, mut other] = topics.map(|topic| app.wake.listen(topic));
    let mut failing = false;
    loop {
        match read(app).await {
            Ok(newest) => {
                failing = false;
                keep(sender, newest);
            }
            Err(_) if failing => {}
            Err(error) => {
                failing = true;
                tracing::warn!(%error, "{what} could not be read; what was read last stays");
            }
        }
        select(pin!(one.next(POLL)), pin!(other.next(POLL))).await;
    }
}

fn keep<T: PartialEq>(sender: &watch::Sender<Arc<T>>, newest: T) {
    sender.send_if_modified(|known| {
        let differs = **known != newest;
        *known = Arc::new(newest);
        differs
    });
}

/// Returns when the value changed.
pub async fn changed<T>(newest: &mut Newest<T>) {
    if newest.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
