//! A1 to A22: tokens that must be refused. Each is signed with a real key; each is refused with the same text, and the
//! reason is in the audit log.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use tonic::Code;

use crate::{
    agent::{Agent, Control},
    issuer::{Key, east_key, jwks, unix_now, west_key},
    plane::Plane,
};

struct Case {
    name: &'static str,
    token: String,
    /// Part of the reason in the audit log.
    reason: &'static str,
}

/// The agent's own token with changed claims, properly signed.
fn claims(agent: &Agent, name: &'static str, reason: &'static str, change: impl Fn(&mut Value)) -> Case {
    let mut claims = agent.claims();
    change(&mut claims);
    Case { name, token: agent.key.sign(&agent.key.header(), &claims), reason }
}

/// The agent's own token with a changed header, properly signed.
fn header(agent: &Agent, name: &'static str, reason: &'static str, change: impl Fn(&mut Value)) -> Case {
    let mut header = agent.key.header();
    change(&mut header);
    Case { name, token: agent.key.sign(&header, &agent.claims()), reason }
}

fn text(agent: &Agent, name: &'static str, reason: &'static str, claims: &str) -> Case {
    Case { name, token: agent.key.sign_text(&agent.key.header().to_string(), claims), reason }
}

const ALGORITHM: &str = "the algorithm is not one of";
const UNKNOWN_KEY: &str = "no key with the token's key id";
const SIGNATURE: &str = "the signature does not match";
const SHAPE: &str = "not three base64url parts";
const UNREADABLE: &str = "the claims cannot be read";

fn headers(east: &Agent, west: &Agent) -> Vec<Case> {
    let mut cases: Vec<Case> = ["none", "None", "NONE", "nOnE"]
        .into_iter()
        .map(|word| header(east, "a1_alg_none", ALGORITHM, |h| h["alg"] = word.into()))
        .collect();
    let unsigned = east.token();
    let unsigned = unsigned.rsplit_once('.').unwrap().0;
    cases.push(Case { name: "a1_no_signature", token: format!("{unsigned}."), reason: SHAPE });
    cases.push(Case { name: "a2_hs256_with_the_public_key", token: hs256(east), reason: ALGORITHM });
    cases.push(Case { name: "a3_rs512", token: signed_as(east, Algorithm::RS512), reason: ALGORITHM });
    cases.push(Case {
        name: "a3_ps256",
        token: signed_as(east, Algorithm::PS256),
        reason: "the key with this id is for another algorithm",
    });
    cases.push(header(east, "a4_unknown_kid", UNKNOWN_KEY, |h| h["kid"] = "key-2".into()));
    cases.push(header(east, "a4_kid_is_a_path", UNKNOWN_KEY, |h| h["kid"] = "../../key-1".into()));
    let other = Key::p256("west-only");
    cases.push(Case {
        name: "a5_kid_of_another_cluster",
        token: other.sign(&other.header(), &east.claims()),
        reason: UNKNOWN_KEY,
    });
    for (member, reason) in
        [("jwk", "carries jwk"), ("jku", "carries jku"), ("x5u", "carries x5u"), ("x5c", "carries x5c")]
    {
        let own = east_key().jwk();
        cases.push(header(east, "a6_embedded_key", reason, move |h| h[member] = own.clone()));
    }
    cases.push(header(east, "a7_unknown_crit", "carries crit", |h| h["crit"] = json!(["exp"])));
    cases.push(Case {
        name: "a12_equal_issuer_and_subject_tokens_swapped",
        token: west.token(),
        reason: SIGNATURE,
    });
    cases.push(Case {
        name: "a12_claims_of_the_right_cluster_signed_by_the_other",
        token: west.key.sign(&west.key.header(), &east.claims()),
        reason: SIGNATURE,
    });
    cases
}

/// HMAC over the public key, as a confused verifier would check it.
fn hs256(agent: &Agent) -> String {
    let secret = jsonwebtoken::EncodingKey::from_secret(agent.key.jwk().to_string().as_bytes()).unwrap();
    let header = json!({ "alg": "HS256", "kid": agent.key.kid });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(&agent.claims()));
    let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &secret, Algorithm::HS256).unwrap();
    format!("{signed}.{signature}")
}

fn signed_as(agent: &Agent, algorithm: Algorithm) -> String {
    let header = json!({ "alg": format!("{algorithm:?}"), "kid": agent.key.kid });
    agent.key.sign_bytes(algorithm, header.to_string().as_bytes(), agent.claims().to_string().as_bytes())
}

fn audiences_and_issuers(east: &Agent, west: &Agent) -> Vec<Case> {
    let audience = "the audience is not this control plane and cluster";
    let count = "names no single audience";
    let issuer = "the issuer is not the enrolled one";
    let ours = east.audience.clone();
    let mut cases = vec![
        claims(east, "a8_audience_of_another_cluster", audience, |c| c["aud"] = json!([west.audience])),
        claims(east, "a8_audience_of_the_api_server", audience, |c| {
            c["aud"] = json!(["https://kubernetes.default.svc"]);
        }),
        claims(east, "a8_audience_with_other_case", audience, |c| c["aud"] = json!([ours.to_uppercase()])),
        claims(east, "a9_two_audiences", count, |c| c["aud"] = json!([east.audience, "another"])),
        claims(east, "a9_no_audience_in_the_list", count, |c| c["aud"] = json!([])),
        claims(east, "a10_audience_missing", count, |c| drop(c.as_object_mut().unwrap().remove("aud"))),
        claims(east, "a10_audience_null", count, |c| c["aud"] = Value::Null),
        claims(east, "a10_audience_a_number", UNREADABLE, |c| c["aud"] = json!(7)),
        claims(east, "a11_issuer_in_a_list", UNREADABLE, |c| c["iss"] = json!([c["iss"]])),
    ];
    for bent in [
        "https://kubernetes.default.svc",
        "https://kubernetes.default.svc.cluster.local.evil.example",
        "https://KUBERNETES.default.svc.cluster.local",
        "https://kubernetes.default.svc.cluster.local/",
        "",
    ] {
        cases.push(claims(east, "a11_issuer_nearly_ours", issuer, |c| c["iss"] = bent.into()));
    }
    cases
}

fn times(east: &Agent) -> Vec<Case> {
    let now = unix_now();
    vec![
        claims(east, "a13_expired_31_s_ago", "the token expired", |c| {
            c["iat"] = (now - 600).into();
            c["exp"] = (now - 31).into();
        }),
        claims(east, "a14_not_before_in_the_future", "not valid yet", |c| c["nbf"] = (now + 90).into()),
        claims(east, "a14_issued_in_the_future", "issued in the future", |c| c["iat"] = (now + 90).into()),
        claims(east, "a15_lifetime_of_a_year", "lifetime is not between", |c| {
            c["exp"] = (now + 31_536_000).into();
        }),
        claims(east, "a15_lifetime_of_nothing", "lifetime is not between", |c| {
            c["iat"] = (now + 20).into();
            c["exp"] = (now + 20).into();
        }),
    ]
}

fn subjects(east: &Agent) -> Vec<Case> {
    let account = |c: &mut Value, namespace: &str, name: &str| {
        c["sub"] = format!("system:serviceaccount:{namespace}:{name}").into();
        c["kubernetes.io"]["namespace"] = namespace.into();
        c["kubernetes.io"]["serviceaccount"]["name"] = name.into();
    };
    let subject = "the subject is not the enrolled service account";
    vec![
        claims(east, "a16_legacy_secret_token", UNREADABLE, |c| {
            *c = json!({
                "iss": c["iss"], "sub": c["sub"],
                "kubernetes.io/serviceaccount/namespace": "squadron",
                "kubernetes.io/serviceaccount/service-account.name": "squadron-agent",
            });
        }),
        claims(east, "a17_other_account", subject, |c| account(c, "squadron", "default")),
        claims(east, "a18_other_namespace", subject, |c| account(c, "default", "squadron-agent")),
        claims(east, "a18_subject_contradicts_details", "contradicts", |c| {
            c["kubernetes.io"]["namespace"] = "default".into();
        }),
        claims(east, "a19_account_made_again", "was made again", |c| {
            c["kubernetes.io"]["serviceaccount"]["uid"] = "sa-2".into();
        }),
        claims(east, "a20_no_pod", "not bound to a pod", |c| {
            drop(c["kubernetes.io"].as_object_mut().unwrap().remove("pod"));
        }),
    ]
}

fn shapes(east: &Agent) -> Vec<Case> {
    let good = east.claims().to_string();
    let twice = |member: &str| good.replacen('{', &format!("{{\"{member}\":\"x\","), 1);
    let mut broken = good.clone().into_bytes();
    let at = good.find("squadron-agent").unwrap();
    broken[at] = 0xff;
    let mut cases = vec![
        text(east, "a21_subject_twice", UNREADABLE, &twice("sub")),
        text(east, "a21_audience_twice", UNREADABLE, &twice("aud")),
        text(
            east,
            "a21_deeply_nested",
            UNREADABLE,
            &good.replacen('{', &format!("{{\"x\":{}1{},", "[".repeat(300), "]".repeat(300)), 1),
        ),
        text(
            east,
            "a21_long_claims",
            "longer than 8192 bytes",
            &good.replacen('{', &format!("{{\"x\":\"{}\",", "x".repeat(9_000)), 1),
        ),
        text(east, "a21_no_object", UNREADABLE, "[]"),
        Case {
            name: "a21_invalid_utf8",
            token: east.key.sign_bytes(Algorithm::RS256, east.key.header().to_string().as_bytes(), &broken),
            reason: UNREADABLE,
        },
    ];
    let token = east.token();
    cases.push(Case { name: "a21_padding", token: format!("{token}=="), reason: SHAPE });
    cases.push(Case { name: "a21_inner_padding", token: token.replacen('.', "=.", 1), reason: SHAPE });
    cases.push(Case { name: "a21_four_parts", token: format!("{token}.x"), reason: SHAPE });
    cases.push(Case { name: "a21_tampered", token: tampered(&token), reason: SIGNATURE });
    cases.push(Case { name: "a21_scheme_in_the_token", token: format!("Bearer {token}"), reason: SHAPE });
    cases
}

/// A later expiry under the old signature.
fn tampered(token: &str) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let claims = claims.replacen("squadron-agent-0", "squadron-agent-1", 1);
    format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(claims), parts[2])
}

#[tokio::test]
async fn refused_tokens_hear_one_text_and_leave_their_reason() {
    let plane = Plane::start().await;
    let (east, west) = (plane.east().await, plane.accepted("west", west_key()).await);
    let mut cases = headers(&east, &west);
    cases.extend(audiences_and_issuers(&east, &west));
    cases.extend(times(&east));
    cases.extend(subjects(&east));
    cases.extend(shapes(&east));
    for case in &cases {
        let Err(status) = Control::open(&east, &plane, &case.token).await else {
            panic!("{} passed", case.name)
        };
        assert_eq!(
            (status.code(), status.message()),
            (Code::Unauthenticated, "the token was not accepted"),
            "{}",
            case.name
        );
    }
    let refusals = plane.refusals().await;
    for case in &cases {
        assert!(refusals.iter().any(|reason| reason.contains(case.reason)), "{}: {refusals:#?}", case.name);
    }
    assert!(east.control(&plane, 1).await.is_ok(), "the agent itself is not hurt by any of it");
    plane.stop().await;
}

#[tokio::test]
async fn calls_without_one_clear_credential_are_refused() {
    let plane = Plane::start().await;
    let east = plane.east().await;
    let token = east.token();
    let open = async |authorization: &[&str], cluster: &[&str]| {
        let (_up, receiver) = tokio::sync::mpsc::channel(1);
        let mut request = tonic::Request::new(tokio_stream::wrappers::ReceiverStream::new(receiver));
        for value in authorization {
            request.metadata_mut().append("authorization", value.parse().unwrap());
        }
        for value in cluster {
            request.metadata_mut().append("squadron-cluster", value.parse().unwrap());
        }
        let mut client = squadron_proto::link::link_client::LinkClient::new(plane.dial().await);
        client
            .control(request)
            .await
            .map(|_| ())
            .map_err(|status| (status.code(), status.message().to_owned()))
    };
    let bearer = format!("Bearer {token}");
    let (bearer, id) = (bearer.as_str(), east.cluster.as_str());
    let nobody = uuid::Uuid::now_v7().to_string();
    assert_eq!(open(&[bearer], &[id]).await, Ok(()));
    let refused = Err((Code::Unauthenticated, "the token was not accepted".to_owned()));
    for (authorization, cluster) in [
        (vec![], vec![id]),
        (vec![bearer, bearer], vec![id]),
        (vec![bearer], vec![]),
        (vec![bearer], vec![id, id]),
        (vec![bearer], vec!["east"]),
        (vec![bearer], vec![nobody.as_str()]),
        (vec![token.as_str()], vec![id]),
        (vec!["bearer x"], vec![id]),
    ] {
        assert_eq!(open(&authorization, &cluster).await, refused, "{authorization:?} {cluster:?}");
    }
    plane.stop().await;
}

#[tokio::test]
async fn every_allowed_kind_of_key_verifies() {
    for (name, key) in [("p256", Key::p256("k")), ("p384", Key::p384("k")), ("ed", Key::ed25519("k"))] {
        let plane = Plane::start().await;
        let key: &'static Key = Box::leak(Box::new(key));
        let agent = plane.accepted(name, key).await;
        assert!(agent.control(&plane, 1).await.is_ok(), "{name}");
        plane.stop().await;
    }
}

#[tokio::test]
async fn a22_weak_keys_cannot_be_enrolled() {
    let plane = Plane::start().await;
    let agent = plane.invited("east", east_key()).await;
    let mut weak: Value = serde_json::from_str(&jwks(&[east_key()])).unwrap();
    weak["keys"][0]["n"] = URL_SAFE_NO_PAD.encode([0xff; 128]).into();
    let mut small: Value = serde_json::from_str(&jwks(&[east_key()])).unwrap();
    small["keys"][0]["e"] = "Aw".into();
    let secret = json!({ "keys": [{ "kty": "oct", "kid": "key-1", "alg": "HS256", "k": "c2VjcmV0" }] });
    let p192 = json!({ "keys": [{ "kty": "EC", "crv": "P-192", "kid": "key-1", "x": "AAAA", "y": "AAAA" }] });
    for set in [weak, small, secret, p192] {
        let enrolment = squadron_proto::link::EnrollRequest { jwks: set.to_string(), ..agent.enrolment() };
        let refused = agent.enroll_with(&plane, &agent.token(), enrolment).await.unwrap_err();
        assert_eq!(
            (refused.code(), refused.message()),
            (Code::Unauthenticated, "the token was not accepted"),
            "{set}"
        );
    }
    assert_eq!(plane.cluster("east").await["state"], "invited");
    plane.stop().await;
}
