//! The certificates and keys of one local cluster.
//!
//! Owns who is who inside the cluster. Invariant: the folder is complete or absent: it is filled under another name
//! and renamed. No component but the administrator and the API server's kubelet client is in `system:masters`.
//! Fails when a file cannot be written; the next `up` starts over.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize, SanType, string::Ia5String,
};

use crate::error::{AtPath, Error, Result};
use crate::files;
use crate::local::cluster::Cluster;

/// The user name of CoreDNS, to which its read-only role is bound.
pub const DNS_USER: &str = "squadron-testbed:coredns";

/// Who a certificate speaks for.
struct Subject {
    file: &'static str,
    user: String,
    group: Option<&'static str>,
    /// Names and addresses of a server; none for a client.
    server: Vec<San>,
}

#[derive(Clone)]
enum San {
    Name(String),
    Address(Ipv4Addr),
}

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Makes all certificates and keys unless they are there.
pub fn ensure(cluster: &Cluster) -> Result<()> {
    let folder = cluster.path("pki");
    if folder.is_dir() {
        return Ok(());
    }
    let beside = cluster.path("pki.new");
    files::remove(&beside)?;
    files::folder(&beside)?;
    fill(cluster, &beside)?;
    std::fs::rename(&beside, &folder).at("put in place", &folder)
}

fn fill(cluster: &Cluster, folder: &Path) -> Result<()> {
    let authority = authority(folder, "ca", &cluster.name.to_string())?;
    for subject in subjects(cluster) {
        issue(folder, &subject, &authority)?;
    }
    let front = self::authority(folder, "front-proxy-ca", &cluster.name.to_string())?;
    issue(folder, &client("front-proxy-client", "front-proxy-client", None), &front)?;
    service_account_keys(folder)
}

fn subjects(cluster: &Cluster) -> Vec<Subject> {
    let node = format!("system:node:{}", cluster.node_name());
    vec![
        server("apiserver", "kube-apiserver".into(), None, api_server_names(cluster)),
        client("apiserver-kubelet-client", "apiserver-kubelet-client", Some("system:masters")),
        client("admin", "admin", Some("system:masters")),
        client("controller-manager", "system:kube-controller-manager", None),
        client("scheduler", "system:kube-scheduler", None),
        client("proxy", "system:kube-proxy", None),
        client("coredns", DNS_USER, None),
        client("kubelet", &node, Some("system:nodes")),
        server("kubelet-serving", node, Some("system:nodes"), kubelet_names(cluster)),
    ]
}

fn client(file: &'static str, user: &str, group: Option<&'static str>) -> Subject {
    Subject { file, user: user.to_owned(), group, server: Vec::new() }
}

fn server(file: &'static str, user: String, group: Option<&'static str>, server: Vec<San>) -> Subject {
    Subject { file, user, group, server }
}

fn api_server_names(cluster: &Cluster) -> Vec<San> {
    let service = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let names = service.into_iter().chain(["localhost", cluster.name.as_str()]);
    let addresses =
        [Ipv4Addr::LOCALHOST, cluster.node_address(), cluster.host_address(), cluster.api_service_address()];
    names.map(|name| San::Name(name.to_owned())).chain(addresses.map(San::Address)).collect()
}

fn kubelet_names(cluster: &Cluster) -> Vec<San> {
    vec![
        San::Name(cluster.node_name()),
        San::Address(cluster.node_address()),
        San::Address(Ipv4Addr::LOCALHOST),
    ]
}

fn authority(folder: &Path, file: &str, cluster: &str) -> Result<Authority> {
    let failed = |source| Error::Certificate { name: file.to_owned(), source };
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("{cluster}-{file}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate().map_err(failed)?;
    files::replace_secret(&folder.join(format!("{file}.key")), key.serialize_pem())?;
    let authority = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
    files::replace(&folder.join(format!("{file}.crt")), authority.pem())?;
    Ok(authority)
}

fn issue(folder: &Path, subject: &Subject, authority: &Authority) -> Result<()> {
    let failed = |source| Error::Certificate { name: subject.file.to_owned(), source };
    let params = params(subject).map_err(failed)?;
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.signed_by(&key, authority).map_err(failed)?;
    files::replace(&folder.join(format!("{}.crt", subject.file)), certificate.pem())?;
    files::replace_secret(&folder.join(format!("{}.key", subject.file)), key.serialize_pem())
}

fn params(subject: &Subject) -> std::result::Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject.user.as_str());
    if let Some(group) = subject.group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![match subject.server.is_empty() {
        true => ExtendedKeyUsagePurpose::ClientAuth,
        false => ExtendedKeyUsagePurpose::ServerAuth,
    }];
    for san in &subject.server {
        params.subject_alt_names.push(match san {
            San::Name(name) => SanType::DnsName(Ia5String::try_from(name.as_str())?),
            San::Address(address) => SanType::IpAddress(IpAddr::V4(*address)),
        });
    }
    Ok(params)
}

/// The key pair that signs service-account tokens: RSA, as in most clusters, so tokens are RS256.
fn service_account_keys(folder: &Path) -> Result<()> {
    let failed = |source| Error::Certificate { name: "sa".to_owned(), source };
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).map_err(failed)?;
    files::replace_secret(&folder.join("sa.key"), key.serialize_pem())?;
    files::replace(&folder.join("sa.pub"), key.public_key_pem())
}
