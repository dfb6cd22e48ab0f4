//! Classes that are many, lost or idle, on a real database.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use squadron_core::{dispatch::Waiting, time::Timestamp};

use super::{
    class::{self, ClassId},
    class_tests::{class_of, flood, full, give_all, look, say, urgent},
    heads,
};
use crate::{
    Store,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

#[tokio::test]
async fn of_too_many_classes_the_first_are_looked_at_and_the_others_in_turn() {
    let store = testing::store().await;
    flood(&store, "kinds", 2_600).await;
    give_all(&store).await;
    let (mut seen, mut round) = (BTreeSet::<ClassId>::new(), 0);
    loop {
        let snapshot = look(&store).await;
        let first = |job: &&Waiting| job.gang[0].requests.cpu_milli <= 500;
        assert_eq!(snapshot.input.waiting.iter().filter(first).count(), 500, "in each pass");
        assert!(snapshot.classes.len() <= 1_000);
        seen.extend(snapshot.classes.values());
        round += 1;
        let mut db = store.pool().acquire().await.unwrap();
        heads::turned(&mut db, &snapshot.turns).await.unwrap();
        assert_eq!(snapshot.turns[0].0, "kinds");
        if snapshot.turns[0].1.is_none() {
            break;
        }
    }
    assert_eq!((seen.len(), round), (2_600, 6));
    fixture::execute(&store, "update job set state = 'cancelled' where $1 > 0 and name <> 'k7'", 1).await;
    let snapshot = look(&store).await;
    assert_eq!((snapshot.input.waiting.len(), snapshot.turns), (1, vec![]), "few are looked at at once");
}

/// The next pass finds this class lost, makes it anew, and the one after it looks at its job.
async fn is_made_anew(store: &Store, lost: ClassId) {
    let mut db = store.pool().acquire().await.unwrap();
    let found = look(store).await;
    assert_eq!((found.lost.as_slice(), found.input.waiting.len()), (&[("research".to_owned(), lost)][..], 0));
    assert_eq!(class::restore(&mut db, &found.lost).await.unwrap(), 1);
    let found = look(store).await;
    assert_eq!((found.lost.len(), found.input.waiting.len()), (0, 1));
}

#[tokio::test]
async fn a_class_that_is_lost_or_cannot_be_read_is_made_anew() {
    let store = testing::store().await;
    let job = fixture::queued(&store, "a").await.id;
    let class = class_of(&store, job).await;
    fixture::execute(&store, "delete from job_class where $1 > 0", 1).await;
    is_made_anew(&store, class).await;
    fixture::execute(&store, "update job_class set shape = to_jsonb($1)", 7).await;
    is_made_anew(&store, class).await;
    fixture::execute(&store, "update job set class_id = md5($1::text)::uuid", 7).await;
    let other = class_of(&store, job).await;
    is_made_anew(&store, other).await;
    assert_eq!(class_of(&store, job).await, class, "what another version named in another way");
}

#[tokio::test]
async fn classes_of_which_no_job_waits_or_runs_go_after_a_while() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut classes = Vec::new();
    for (name, value) in [("ended", 1), ("runs", 2), ("waits", 3)] {
        let job = urgent(&store, name, value, 0).await;
        classes.push((class_of(&store, job).await, full(job, "full")));
    }
    let told: Vec<_> = classes.iter().map(|(class, told)| (*class, told)).collect();
    say(&store, &told, 0).await;
    fixture::attempt(&store, classes[1].1.job, east, NOW.plus_millis(500)).await;
    fixture::execute(&store, "update job set state = 'running' where name = 'runs' and $1 > 0", 1).await;
    fixture::execute(&store, "update job set state = 'cancelled' where name = 'ended' and $1 > 0", 1).await;
    say(&store, &told[2..], 1_000).await;
    let mut db = store.pool().acquire().await.unwrap();
    let far = Timestamp(i64::MAX / 2);
    let retire = async |db: &mut crate::PgConnection, before| class::retire(db, before, far).await.unwrap();
    assert_eq!(retire(&mut db, NOW.plus_millis(1_000)).await, (0, 0), "not long enough");
    let (looked, gone) = retire(&mut db, far).await;
    assert!(gone > 0 && looked == gone + 1, "{gone} of {looked}: the one of the job that runs stays");
    assert_eq!(store.decisions(classes[0].1.job, None, 9).await.unwrap(), [], "its history went with it");
    assert_eq!(store.decisions(classes[1].1.job, None, 9).await.unwrap().len(), 1);
    assert_eq!(retire(&mut db, far).await, (0, 0), "the one of the job that runs comes later again");
    assert_eq!(look(&store).await.input.waiting.len(), 1);
}

#[tokio::test]
async fn a_job_that_comes_while_its_class_is_removed_is_looked_at() {
    let store = testing::store().await;
    let job = fixture::queued(&store, "ended").await.id;
    let class = class_of(&store, job).await;
    fixture::execute(&store, "update job set state = 'cancelled' where $1 > 0", 1).await;
    let mut comes = store.pool().begin().await.unwrap();
    super::insert(&mut comes, &fixture::new_job("comes")).await.unwrap();
    let mut db = store.pool().acquire().await.unwrap();
    let far = Timestamp(i64::MAX / 2);
    assert_eq!(class::retire(&mut db, far, far).await.unwrap(), (1, 1), "it waits for nobody");
    comes.commit().await.unwrap();
    is_made_anew(&store, class).await;
}
