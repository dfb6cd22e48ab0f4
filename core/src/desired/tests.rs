//! Both ends over a stream that loses and repeats, from a database that goes on, is written to by others, and is restored.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::id::{AttemptId, JobId};

#[test]
fn the_set_never_outgrows_its_limit() {
    let most = 256 << 10;
    let mut attempts = 0;
    while fits(attempts * most, attempts, most, LIMIT) {
        attempts += 1;
    }
    assert_eq!(attempts, 63, "of the longest manifests");
    assert!(attempts * (most + BESIDE_MANIFEST) <= LIMIT);
    assert!(!fits(u64::MAX, 1, 1, LIMIT) && !fits(0, u64::MAX, 1, LIMIT));
}

#[test]
fn a_manifest_is_counted_with_at_least_what_it_has() {
    for (bytes, expected) in [(0, 4 << 10), (4 << 10, 4 << 10), ((4 << 10) + 1, 8 << 10), (262_144, 262_144)]
    {
        assert_eq!(rounded(bytes), expected);
    }
    assert_eq!(rounded(u64::MAX), u64::MAX);
    let nearly = Size { attempts: 1, bytes: LIMIT - 20_000 };
    assert!(nearly.takes(8_192) && !nearly.with(8_192).takes(8_192));
    let (mut size, most) = (nearly, nearly.room_for(4_096));
    let taken = std::iter::from_fn(|| size.takes(4_096).then(|| size = size.with(4_096))).count() as u64;
    assert!(taken > 0 && taken <= most, "{taken} of {most}");
}

#[test]
fn only_a_generation_that_was_sent_since_the_stream_began_anew_counts_as_applied() {
    let mut sender = Sender::new(0);
    let at = |generation, timeline| Moment { generation, unmarked: 0, timeline };
    assert_eq!(sender.applied(57), 0, "nothing was sent yet");
    for generation in [58, 60] {
        sender.take(at(generation, 1), None, false).unwrap();
    }
    assert_eq!([57, 58, 60, 61].map(|said| sender.applied(said)), [0, 58, 60, 0]);
    sender.send_whole();
    sender.take(at(61, 1), None, false).unwrap();
    assert_eq!(sender.applied(58), 58, "to an agent that takes whole sets only");
    assert!(sender.take(at(62, 2), None, false).is_none(), "a failover");
    sender.take(at(63, 2), None, false).unwrap();
    assert_eq!([58, 61, 62, 63].map(|said| sender.applied(said)), [0, 0, 0, 63]);
}

/// An attempt as it travels; the manifest is absent where the agent should have it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Wanted {
    accepted: u64,
    manifest: Option<u64>,
}

impl Body for Wanted {
    fn complete(self, held: Option<&Self>) -> Option<Self> {
        let manifest = Some(self.manifest.or(held.and_then(|held| held.manifest))?);
        Some(Wanted { manifest, ..self })
    }
}

#[derive(Clone, Debug)]
struct Row {
    changed: u64,
    first: u64,
    desired: bool,
    accepted: u64,
}

#[derive(Clone, Debug, Default)]
struct Database {
    generation: u64,
    unmarked: u64,
    timeline: u64,
    rows: BTreeMap<AttemptId, Row>,
}

/// Of one moment: rows, the last one's place, and whether there are more.
type Read = (Moment, Vec<(AttemptId, Option<Wanted>)>, Option<Place>, bool);
type Set = BTreeMap<AttemptId, Arc<Wanted>>;

impl Database {
    /// Gives, takes back or accepts the attempt, whichever its state allows; `marks` says so in its row.
    fn change(&mut self, id: AttemptId, marks: bool) {
        self.generation += 1;
        self.unmarked += u64::from(!marks);
        let at = if marks { self.generation } else { 0 };
        match self.rows.get_mut(&id) {
            None => {
                _ = self.rows.insert(id, Row { changed: at, first: at, desired: true, accepted: 0 });
            }
            Some(row) => {
                row.changed = row.changed.max(at);
                (row.accepted, row.desired) = (row.accepted + 1, row.desired && row.accepted < 1);
            }
        }
    }

    fn set(&self) -> Set {
        let desired = self.rows.iter().filter(|(_, row)| row.desired);
        desired.map(|(id, row)| (*id, Arc::new(wanted(id, row, None)))).collect()
    }

    /// What the store reads of an ask, `most` rows of it.
    fn read(&self, ask: &Ask, most: usize) -> Read {
        let place = |(id, row): &(&AttemptId, &Row)| (row.changed, **id);
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .filter(|(_, row)| row.desired || ask.removed_above.is_some_and(|above| row.changed > above))
            .filter(|row| ask.behind.is_none_or(|behind| place(row) > behind))
            .collect();
        rows.sort_by_key(place);
        let more = rows.len() > most;
        rows.truncate(most);
        let moment = Moment { generation: self.generation, unmarked: self.unmarked, timeline: self.timeline };
        let last = rows.last().map(place);
        let read = rows.iter().map(|(id, row)| (**id, row.desired.then(|| wanted(id, row, ask.base))));
        (moment, read.collect(), last, more)
    }

    fn raise(&mut self, above: u64) {
        if self.generation < above {
            self.unmarked += above + 1 - self.generation;
            self.generation = above + 1;
        }
    }
}

fn wanted(id: &AttemptId, row: &Row, base: Option<u64>) -> Wanted {
    let manifest = base.is_none_or(|base| row.first > base).then(|| u64::from(id.number));
    Wanted { accepted: row.accepted, manifest }
}

#[derive(Clone, Debug)]
enum Op {
    Change { attempt: u32, marks: bool },
    Send,
    Deliver,
    Lose,
    Repeat(usize),
    Reconnect,
    Backup,
    Restore { same_timeline: bool },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..12_u32, 0..20).prop_map(|(attempt, one)| Op::Change { attempt, marks: one > 0 }),
        8 => Just(Op::Send),
        8 => Just(Op::Deliver),
        1 => Just(Op::Lose),
        1 => (0..8_usize).prop_map(Op::Repeat),
        1 => Just(Op::Reconnect),
        1 => Just(Op::Backup),
        1 => any::<bool>().prop_map(|same_timeline| Op::Restore { same_timeline }),
    ]
}

/// A message, and the set that was in the database when its last part was read.
type Message = (Part<Wanted>, Set);

#[derive(Default)]
struct World {
    database: Database,
    backup: Option<Database>,
    sender: Sender,
    receiver: Receiver<Wanted>,
    held: Option<Held<Wanted>>,
    wire: Vec<Message>,
    sent: Vec<Message>,
    bodies: BTreeMap<AttemptId, usize>,
    /// A message was lost on this connection.
    broken: bool,
}

impl World {
    fn act(&mut self, op: &Op) {
        match op {
            Op::Change { attempt, marks } => {
                let job = JobId(Uuid::from_u128(u128::from(*attempt)));
                self.database.change(AttemptId { job, number: attempt + 1 }, *marks);
            }
            Op::Send => _ = self.send(),
            Op::Deliver => _ = self.deliver(),
            Op::Lose if !self.wire.is_empty() => {
                self.wire.remove(0);
                self.broken = true;
            }
            Op::Repeat(at) => self.wire.extend(self.sent.get(*at).cloned()),
            Op::Reconnect => self.reconnect(),
            Op::Backup => self.backup = Some(self.database.clone()),
            Op::Restore { same_timeline } => self.restore(*same_timeline),
            Op::Lose => {}
        }
    }

    /// One message, if there is something to send.
    fn send(&mut self) -> bool {
        if !self.sender.wants(Some(self.database.generation)) {
            return false;
        }
        if let Some(above) = self.sender.must_outgrow() {
            self.database.raise(above);
        }
        let ask = self.sender.ask();
        let (moment, rows, last, more) = self.database.read(&ask, 3);
        let head = self.sender.take(moment, last, more);
        // The standings are read soon after.
        self.sender.wants(Some(self.database.generation));
        let Some(head) = head else { return true };
        let mut part = Part { head, set: Vec::new(), removed: Vec::new() };
        for (id, body) in rows {
            match body {
                Some(body) => {
                    *self.bodies.entry(id).or_default() += usize::from(body.manifest.is_some());
                    part.set.push((id, body));
                }
                None => part.removed.push(id),
            }
        }
        let message = (part, self.database.set());
        self.sent.push(message.clone());
        self.wire.push(message);
        true
    }

    fn deliver(&mut self) -> bool {
        if self.wire.is_empty() {
            return false;
        }
        let (part, expected) = self.wire.remove(0);
        match self.receiver.hear(part, self.held.as_ref()) {
            Heard::Holds(held) => {
                assert_eq!(held.attempts, expected, "what is held is what was read, at {}", held.generation);
                self.held = Some(held);
            }
            Heard::Lost(_) => self.sender.begin_again(),
            Heard::Waits | Heard::Older => {}
        }
        true
    }

    fn reconnect(&mut self) {
        self.wire.clear();
        self.sent.clear();
        self.sender = Sender::new(self.held.as_ref().map_or(0, |held| held.generation));
        self.receiver = Receiver::default();
        self.broken = false;
    }

    /// A restore is seen by the generation that falls or by the timeline; one that shows by neither is not told apart.
    fn restore(&mut self, same_timeline: bool) {
        let Some(backup) = &self.backup else { return };
        let timeline = self.database.timeline + u64::from(!same_timeline);
        if same_timeline && backup.generation == self.database.generation {
            return;
        }
        self.database = Database { timeline, ..backup.clone() };
        // The standings are read before the next change comes.
        self.sender.wants(Some(self.database.generation));
    }

    fn settle(&mut self) {
        for _ in 0..200 {
            if self.receiver.is_lost() && self.wire.is_empty() {
                self.sender.begin_again();
            }
            let (sent, delivered) = (self.send(), self.deliver());
            if sent || delivered || self.receiver.is_lost() {
                continue;
            }
            // A connection only loses the last message when it ends. What is held may have the number of what was lost, if that
            // was of another database.
            if !self.broken && self.held.as_ref().map(|held| held.generation) == self.sender.sent() {
                return;
            }
            self.reconnect();
        }
        panic!("it never settles");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_held_is_what_the_whole_set_would_have_given(ops in prop::collection::vec(op(), 0..80)) {
        let mut world = World::default();
        for op in &ops {
            world.act(op);
        }
        world.settle();
        let held = world.held.unwrap();
        prop_assert_eq!(held.generation, world.database.generation);
        prop_assert_eq!(held.attempts, world.database.set());
    }

    #[test]
    fn on_a_stream_that_holds_a_manifest_travels_once(attempts in prop::collection::vec(0..12_u32, 0..60)) {
        let mut world = World::default();
        world.settle();
        for attempt in attempts {
            world.act(&Op::Change { attempt, marks: true });
            world.act(&Op::Send);
            world.act(&Op::Deliver);
        }
        world.settle();
        prop_assert!(world.bodies.values().all(|times| *times == 1), "{:?}", world.bodies);
    }
}

#[test]
fn a_lost_message_is_noticed_and_the_whole_set_comes_again() {
    let mut world = World::default();
    world.settle();
    for attempt in 0..3 {
        world.act(&Op::Change { attempt, marks: true });
        world.send();
    }
    world.act(&Op::Lose);
    world.deliver();
    assert!(world.receiver.is_lost());
    assert_eq!(world.held.as_ref().unwrap().attempts.len(), 0, "what does not join changes nothing");
    world.settle();
    assert_eq!(world.held.unwrap().attempts.len(), 3);
    assert!(world.sent.last().unwrap().0.head.base.is_none());
}
