//! Leases over the link: a promise follows its commit, and an attempt starts in two steps.

use squadron_control_plane::wake::Topic;
use squadron_core::id::{ClusterId, Epoch};
use squadron_proto::link::{Accept, AttemptRef, DesiredState, control_down, control_up};
use squadron_store::{
    cluster::lease::Asked,
    testing::link::{accept, assigned},
};

use crate::{agent::Control, plane::Plane};

/// The next desired state that holds something.
async fn desired(control: &mut Control) -> DesiredState {
    loop {
        match control.next().await.unwrap() {
            control_down::Message::Desired(state) if !state.attempts.is_empty() => return state,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_lease_is_told_after_its_renewal_was_committed() {
    let plane = Plane::start_with(&["--lease=20"]).await;
    let agent = plane.east().await;
    let cluster: ClusterId = agent.cluster.parse().unwrap();
    let mut control = agent.control(&plane, 1).await.unwrap();
    control.beat(7, 0).await;
    let lease = control.lease().await.unwrap();
    assert_eq!((lease.number, lease.lease_ms), (7, 20_000));
    assert!(lease.timeline > 0);
    let committed = plane.running.app.store.renewals().await.unwrap()[&cluster];
    assert_eq!((committed.epoch, committed.number, committed.ttl), (Epoch(1), 7, 20_000));
    control.beat(6, 0).await;
    control.beat(8, 0).await;
    assert_eq!(control.lease().await.unwrap().number, 8, "an older number is no news");
    plane.stop().await;
}

#[tokio::test]
async fn a_former_life_renews_nothing() {
    let plane = Plane::start_with(&["--lease=20"]).await;
    let agent = plane.east().await;
    let cluster: ClusterId = agent.cluster.parse().unwrap();
    let mut control = agent.control(&plane, 2).await.unwrap();
    control.beat(1, 0).await;
    control.lease().await.unwrap();
    let store = &plane.running.app.store;
    let renewal = squadron_core::lease::Renewal { epoch: Epoch(1), number: 99, ttl: 20_000 };
    let late = Asked { renewal, noted: None };
    assert!(store.renew(&[(cluster, late)]).await.unwrap().is_empty());
    assert_eq!(store.renewals().await.unwrap()[&cluster].epoch, Epoch(2));
    plane.stop().await;
}

#[tokio::test]
async fn an_attempt_is_offered_then_accepted_then_may_start() {
    let plane = Plane::start_with(&["--lease=20"]).await;
    let agent = plane.east().await;
    let store = &plane.running.app.store;
    let mut control = agent.control(&plane, 1).await.unwrap();
    control.beat(1, 0).await;
    let promised = control.lease().await.unwrap();
    let attempt = assigned(store, agent.cluster.parse().unwrap(), "train").await;
    plane.running.app.wake.notify(Topic::Desired);
    let offered = desired(&mut control).await;
    assert_eq!((offered.attempts[0].accepted_by, offered.answers), (None, 1));
    assert_eq!(offered.timeline, promised.timeline);
    assert_eq!(offered.attempts[0].on_lost, "wait");
    let named = AttemptRef { job_id: attempt.job.to_string(), number: 1 };
    control.say(control_up::Message::Accept(Accept { attempts: vec![named] })).await;
    let go = desired(&mut control).await;
    assert!(go.generation > offered.generation);
    assert_eq!(go.attempts[0].accepted_by, Some(1));
    let again = accept(store, agent.cluster.parse().unwrap(), 1, &[attempt]).await;
    assert!(!again, "said twice is no news");
    plane.stop().await;
}
