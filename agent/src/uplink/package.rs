//! Package: a file of an attempt, asked of the control plane on a stream of its own.
//!
//! Invariant: whoever reads the parts gets the last one only if all of them together have the size and the digest that
//! were announced, so a consumer that counts bytes never takes a damaged file for a whole one.

use std::time::Duration;

use prost::bytes::Bytes;
use sha2::{Digest as _, Sha256};
use squadron_core::id::AttemptId;
use squadron_proto::link::{
    PackageDown, PackageHead, PackageRequest, PackageUp, package_down::Message as Down,
    package_up::Message as Up,
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::{
    LinkError, Peer,
    control::{failed, out_of_order},
    peer::refusal,
};

const OPENING: Duration = Duration::from_secs(10);
/// The control plane reads one row for each part.
const PART: Duration = Duration::from_secs(30);

/// A package on its way here.
pub struct Incoming {
    /// Announced size.
    pub bytes: u64,
    rest: u64,
    sha256: Bytes,
    digest: Sha256,
    down: Streaming<PackageDown>,
    /// The stream ends when this is dropped.
    _up: mpsc::Sender<PackageUp>,
}

impl Peer {
    /// Asks for a package of an attempt that this cluster should hold.
    pub async fn package(&self, attempt: AttemptId, name: &str) -> Result<Incoming, LinkError> {
        timeout(OPENING, self.ask_package(attempt, name)).await.unwrap_or(Err(LinkError::Silent))
    }

    async fn ask_package(&self, attempt: AttemptId, name: &str) -> Result<Incoming, LinkError> {
        let mut line = self.dial().await?;
        let (up, outgoing) = mpsc::channel(2);
        let request = self.request(&line.token, ReceiverStream::new(outgoing))?;
        let mut down = line.client.package(request).await.map_err(|status| failed(&status))?.into_inner();
        let Down::Challenge(challenge) = next(&mut down).await? else { return Err(out_of_order()) };
        put(&up, Up::Hello(self.hello(&challenge.nonce, &line.token, Vec::new()))).await?;
        let Down::Welcome(_) = next(&mut down).await? else { return Err(out_of_order()) };
        let wanted = PackageRequest {
            job_id: attempt.job.to_string(),
            attempt: attempt.number,
            name: name.to_owned(),
        };
        put(&up, Up::Request(wanted)).await?;
        let Down::Head(PackageHead { bytes, sha256 }) = next(&mut down).await? else {
            return Err(out_of_order());
        };
        Ok(Incoming { bytes, rest: bytes, sha256, digest: Sha256::new(), down, _up: up })
    }
}

impl Incoming {
    /// The next bytes; `None` behind the last.
    pub async fn part(&mut self) -> Result<Option<Bytes>, LinkError> {
        if self.rest == 0 {
            return Ok(None);
        }
        let message = timeout(PART, next(&mut self.down)).await.map_err(|_late| LinkError::Silent)??;
        let Down::Part(part) = message else { return Err(out_of_order()) };
        self.check(&part)?;
        Ok(Some(part))
    }

    fn check(&mut self, part: &Bytes) -> Result<(), LinkError> {
        let damaged = || LinkError::Refused("a package arrived damaged".to_owned());
        self.rest = self.rest.checked_sub(part.len() as u64).ok_or_else(damaged)?;
        self.digest.update(part);
        let digest: [u8; 32] = self.digest.clone().finalize().into();
        if self.rest == 0 && digest != *self.sha256 { Err(damaged()) } else { Ok(()) }
    }
}

async fn put(up: &mpsc::Sender<PackageUp>, message: Up) -> Result<(), LinkError> {
    up.send(PackageUp { message: Some(message) }).await.map_err(|_closed| LinkError::Ended)
}

async fn next(down: &mut Streaming<PackageDown>) -> Result<Down, LinkError> {
    let message = down.message().await.map_err(|status| failed(&status))?.ok_or(LinkError::Ended)?;
    match message.message {
        Some(Down::Refused(refused)) if refused.code == 0 => Err(LinkError::Refused(refused.message)),
        Some(Down::Refused(refused)) => Err(refusal(refused)),
        Some(message) => Ok(message),
        None => Err(out_of_order()),
    }
}
