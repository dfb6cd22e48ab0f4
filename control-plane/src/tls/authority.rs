//! Our own certificate authority in `<data>/tls`: `ca.crt`, `ca.key`, `server.crt`, `server.key`, `server.json`.
//!
//! Invariant: the authority is made once. The server's certificate is made again when it ends within 30 days or when
//! the names it must carry have changed.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use super::TlsError;
use crate::clock;

const AUTHORITY_DAYS: i64 = 3_650;
const LEAF_DAYS: i64 = 90;
const RENEW_BEFORE_DAYS: i64 = 30;

/// The authority of one data folder, and the names that the server's certificate carries.
#[derive(Clone, Debug)]
pub struct Authority {
    folder: PathBuf,
    names: Vec<String>,
}

/// What the certificate in `server.crt` is.
#[derive(Serialize, Deserialize)]
struct Leaf {
    names: Vec<String>,
    /// Unix seconds.
    not_after: i64,
}

impl Authority {
    /// Opens the authority, making it at the first start.
    pub fn open(data: &Path, names: Vec<String>) -> Result<Authority, TlsError> {
        let authority = Authority { folder: data.join("tls"), names };
        fs::create_dir_all(&authority.folder).map_err(|source| TlsError::File {
            step: "make",
            path: authority.folder.clone(),
            source,
        })?;
        if !authority.path("ca.crt").exists() {
            authority.found()?;
        }
        Ok(authority)
    }

    pub fn bundle_path(&self) -> PathBuf {
        self.path("ca.crt")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The key is written first: without it the certificate would be worth nothing, and the next start would believe it.
    fn found(&self) -> Result<(), TlsError> {
        let key = KeyPair::generate()?;
        let certificate = authority_params().self_signed(&key)?;
        write(&self.path("ca.key"), key.serialize_pem().as_bytes(), 0o600)?;
        write(&self.path("ca.crt"), certificate.pem().as_bytes(), 0o644)
    }

    /// Paths of the server's certificate and key, both fresh.
    pub(super) fn leaf(&self) -> Result<(PathBuf, PathBuf), TlsError> {
        let paths = (self.path("server.crt"), self.path("server.key"));
        if !self.is_fresh(now()) {
            self.make_leaf()?;
        }
        Ok(paths)
    }

    fn is_fresh(&self, now: OffsetDateTime) -> bool {
        let text = fs::read_to_string(self.path("server.json")).unwrap_or_default();
        serde_json::from_str::<Leaf>(&text).is_ok_and(|leaf| {
            let left = leaf.not_after - now.unix_timestamp();
            leaf.names == self.names && left > RENEW_BEFORE_DAYS * 86_400
        })
    }

    fn make_leaf(&self) -> Result<(), TlsError> {
        let path = self.path("ca.key");
        let text =
            fs::read_to_string(&path).map_err(|source| TlsError::File { step: "read", path, source })?;
        let issuer = Issuer::new(authority_params(), KeyPair::from_pem(&text)?);
        let key = KeyPair::generate()?;
        let params = leaf_params(&self.names)?;
        let leaf = Leaf { names: self.names.clone(), not_after: params.not_after.unix_timestamp() };
        let certificate = params.signed_by(&key, &issuer)?;
        write(&self.path("server.key"), key.serialize_pem().as_bytes(), 0o600)?;
        write(&self.path("server.crt"), certificate.pem().as_bytes(), 0o644)?;
        write(&self.path("server.json"), &serde_json::to_vec(&leaf).unwrap_or_default(), 0o644)?;
        tracing::info!(names = ?self.names, "made a certificate for the listeners");
        Ok(())
    }
}

/// Deterministic but for its dates, so that a certificate can be signed by the key alone after a restart.
fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Squadron control plane");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    validity(&mut params, AUTHORITY_DAYS);
    params
}

fn leaf_params(names: &[String]) -> Result<CertificateParams, TlsError> {
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name.push(DnType::CommonName, "squadron-control-plane");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    validity(&mut params, LEAF_DAYS);
    Ok(params)
}

/// From an hour ago, so that clocks that are a little behind see it as valid.
fn validity(params: &mut CertificateParams, days: i64) {
    let now = now();
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(days);
}

fn now() -> OffsetDateTime {
    squadron_store::at(clock::now())
}

/// Replaces the file in one step.
fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), TlsError> {
    let failed = |source| TlsError::File { step: "write", path: path.to_owned(), source };
    let next = path.with_extension("next");
    let mut file = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(mode)
        .open(&next)
        .map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&next, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn read(authority: &Authority, name: &str) -> String {
        fs::read_to_string(authority.path(name)).unwrap()
    }

    #[test]
    fn the_authority_stays_and_the_leaf_follows_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let first = Authority::open(folder.path(), names.clone()).unwrap();
        first.leaf().unwrap();
        let (ca, leaf) = (read(&first, "ca.crt"), read(&first, "server.crt"));
        let again = Authority::open(folder.path(), names).unwrap();
        again.leaf().unwrap();
        assert_eq!((read(&again, "ca.crt"), read(&again, "server.crt")), (ca.clone(), leaf.clone()));
        let renamed = Authority::open(folder.path(), vec!["squadron.example".to_owned()]).unwrap();
        renamed.leaf().unwrap();
        assert_eq!(read(&renamed, "ca.crt"), ca);
        assert_ne!(read(&renamed, "server.crt"), leaf);
    }

    #[test]
    fn a_leaf_is_renewed_a_month_before_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path(), vec!["localhost".to_owned()]).unwrap();
        authority.leaf().unwrap();
        let now = now();
        assert!(authority.is_fresh(now + Duration::days(59)));
        assert!(!authority.is_fresh(now + Duration::days(61)));
    }

    #[test]
    fn private_keys_are_for_us_only() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path(), vec!["localhost".to_owned()]).unwrap();
        authority.leaf().unwrap();
        for name in ["ca.key", "server.key"] {
            assert_eq!(
                fs::metadata(authority.path(name)).unwrap().permissions().mode() & 0o777,
                0o600,
                "{name}"
            );
        }
    }
}
