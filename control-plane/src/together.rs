//! Together: work that is done once for all who ask while other such work is under way.
//!
//! Owns the line of those who wait for the next turn. Invariants: a turn begins after all of its questions were asked, so nobody
//! is answered from what was seen before; one turn runs at a time; a turn goes on when those who asked have left. Fails by
//! answering nobody, and then each of them does the work alone, with an outcome of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Those who ask the same kind of question.
pub struct Together<Q, A> {
    line: Mutex<Line<Q, A>>,
    /// Questions of one turn at most.
    most: usize,
}

struct Line<Q, A> {
    waiting: Vec<(Q, oneshot::Sender<A>)>,
    /// A turn is under way and will look here again.
    is_served: bool,
}

impl<Q: Send + 'static, A: Send + 'static> Together<Q, A> {
    /// The answer to `question`. `work` answers the questions of one turn, in their order, or none of them; it runs for
    /// whoever asks while nobody is served. `None` when the turn failed.
    pub async fn ask<W, F>(self: &Arc<Self>, question: Q, work: W) -> Option<A>
    where
        W: Fn(Vec<Q>) -> F + Send + 'static,
        F: Future<Output = Option<Vec<A>>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let is_served = {
            let mut line = self.line();
            line.waiting.push((question, answer));
            std::mem::replace(&mut line.is_served, true)
        };
        if !is_served {
            tokio::spawn(Arc::clone(self).serve(work));
        }
        answered.await.ok()
    }

    async fn serve<W, F>(self: Arc<Self>, work: W)
    where
        W: Fn(Vec<Q>) -> F + Send,
        F: Future<Output = Option<Vec<A>>> + Send + 'static,
    {
        let whole = Served(&self);
        while let Some((questions, askers)) = self.turn() {
            for (asker, answer) in askers.into_iter().zip(work(questions).await.unwrap_or_default()) {
                // Who has left needs no answer.
                let _left = asker.send(answer);
            }
        }
        std::mem::forget(whole);
    }

    /// Who is answered next; nobody is served any more when nobody waits.
    fn turn(&self) -> Option<(Vec<Q>, Vec<oneshot::Sender<A>>)> {
        let mut line = self.line();
        let many = line.waiting.len().min(self.most);
        line.is_served = many > 0;
        (many > 0).then(|| line.waiting.drain(..many).unzip())
    }
}

impl<Q, A> Together<Q, A> {
    /// Answers at most `most` questions in one turn.
    pub fn new(most: usize) -> Together<Q, A> {
        Together { line: Mutex::new(Line { waiting: Vec::new(), is_served: false }), most }
    }

    fn line(&self) -> MutexGuard<'_, Line<Q, A>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends all away if the work ends in a panic.
struct Served<'a, Q, A>(&'a Together<Q, A>);

impl<Q, A> Drop for Served<'_, Q, A> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.is_served = false;
        line.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    /// How many were in the turn, and the double of each question. The first of all takes a while.
    async fn double(questions: Vec<u64>) -> Option<Vec<(usize, u64)>> {
        sleep(Duration::from_millis(10)).await;
        match questions.as_slice() {
            [13] => None,
            [14] => panic!("a turn that ends in a panic"),
            all => Some(all.iter().map(|question| (all.len(), question * 2)).collect()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_ask_during_a_turn_share_the_next() {
        let together = Arc::new(Together::new(100));
        let first = together.ask(1, double);
        let later = async {
            sleep(Duration::from_millis(1)).await;
            tokio::join!(together.ask(2, double), together.ask(3, double))
        };
        assert_eq!(tokio::join!(first, later), (Some((1, 2)), (Some((2, 4)), Some((2, 6)))));
        assert_eq!(together.ask(4, double).await, Some((1, 8)), "nobody is left behind");
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_fails_answers_nobody_and_the_next_is_served() {
        let together = Arc::new(Together::new(100));
        for failing in [13, 14] {
            assert_eq!(together.ask(failing, double).await, None);
            assert_eq!(together.ask(1, double).await, Some((1, 2)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_work_goes_on_when_the_first_who_asked_leaves() {
        let together = Arc::new(Together::new(100));
        let leaves = tokio::time::timeout(Duration::from_millis(5), together.ask(1, double));
        let stays = async {
            sleep(Duration::from_millis(1)).await;
            together.ask(2, double).await
        };
        let (left, stayed) = tokio::join!(leaves, stays);
        assert!(left.is_err() && stayed == Some((1, 4)), "{stayed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn many_are_answered_in_several_turns() {
        let together = Arc::new(Together::new(100));
        let all = futures::future::join_all((100..350).map(|question| together.ask(question, double))).await;
        for (question, answer) in (100..350).zip(all) {
            let (many, doubled) = answer.unwrap();
            assert!(doubled == question * 2 && many <= 100, "{question}: {many}, {doubled}");
        }
    }
}
