//! Desired states as changes: the whole set once, then what changed, and the whole again for who missed something.

use squadron_control_plane::wake::Topic;
use squadron_core::id::ClusterId;
use squadron_proto::link::{Accept, AttemptRef, DesiredState, Resend, control_down, control_up};
use squadron_store::testing::link::{assigned, marked};

use crate::{agent::Control, plane::Plane};

async fn desired(control: &mut Control) -> DesiredState {
    loop {
        if let control_down::Message::Desired(state) = control.next().await.unwrap() {
            return state;
        }
    }
}

#[tokio::test]
async fn changes_join_and_manifests_travel_once() {
    let plane = Plane::start_with(&["--lease=20"]).await;
    let agent = plane.east().await;
    let (store, wake) = (&plane.running.app.store, &plane.running.app.wake);
    let cluster: ClusterId = agent.cluster.parse().unwrap();
    let mut control = agent.control_of_changes(&plane, 1).await.unwrap();
    let whole = desired(&mut control).await;
    assert_eq!((whole.base, whole.seq, whole.more), (None, 1, false));
    control.beat(1, 0).await;
    let promised = control.lease().await.unwrap();
    assert_eq!(whole.timeline, promised.timeline, "an agent tells by it whose word is old");
    let attempt = marked(store, cluster, "train").await;
    wake.notify(Topic::Desired);
    let offered = desired(&mut control).await;
    assert_eq!((offered.base, offered.seq, offered.answers), (Some(whole.generation), 2, 1));
    assert!(!offered.attempts[0].manifest.is_empty());
    let named = AttemptRef { job_id: attempt.job.to_string(), number: 1 };
    control.say(control_up::Message::Accept(Accept { attempts: vec![named] })).await;
    let go = desired(&mut control).await;
    assert_eq!((go.base, go.attempts[0].accepted_by), (Some(offered.generation), Some(1)));
    assert!(go.attempts[0].manifest.is_empty(), "it came before");
    control.say(control_up::Message::Resend(Resend {})).await;
    let again = desired(&mut control).await;
    assert_eq!((again.base, again.attempts.len(), again.generation), (None, 1, go.generation));
    assert!(!again.attempts[0].manifest.is_empty());
    plane.stop().await;
}

#[tokio::test]
async fn a_writer_that_notes_nothing_and_a_database_that_goes_back_send_the_whole_set() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let (store, wake) = (&plane.running.app.store, &plane.running.app.wake);
    let mut control = agent.control_of_changes(&plane, 1).await.unwrap();
    desired(&mut control).await;
    assigned(store, agent.cluster.parse().unwrap(), "train").await;
    wake.notify(Topic::Desired);
    let whole = desired(&mut control).await;
    assert_eq!((whole.base, whole.attempts.len()), (None, 1));
    squadron_store::testing::fixture::execute(store, "update cluster set desired_generation = $1", 0).await;
    wake.notify(Topic::Desired);
    let above = desired(&mut control).await;
    assert_eq!((above.base, above.attempts.len()), (None, 1));
    assert!(above.generation > whole.generation, "an agent takes nothing lower");
    plane.stop().await;
}
