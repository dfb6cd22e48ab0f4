//! The token's inside: who says what about whom, for whom, and when.
//!
//! Invariant: a token passes for one cluster of one control plane only, because its one audience names both.

use serde::Deserialize;

use super::{Refusal, token};
use crate::{
    id::{ClusterId, ControlPlaneId},
    time::Timestamp,
};

/// How far clocks may differ, in seconds.
pub const LEEWAY: i64 = 30;
/// Greatest lifetime of a token, in seconds.
const LIFETIME: i64 = 3_600;

/// The audience of agent tokens of one cluster.
pub fn audience(control_plane: ControlPlaneId, cluster: ClusterId) -> String {
    format!("squadron:{control_plane}:{cluster}")
}

/// What is enrolled for the cluster. What is not known yet (while it enrols) is not compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enrolled<'a> {
    pub issuer: &'a str,
    pub audience: &'a str,
    /// `system:serviceaccount:<namespace>:<name>`.
    pub subject: Option<&'a str>,
    pub service_account_uid: Option<&'a str>,
}

/// What a token that passed proves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proven {
    pub subject: String,
    pub service_account_uid: String,
    pub pod_uid: String,
    pub pod_name: String,
    /// The credential id that the cluster's own audit log shows too.
    pub token_id: String,
    pub expires_at: Timestamp,
    /// Our clock minus the time of issue, in seconds.
    pub age: i64,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Option<Audience>,
    exp: i64,
    iat: i64,
    nbf: i64,
    #[serde(default)]
    jti: String,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Kubernetes,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct Kubernetes {
    namespace: String,
    serviceaccount: Bound,
    pod: Option<Bound>,
}

#[derive(Deserialize)]
struct Bound {
    name: String,
    uid: String,
}

/// Checks the decoded claims of a token whose signature was verified.
pub fn check(json: &[u8], enrolled: Enrolled<'_>, now: Timestamp) -> Result<Proven, Refusal> {
    if token::is_deep(json) {
        return Err(Refusal::Claims("they are nested too deeply".into()));
    }
    let claims: Claims = serde_json::from_slice(json).map_err(|error| Refusal::Claims(error.to_string()))?;
    if claims.iss != enrolled.issuer {
        return Err(Refusal::Issuer);
    }
    check_audience(claims.aud.as_ref(), enrolled.audience)?;
    let seconds = now.millis().div_euclid(1_000);
    check_times(&claims, seconds)?;
    check_subject(&claims, enrolled)?;
    let pod = claims.kubernetes.pod.filter(|pod| !pod.uid.is_empty()).ok_or(Refusal::NoPod)?;
    Ok(Proven {
        subject: claims.sub,
        service_account_uid: claims.kubernetes.serviceaccount.uid,
        pod_uid: pod.uid,
        pod_name: pod.name,
        token_id: claims.jti,
        expires_at: Timestamp::from_millis(claims.exp.saturating_mul(1_000)),
        age: seconds - claims.iat,
    })
}

fn check_audience(audience: Option<&Audience>, ours: &str) -> Result<(), Refusal> {
    let one = match audience {
        Some(Audience::One(one)) => one,
        Some(Audience::Many(many)) if many.len() == 1 => &many[0],
        _ => return Err(Refusal::AudienceCount),
    };
    if one == ours { Ok(()) } else { Err(Refusal::Audience) }
}

fn check_times(claims: &Claims, now: i64) -> Result<(), Refusal> {
    let latest = now.saturating_add(LEEWAY);
    if claims.nbf > latest {
        return Err(Refusal::NotYet);
    }
    if claims.iat > latest {
        return Err(Refusal::IssuedInFuture);
    }
    if now >= claims.exp.saturating_add(LEEWAY) {
        return Err(Refusal::Expired);
    }
    let lifetime = claims.exp.saturating_sub(claims.iat);
    if (1..=LIFETIME).contains(&lifetime) { Ok(()) } else { Err(Refusal::Lifetime) }
}

fn check_subject(claims: &Claims, enrolled: Enrolled<'_>) -> Result<(), Refusal> {
    let account = &claims.kubernetes.serviceaccount;
    let told = format!("system:serviceaccount:{}:{}", claims.kubernetes.namespace, account.name);
    if claims.sub != told || account.uid.is_empty() {
        return Err(Refusal::Contradiction);
    }
    if enrolled.subject.is_some_and(|subject| subject != claims.sub) {
        return Err(Refusal::Subject);
    }
    if enrolled.service_account_uid.is_some_and(|uid| uid != account.uid) {
        return Err(Refusal::ServiceAccountUid);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_790_000_000;
    const ENROLLED: Enrolled<'_> = Enrolled {
        issuer: "https://kubernetes.default.svc",
        audience: "squadron:c:k",
        subject: Some("system:serviceaccount:squadron:agent"),
        service_account_uid: Some("sa-1"),
    };

    fn claims() -> serde_json::Value {
        serde_json::json!({
            "iss": ENROLLED.issuer, "sub": "system:serviceaccount:squadron:agent", "aud": ["squadron:c:k"],
            "exp": NOW + 600, "iat": NOW, "nbf": NOW, "jti": "t-1",
            "kubernetes.io": {
                "namespace": "squadron",
                "serviceaccount": {"name": "agent", "uid": "sa-1"},
                "pod": {"name": "agent-0", "uid": "pod-1"},
                "node": {"name": "n", "uid": "n-1"}
            }
        })
    }

    fn refused(change: impl Fn(&mut serde_json::Value)) -> Option<Refusal> {
        let mut value = claims();
        change(&mut value);
        check(value.to_string().as_bytes(), ENROLLED, Timestamp::from_millis(NOW * 1_000)).err()
    }

    #[test]
    fn a_good_token_passes_to_the_second_of_its_end() {
        assert_eq!(refused(|_| ()), None);
        assert_eq!(refused(|c| c["aud"] = "squadron:c:k".into()), None);
        assert_eq!(refused(|c| c["exp"] = (NOW - 29).into()), Some(Refusal::Lifetime));
        let last = |c: &mut serde_json::Value| {
            c["iat"] = (NOW - 600).into();
            c["exp"] = (NOW - 29).into();
        };
        assert_eq!(refused(last), None);
    }

    #[test]
    fn times_have_half_a_minute() {
        assert_eq!(refused(|c| c["nbf"] = (NOW + 30).into()), None);
        assert_eq!(refused(|c| c["nbf"] = (NOW + 31).into()), Some(Refusal::NotYet));
        assert_eq!(refused(|c| c["iat"] = (NOW + 31).into()), Some(Refusal::IssuedInFuture));
        let expired = |c: &mut serde_json::Value| {
            c["iat"] = (NOW - 600).into();
            c["exp"] = (NOW - 31).into();
        };
        assert_eq!(refused(expired), Some(Refusal::Expired));
        assert_eq!(refused(|c| c["exp"] = (NOW + 3_601).into()), Some(Refusal::Lifetime));
        assert_eq!(refused(|c| c["exp"] = i64::MAX.into()), Some(Refusal::Lifetime));
    }

    #[test]
    fn what_the_token_says_about_itself_must_agree() {
        assert_eq!(
            refused(|c| c["kubernetes.io"]["namespace"] = "other".into()),
            Some(Refusal::Contradiction)
        );
        assert_eq!(refused(|c| c["kubernetes.io"]["pod"]["uid"] = "".into()), Some(Refusal::NoPod));
        assert!(matches!(refused(|c| c["exp"] = "soon".into()), Some(Refusal::Claims(_))));
        assert!(matches!(refused(|c| c["exp"] = 1.5e9.into()), Some(Refusal::Claims(_))));
    }
}
