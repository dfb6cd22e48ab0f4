//! A cluster's token issuer: real keys, and tokens that can be bent out of shape before they are signed.

use std::sync::OnceLock;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, jwk::Jwk};
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, RsaKeySize,
};
use serde_json::{Value, json};

pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
pub const SUBJECT: &str = "system:serviceaccount:squadron:squadron-agent";

/// One signing key with its id.
pub struct Key {
    pub kid: String,
    pub algorithm: Algorithm,
    private: EncodingKey,
    /// Of an Ed25519 key, which cannot be read back from its private half.
    x: Option<Vec<u8>>,
}

impl Key {
    pub fn rsa(kid: &str) -> Key {
        let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
        let private = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).unwrap();
        Key { kid: kid.into(), algorithm: Algorithm::RS256, private, x: None }
    }

    pub fn p256(kid: &str) -> Key {
        Key::ec(kid, Algorithm::ES256, &PKCS_ECDSA_P256_SHA256)
    }

    pub fn p384(kid: &str) -> Key {
        Key::ec(kid, Algorithm::ES384, &PKCS_ECDSA_P384_SHA384)
    }

    fn ec(kid: &str, algorithm: Algorithm, kind: &'static rcgen::SignatureAlgorithm) -> Key {
        let pair = KeyPair::generate_for(kind).unwrap();
        Key {
            kid: kid.into(),
            algorithm,
            private: EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap(),
            x: None,
        }
    }

    pub fn ed25519(kid: &str) -> Key {
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let private = EncodingKey::from_ed_der(pair.serialized_der());
        Key { kid: kid.into(), algorithm: Algorithm::EdDSA, private, x: Some(pair.public_key_raw().to_vec()) }
    }

    /// As the cluster's JWKS shows it.
    pub fn jwk(&self) -> Value {
        if let Some(x) = &self.x {
            return json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": URL_SAFE_NO_PAD.encode(x) });
        }
        let mut jwk =
            serde_json::to_value(Jwk::from_encoding_key(&self.private, self.algorithm).unwrap()).unwrap();
        jwk["kid"] = self.kid.clone().into();
        jwk["use"] = "sig".into();
        jwk
    }

    pub fn header(&self) -> Value {
        json!({ "alg": format!("{:?}", self.algorithm), "kid": self.kid })
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    pub fn sign_text(&self, header: &str, claims: &str) -> String {
        self.sign_bytes(self.algorithm, header.as_bytes(), claims.as_bytes())
    }

    pub fn sign_bytes(&self, algorithm: Algorithm, header: &[u8], claims: &[u8]) -> String {
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &self.private, algorithm).unwrap();
        format!("{signed}.{signature}")
    }
}

/// RSA keys cost a moment; all clusters of one test run share two.
pub fn east_key() -> &'static Key {
    static KEY: OnceLock<Key> = OnceLock::new();
    KEY.get_or_init(|| Key::rsa("key-1"))
}

/// Of another cluster, with the same key id: kubeadm clusters do not coordinate.
pub fn west_key() -> &'static Key {
    static KEY: OnceLock<Key> = OnceLock::new();
    KEY.get_or_init(|| Key::rsa("key-1"))
}

pub fn jwks(keys: &[&Key]) -> String {
    json!({ "keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>() }).to_string()
}

pub fn unix_now() -> i64 {
    squadron_control_plane::clock::now().millis() / 1_000
}

/// Claims as the API server makes them.
pub fn claims(audience: &str, pod_uid: &str) -> Value {
    let now = unix_now();
    json!({
        "iss": ISSUER, "sub": SUBJECT, "aud": [audience],
        "exp": now + 600, "iat": now, "nbf": now, "jti": uuid::Uuid::now_v7(),
        "kubernetes.io": {
            "namespace": "squadron",
            "serviceaccount": { "name": "squadron-agent", "uid": "sa-1" },
            "pod": { "name": "squadron-agent-0", "uid": pod_uid },
            "node": { "name": "node-1", "uid": "node-uid-1" }
        }
    })
}
