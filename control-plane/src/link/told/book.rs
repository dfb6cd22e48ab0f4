//! Book: what stands to be told on arrivals, cluster by cluster, as it is read page by page.
//!
//! Owns whose page is read next and how much. Invariant: a page replaces what was known of its own stretch and nothing else, so
//! a set is right everywhere that was read since it changed. What one turn asks for is bounded, however many clusters are
//! followed and however much stands there; every cluster gets its turn. Clusters that nobody follows are forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};

use squadron_core::id::ClusterId;
use squadron_proto::link::ArrivalState;
use squadron_store::arrival::{Page, Place};
use tokio::sync::watch;

/// Objects of one cluster that are told of at most, those that became jobs first; those that were told the end leave the set.
const MOST: usize = 20_000;
/// Rows of one page, at most and at least, and of the first page of a cluster of which nothing is known.
const PAGE: usize = 1_000;
const SMALL: usize = 32;
const FIRST: usize = 250;
/// Rows of all pages of one turn together, at most.
const TURN: usize = 8_000;

/// What is to be told, in the order in which it is read; shared between all who hold it.
pub(super) type States = BTreeMap<Place, Arc<ArrivalState>>;

/// Everything that is followed.
#[derive(Default)]
pub(super) struct Book {
    clusters: BTreeMap<ClusterId, Known>,
    /// Whose page was read last.
    turn: Option<ClusterId>,
}

struct Known {
    states: watch::Sender<Arc<States>>,
    /// Where the reading stands; absent at the beginning.
    after: Option<Place>,
    /// Rows since that beginning.
    read: usize,
    /// It was read to its end once.
    whole: bool,
}

impl Default for Known {
    fn default() -> Known {
        Known { states: watch::channel(Arc::default()).0, after: None, read: 0, whole: false }
    }
}

impl Book {
    /// What is to be told in a cluster, from now on.
    pub(super) fn follow(&mut self, cluster: ClusterId) -> watch::Receiver<Arc<States>> {
        self.clusters.entry(cluster).or_default().states.subscribe()
    }

    /// Whether something that is followed was not read to its end yet.
    pub(super) fn has_news_to_read(&self) -> bool {
        self.clusters.values().any(|known| !known.whole)
    }

    /// What is to be read next, of the clusters whose turn it is.
    pub(super) fn pages(&mut self) -> Vec<Page> {
        // Nobody follows a cluster whose streams have ended.
        self.clusters.retain(|_, known| known.states.receiver_count() > 0);
        let from = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let until = self.turn.map_or(Bound::Unbounded, Bound::Included);
        let again = self.clusters.range((Bound::Unbounded, until)).filter(|_| self.turn.is_some());
        let (mut pages, mut rows) = (Vec::new(), 0);
        for (cluster, known) in self.clusters.range((from, Bound::Unbounded)).chain(again) {
            let limit = known.limit();
            rows += limit;
            if rows > TURN {
                break;
            }
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            pages.push(Page { cluster: *cluster, after: known.after.clone(), limit });
        }
        self.turn = pages.last().map(|page| page.cluster);
        pages
    }

    /// A page was read.
    pub(super) fn turn_page(&mut self, page: &Page, rows: Vec<(Place, ArrivalState)>) {
        let Some(known) = self.clusters.get_mut(&page.cluster) else { return };
        let last = rows.last().map(|(place, _)| place.clone()).filter(|_| rows.len() >= page.limit as usize);
        known.read += rows.len();
        let goes_on = last.filter(|_| known.read < MOST);
        known.whole |= goes_on.is_none();
        known.read = if goes_on.is_some() { known.read } else { 0 };
        let stretch = (
            page.after.clone().map_or(Bound::Unbounded, Bound::Excluded),
            goes_on.clone().map_or(Bound::Unbounded, Bound::Included),
        );
        known.after = goes_on;
        known.change(stretch, rows);
    }

    /// One object was looked at by itself.
    pub(super) fn note(&mut self, cluster: ClusterId, place: Place, state: Option<ArrivalState>) {
        let Some(known) = self.clusters.get_mut(&cluster) else { return };
        let only = (Bound::Included(place.clone()), Bound::Included(place.clone()));
        let there = known.states.borrow().clone();
        let fits = there.len() < MOST || there.contains_key(&place);
        known.change(only, state.filter(|_| fits).map(|state| (place, state)).into_iter().collect());
    }
}

impl Known {
    fn limit(&self) -> usize {
        let least = if self.whole { SMALL } else { FIRST };
        (2 * self.states.borrow().len()).clamp(least, PAGE).min(MOST - self.read)
    }

    /// Everything that is known of the stretch becomes these rows. Who follows is woken only if that makes a difference.
    fn change(&self, stretch: (Bound<Place>, Bound<Place>), rows: Vec<(Place, ArrivalState)>) {
        self.states.send_if_modified(|states| {
            let present: BTreeSet<&Place> = rows.iter().map(|(place, _)| place).collect();
            // Pages come in the database's order; where that is not ours, nothing is said to be gone.
            let there = is_stretch(&stretch).then(|| states.range(stretch).map(|(place, _)| place));
            let there = there.into_iter().flatten();
            let mut gone: Vec<Place> = there.filter(|place| !present.contains(place)).cloned().collect();
            // An object that was refused and is a job now stands in another place.
            let before =
                rows.iter().map(|(place, _)| Place { refused: !place.refused, uid: place.uid.clone() });
            gone.extend(before.filter(|place| states.contains_key(place)));
            let known =
                |place: &Place, state: &ArrivalState| states.get(place).is_some_and(|old| **old == *state);
            let news: Vec<_> = rows.into_iter().filter(|(place, state)| !known(place, state)).collect();
            let differs = !gone.is_empty() || !news.is_empty();
            if differs {
                let states = Arc::make_mut(states);
                gone.iter().for_each(|place| _ = states.remove(place));
                states.extend(news.into_iter().map(|(place, state)| (place, Arc::new(state))));
            }
            differs
        });
    }
}

/// Whether the stretch begins before it ends.
fn is_stretch(stretch: &(Bound<Place>, Bound<Place>)) -> bool {
    match stretch {
        (Bound::Excluded(after), Bound::Included(last)) => after < last,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;

    fn cluster(number: u128) -> ClusterId {
        ClusterId(Uuid::from_u128(number))
    }

    fn row(refused: bool, uid: usize, word: &str) -> (Place, ArrivalState) {
        let uid = format!("{uid:05}");
        let state = ArrivalState { uid: uid.clone(), state: word.into(), ..ArrivalState::default() };
        (Place { refused, uid }, state)
    }

    /// A cluster's objects as a database has them.
    struct Shelf(Vec<(Place, ArrivalState)>);

    impl Shelf {
        fn read(&mut self, page: &Page) -> Vec<(Place, ArrivalState)> {
            self.0.sort_by(|a, b| a.0.cmp(&b.0));
            let behind =
                self.0.iter().filter(|(place, _)| page.after.as_ref().is_none_or(|after| place > after));
            behind.take(page.limit as usize).cloned().collect()
        }
    }

    /// Turns until everything was read to its end at least once more; the rows of the longest turn.
    fn sweep(book: &mut Book, shelf: &mut Shelf) -> usize {
        let mut most = 0;
        for _ in 0..60 {
            let mut rows = 0;
            for page in book.pages() {
                let read = shelf.read(&page);
                rows += read.len();
                book.turn_page(&page, read);
            }
            most = most.max(rows);
        }
        most
    }

    fn words(states: &watch::Receiver<Arc<States>>) -> Vec<(bool, String, String)> {
        let states = states.borrow();
        states.iter().map(|(at, state)| (at.refused, at.uid.clone(), state.state.clone())).collect()
    }

    #[test]
    fn a_set_is_read_page_by_page_and_follows_what_changes_comes_and_goes() {
        let (mut book, mut shelf) =
            (Book::default(), Shelf((0..3_000).map(|uid| row(false, uid, "queued")).collect()));
        let states = book.follow(cluster(1));
        assert_eq!(sweep(&mut book, &mut shelf), PAGE, "no page is longer");
        assert_eq!(words(&states).len(), 3_000);
        shelf.0.retain(|(place, _)| place.uid != "00000" && place.uid != "01500" && place.uid != "02999");
        shelf.0[700] = row(false, 701, "running");
        shelf.0.push(row(true, 9_000, "refused"));
        sweep(&mut book, &mut shelf);
        let expected: Vec<_> =
            shelf.0.iter().map(|(at, state)| (at.refused, at.uid.clone(), state.state.clone())).collect();
        assert_eq!(words(&states), expected);
        shelf.0.clear();
        sweep(&mut book, &mut shelf);
        assert_eq!(words(&states), []);
    }

    #[test]
    fn who_follows_is_woken_by_differences_only() {
        let (mut book, mut shelf) = (Book::default(), Shelf(vec![row(true, 1, "refused")]));
        let mut states = book.follow(cluster(1));
        sweep(&mut book, &mut shelf);
        assert!(states.has_changed().unwrap());
        states.mark_unchanged();
        sweep(&mut book, &mut shelf);
        assert!(!states.has_changed().unwrap());
        let (place, state) = row(false, 1, "queued");
        book.note(cluster(1), place.clone(), Some(state));
        assert_eq!(words(&states), [(false, "00001".into(), "queued".into())], "it was refused before");
        book.note(cluster(1), place, None);
        assert_eq!(words(&states), []);
    }

    #[test]
    fn pages_in_an_order_that_is_not_ours_stop_nothing() {
        let mut book = Book::default();
        let states = book.follow(cluster(1));
        for letter in ["a", "B"] {
            let page = book.pages().remove(0);
            let rows = (0..page.limit).map(|n| {
                let uid = format!("{letter}{n:05}");
                let state = ArrivalState { uid: uid.clone(), ..ArrivalState::default() };
                (Place { refused: false, uid }, state)
            });
            book.turn_page(&page, rows.collect());
        }
        let told = words(&states);
        assert!(told.iter().any(|(_, uid, _)| uid == "B00000"), "{} are told", told.len());
    }

    #[test]
    fn jobs_come_before_what_is_refused_and_a_set_has_an_end() {
        let (mut book, mut shelf) =
            (Book::default(), Shelf((0..MOST).map(|uid| row(true, uid, "refused")).collect()));
        shelf.0.push(row(false, 90_000, "queued"));
        let states = book.follow(cluster(1));
        sweep(&mut book, &mut shelf);
        let told = words(&states);
        assert_eq!((told.len(), &told[0].1), (MOST, &"90000".to_owned()));
        let (place, state) = row(true, 95_000, "refused");
        book.note(cluster(1), place, Some(state));
        assert_eq!(words(&states).len(), MOST);
    }

    #[test]
    fn a_turn_is_bounded_and_every_cluster_gets_one() {
        let mut book = Book::default();
        let followed: Vec<_> = (1..=100).map(|number| book.follow(cluster(number))).collect();
        let mut seen = BTreeSet::new();
        let mut shelf = Shelf((0..5_000).map(|uid| row(false, uid, "queued")).collect());
        for _ in 0..40 {
            let pages = book.pages();
            assert!(pages.iter().map(|page| page.limit as usize).sum::<usize>() <= TURN);
            for page in pages {
                seen.insert(page.cluster);
                let rows = shelf.read(&page);
                book.turn_page(&page, rows);
            }
        }
        assert_eq!(seen.len(), 100);
        drop(followed);
        assert_eq!(book.pages(), [], "nobody follows any more");
    }
}
