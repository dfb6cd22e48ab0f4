//! Enrolment, from both sides.

use reqwest::StatusCode;
use serde_json::{Value, json};
use squadron_proto::link::{EnrollRequest, enroll_reply::State, refused::Code as Refusal};
use tonic::Code;

use crate::{
    issuer::{Key, east_key, jwks, west_key},
    plane::Plane,
};

#[tokio::test]
async fn a_cluster_is_let_in_by_both_sides() {
    let plane = Plane::start().await;
    let agent = plane.invited("east", east_key()).await;
    let (status, problem) = plane.accept("east").await;
    assert_eq!((status, problem["code"].as_str()), (StatusCode::CONFLICT, Some("SQD-1402")));
    let reply = agent.enroll(&plane).await.unwrap();
    assert_eq!(reply.state(), State::Pending);
    assert!(reply.message.contains("squadron cluster accept east"), "{}", reply.message);
    let shown = plane.cluster("east").await;
    assert_eq!(shown["state"], "pending");
    assert_eq!(shown["identity"]["subject"], "system:serviceaccount:squadron:squadron-agent");
    assert_eq!(shown["identity"]["key_ids"], json!(["key-1"]));
    let refused = agent.control(&plane, 1).await.err().unwrap().refused();
    assert_eq!(refused.code(), Refusal::NotAccepted);
    plane.accept("east").await;
    assert_eq!(plane.cluster("east").await["state"], "active");
    assert_eq!(agent.enroll(&plane).await.unwrap().state(), State::Accepted);
    assert!(agent.control(&plane, 1).await.is_ok());
    plane.stop().await;
}

#[tokio::test]
async fn a28_a_wrong_code_is_refused_and_guessing_is_slowed() {
    let plane = Plane::start().await;
    let agent = plane.invited("east", east_key()).await;
    let mut codes = Vec::new();
    for guess in 0..65 {
        let enrolment = EnrollRequest { code: format!("guess-{guess}"), ..agent.enrolment() };
        codes.push(agent.enroll_with(&plane, &agent.token(), enrolment).await.unwrap_err().code());
    }
    assert!(
        codes.starts_with(&[Code::PermissionDenied; 60]) && codes.ends_with(&[Code::ResourceExhausted]),
        "{codes:?}"
    );
    assert_eq!(plane.cluster("east").await["state"], "invited");
    plane.stop().await;
}

#[tokio::test]
async fn a29_a_key_set_that_did_not_sign_the_token_is_refused() {
    let plane = Plane::start().await;
    let agent = plane.invited("east", east_key()).await;
    let enrolment = EnrollRequest { jwks: jwks(&[west_key()]), ..agent.enrolment() };
    let refused = agent.enroll_with(&plane, &agent.token(), enrolment).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(plane.cluster("east").await["state"], "invited");
    plane.stop().await;
}

#[tokio::test]
async fn another_cluster_with_the_same_values_changes_nothing_and_is_told() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let copy = crate::agent::Agent {
        key: west_key(),
        jwks: jwks(&[west_key()]),
        cluster_uid: "kube-system-of-elsewhere".into(),
        ..agent.clone()
    };
    let refused = copy.enroll(&plane).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("squadron cluster add"), "{}", refused.message());
    let shown = plane.cluster("east").await;
    assert_eq!(shown["identity"]["kube_system_uid"], "kube-system-of-east");
    assert!(shown["alarm"].as_str().unwrap().contains("another cluster"), "{shown}");
    assert!(agent.control(&plane, 1).await.is_ok(), "the enrolled agent goes on");
    plane.accept("east").await;
    assert_ne!(plane.cluster("east").await["alarm"], "", "accepting clears no alarm");
    plane.post("/api/v1/clusters/east/clear-alarm", &Value::Null).await;
    assert_eq!(plane.cluster("east").await["alarm"], "");
    plane.stop().await;
}

/// A pod of the cluster with a token of its own asks to be the agent, then raises another alarm, hoping that the
/// administrator clears that with the command that would let it in.
#[tokio::test]
async fn an_identity_offered_anew_comes_in_only_by_the_word_of_who_saw_it() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let enrolled = plane.cluster("east").await["identity"].clone();
    let pod = agent.with_account("default", "train", "sa-of-a-pod");
    assert_eq!(pod.enroll(&plane).await.unwrap().state(), State::Pending);
    let shown = plane.cluster("east").await;
    assert_eq!(shown["identity"], enrolled, "who is in force stays who is shown");
    assert_eq!(shown["reoffer"]["subject"], "system:serviceaccount:default:train");
    let alarm = shown["alarm"].clone();
    assert!(alarm.as_str().unwrap().contains("serviceaccount:default:train"), "{alarm}");
    let elsewhere = crate::agent::Agent { cluster_uid: "kube-system-of-elsewhere".into(), ..pod.clone() };
    elsewhere.enroll(&plane).await.unwrap_err();
    assert_eq!(plane.cluster("east").await["alarm"], alarm, "the offer's alarm is not hidden by another");
    let known = json!({ "identity": enrolled["digest"] });
    let (status, problem) = plane.post("/api/v1/clusters/east/accept", &known).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    plane.post("/api/v1/clusters/east/clear-alarm", &Value::Null).await;
    let shown = plane.cluster("east").await;
    assert_eq!(
        (&shown["identity"], &shown["reoffer"], &shown["alarm"]),
        (&enrolled, &Value::Null, &json!(""))
    );
    assert!(pod.control(&plane, 2).await.is_err(), "it was turned away");
    assert!(agent.control(&plane, 1).await.is_ok());
    pod.enroll(&plane).await.unwrap();
    assert_eq!(plane.accept("east").await.0, StatusCode::OK, "whoever saw it may accept it");
    assert!(pod.control(&plane, 2).await.is_ok());
    plane.stop().await;
}

/// The public key of a cluster is no secret: repeating it beside a key of one's own proves nothing.
#[tokio::test]
async fn a_key_set_that_borrows_the_clusters_public_key_is_another_cluster() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let thief: &'static Key = Box::leak(Box::new(Key::p256("thief")));
    let borrowed = crate::agent::Agent { key: thief, jwks: jwks(&[east_key(), thief]), ..agent.clone() };
    assert_eq!(borrowed.enroll(&plane).await.unwrap_err().code(), Code::FailedPrecondition);
    assert!(crate::agent::Control::open(&agent, &plane, &borrowed.token()).await.is_err());
    plane.stop().await;
}

#[tokio::test]
async fn keys_that_the_agent_shows_at_its_hello_are_added_and_audited() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let next: &'static Key = Box::leak(Box::new(Key::p256("key-2")));
    let rotating = crate::agent::Agent { jwks: jwks(&[east_key(), next]), ..agent.clone() };
    rotating.control(&plane, 1).await.unwrap();
    let rotated = crate::agent::Agent { key: next, jwks: jwks(&[next]), ..agent.clone() };
    rotated.control(&plane, 1).await.unwrap();
    assert_eq!(
        plane.cluster("east").await["identity"]["key_ids"],
        json!(["key-1", "key-2"]),
        "the old key lives on for an hour"
    );
    let audit = plane.get("/api/v1/audit").await;
    let added = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["action"] == "cluster.keys" && row["detail"].as_str().unwrap().contains("key-2"));
    assert!(added.is_some(), "{audit}");
    plane.stop().await;
}
