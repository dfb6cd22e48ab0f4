//! Many: calls to the API server for many attempts at a time, within bounds.
//!
//! Owns how many calls are under way and how long one may take. Invariant: attempts are worked on in groups, the first ones
//! to their end before the last ones begin, so that between the deletion of a RayJob and that of its pods there are a few
//! calls and not thousands. A call that fails or is late is reported and holds up nothing else. Repaired by the caller,
//! who asks again for what is still there.

use std::time::Duration;

use futures::{StreamExt, future::join_all, stream};
use tokio::{sync::Semaphore, time::timeout};

/// Attempts of one group.
pub const TOGETHER: usize = 16;
/// Groups at the same time.
const GROUPS: usize = 16;
/// Calls at the same time. An API server with its usual settings gives a service account about 245 seats.
const CALLS: usize = 224;
/// One call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Room for calls.
pub struct Lanes(Semaphore);

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes(Semaphore::new(CALLS))
    }
}

impl Lanes {
    /// Calls for every item at once, as far as there is room; answers in their order.
    pub async fn all<T, R, E, F>(
        &self,
        items: impl IntoIterator<Item = T>,
        call: impl Fn(T) -> F,
    ) -> Vec<anyhow::Result<R>>
    where
        F: Future<Output = Result<R, E>>,
        E: Into<anyhow::Error>,
    {
        join_all(items.into_iter().map(|item| self.one(call(item)))).await
    }

    async fn one<R, E: Into<anyhow::Error>>(
        &self,
        call: impl Future<Output = Result<R, E>>,
    ) -> anyhow::Result<R> {
        let _room = self.0.acquire().await?;
        match timeout(PATIENCE, call).await {
            Ok(answer) => answer.map_err(Into::into),
            Err(_late) => anyhow::bail!("the API server did not answer within {} s", PATIENCE.as_secs()),
        }
    }
}

/// Works on groups, some at the same time; answers what became of each.
pub async fn by_groups<G, R, F>(groups: Vec<G>, work: impl Fn(G) -> F) -> Vec<R>
where
    F: Future<Output = R>,
{
    stream::iter(groups).map(work).buffer_unordered(GROUPS).collect().await
}
