//! GET and PUT `/api/packages/{protocol}/{name}`: working directories and modules that Ray's client uploads.
//!
//! Invariant: a package is its owner's alone, and its content never changes: what a name stood for when a job was
//! submitted is what the job gets.

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
};
use squadron_core::sentence::clip;

use super::{
    PACKAGE,
    refusal::{Refusal, Result},
    upload::{self, MOST_BYTES},
};
use crate::{clock, http::auth::Caller, state::AppState};

/// The only store of packages that Ray's client uploads to.
const PROTOCOL: &str = "gcs";
/// What Ray's client uploads, by the end of its name.
const ENDINGS: [&str; 6] = [".zip", ".whl", ".jar", ".tar.gz", ".tgz", ".tar.xz"];
const LONGEST_NAME: usize = 200;

/// Whether the caller has uploaded this package.
#[utoipa::path(get, path = PACKAGE, tag = "ray_jobs",
    params(("protocol" = String, Path), ("package_name" = String, Path)), responses((status = 200)))]
pub async fn exists(
    State(app): State<AppState>,
    caller: Caller,
    Path((protocol, name)): Path<(String, String)>,
) -> Result<()> {
    let found = match check(&protocol, &name) {
        Ok(()) => app.store.package(&caller.actor.subject, &name, clock::now()).await?,
        Err(_) => None,
    };
    let address = format!("{}://{}", clip(&protocol, 40), clip(&name, 200));
    found.map(|_| ()).ok_or_else(|| Refusal::missing(format!("Package {address} does not exist")))
}

/// Uploads a package; one that is there already stays as it is.
#[utoipa::path(put, path = PACKAGE, tag = "ray_jobs",
    params(("protocol" = String, Path), ("package_name" = String, Path)),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200)))]
pub async fn upload(
    State(app): State<AppState>,
    caller: Caller,
    Path((protocol, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<()> {
    check(&protocol, &name)?;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes >= MOST_BYTES) {
        upload::discard(body).await;
        return Err(too_large());
    }
    upload::receive(&app, &caller.actor.subject, &name, body).await
}

fn check(protocol: &str, name: &str) -> Result<()> {
    if protocol != PROTOCOL {
        let protocol = clip(protocol, 40);
        return Err(Refusal::failed(format!("NotImplementedError: Protocol {protocol} is not supported")));
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+!".contains(&byte);
    let ends = ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending));
    if name.len() > LONGEST_NAME || !name.bytes().all(legal) || name.starts_with('.') || !ends {
        let shown = clip(name, 80);
        return Err(Refusal::bad(format!(
            "ValueError: {shown:?} is no name of a package: at most {LONGEST_NAME} letters, digits and _-.+!, ending in {}",
            ENDINGS.join(", ")
        )));
    }
    Ok(())
}

/// A head's words for a package over its limit, and what helps.
pub fn too_large() -> Refusal {
    Refusal::Ray(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "Maximum request body size {MOST_BYTES} exceeded. To exclude large files, add them to '.gitignore' or \
             '.rayignore' files, or use the 'excludes' option in the runtime_env, or provide a URI of a remote zip file."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_checked() {
        for (name, legal) in [
            ("_ray_pkg_029f88d5ecc55e1e4d64fc6e388fd103.zip", true),
            ("numpy-2.0+cpu-cp311-cp311-linux_x86_64.whl", true),
            ("a.tar.gz", true),
            (".zip", false),
            ("../a.zip", false),
            ("a b.zip", false),
            ("a.exe", false),
            ("", false),
        ] {
            assert_eq!(check("gcs", name).is_ok(), legal, "{name}");
        }
        assert!(check("s3", "a.zip").is_err());
        assert!(check("gcs", &format!("{}.zip", "a".repeat(300))).is_err());
    }
}
