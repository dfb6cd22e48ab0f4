//! The package stream: a file of a job on its way to the cluster that runs it.
//!
//! Invariant: a cluster gets the packages of attempts that it should hold, and no others; what a cluster may not have
//! and what does not exist read the same. The agent compares the digest before it passes the last byte on.

use squadron_core::id::AttemptId;
use squadron_proto::link::{
    Challenge, PackageDown, PackageHead, PackageRequest, PackageUp, Welcome,
    package_down::Message as DownMessage, package_up::Message as UpMessage, refused::Code,
};
use squadron_store::{StoreError, ray_package::Package};
use tokio_stream::StreamExt as _;
use tonic::Streaming;

use super::{
    Down, LinkService,
    guest::Guest,
    hello, refuse,
    stream::{End, HELLO_DEADLINE, Outbox, Session, out_of_order, serve},
};

/// An agent that was refused a package comes again after this.
const RETRY_MS: u64 = 5_000;

/// Starts the stream's task; the answer is what it sends.
pub fn open(service: LinkService, guest: Guest, up: Streaming<PackageUp>) -> Down<PackageDown> {
    let last = |refused| down(DownMessage::Refused(refused));
    serve("package", last, |out| async move { run(service, guest, up, &out).await })
}

fn down(message: DownMessage) -> PackageDown {
    PackageDown { message: Some(message) }
}

async fn run(
    service: LinkService,
    guest: Guest,
    mut up: Streaming<PackageUp>,
    out: &Outbox<PackageDown>,
) -> Result<(), End> {
    let nonce = hello::nonce();
    out.send(down(DownMessage::Challenge(Challenge { nonce: nonce.to_vec().into() }))).await?;
    let UpMessage::Hello(said) = next(&mut up).await? else {
        return Err(out_of_order("it must begin with a hello"));
    };
    let mut session = Session::begin(service, guest, &nonce, &said).await?;
    out.send(down(DownMessage::Welcome(Welcome::default()))).await?;
    let UpMessage::Request(request) = next(&mut up).await? else {
        return Err(out_of_order("a second hello"));
    };
    let package = find(&session, &request).await?;
    send(&mut session, &package, out).await
}

async fn next(up: &mut Streaming<PackageUp>) -> Result<UpMessage, End> {
    let message = tokio::time::timeout(HELLO_DEADLINE, up.next()).await.map_err(|_late| End::Gone)?;
    let Some(Ok(message)) = message else { return Err(End::Gone) };
    message.message.ok_or_else(|| out_of_order("a message is empty"))
}

async fn find(session: &Session, request: &PackageRequest) -> Result<Package, End> {
    let job = request.job_id.parse().map_err(|_| out_of_order("the request names no job"))?;
    let attempt = AttemptId { job, number: request.attempt };
    let store = &session.service.app.store;
    let found = store.package_for(session.guest.cluster, attempt, &request.name).await.map_err(away)?;
    found.ok_or_else(|| {
        let message = "the control plane has no such package for this attempt";
        End::Refused(refuse::refused(Code::Unspecified, message, RETRY_MS))
    })
}

async fn send(session: &mut Session, package: &Package, out: &Outbox<PackageDown>) -> Result<(), End> {
    let head = PackageHead { bytes: package.bytes, sha256: package.sha256.to_vec().into() };
    out.send(down(DownMessage::Head(head))).await?;
    for number in 0.. {
        session.check_standing()?;
        let chunk = session.service.app.store.chunk(package.id, number).await.map_err(away)?;
        let Some(chunk) = chunk else { break };
        out.send(down(DownMessage::Part(chunk.into()))).await?;
    }
    Ok(())
}

#[allow(clippy::needless_pass_by_value, reason = "an error is handed over")]
fn away(error: StoreError) -> End {
    tracing::warn!(error = %crate::http::error::chain(&error), "a package must wait for the database");
    End::Refused(refuse::refused(Code::Drain, "the database cannot be reached at the moment", 1_000))
}
