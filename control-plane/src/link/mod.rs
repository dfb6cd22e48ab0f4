//! The link's server side: enrolment, the control stream, the ingest stream, packages of jobs.
//!
//! Invariant: nothing of a stream is believed before its token and its key's signature were verified, and nothing is
//! acknowledged before its commit. A database that is away ends no stream: acknowledgements wait, and so do agents.
//! Fails closed with one constant text; the reason is in the log and the audit. Repaired by the agent's reconnecting.

mod accepts;
mod beats;
mod changes;
mod control;
mod desired;
mod enrol;
mod guest;
mod hello;
mod ingest;
mod keys;
mod leases;
mod limit;
mod newest;
mod package;
mod records;
mod refuse;
mod registry;
mod seats;
mod stream;
mod told;

use std::pin::Pin;

use squadron_proto::{
    DESIRED_LIMIT, INGEST_LIMIT,
    link::{
        ControlDown, ControlUp, EnrollReply, EnrollRequest, IngestDown, IngestUp, PackageDown, PackageUp,
        link_server::{Link, LinkServer},
    },
};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming, service::Routes};

use self::{
    accepts::Accepts, beats::Beats, changes::Changes, ingest::Batches, leases::Renewals, limit::Limit,
    registry::Registry, seats::Seats, told::Told,
};
use crate::state::AppState;

/// Room for the frame of a message around its payload, in bytes.
const FRAME: usize = 4 * 1024;

type Down<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What the streams of all agents share.
#[derive(Clone)]
pub struct LinkService {
    app: AppState,
    registry: Registry,
    accepts: Accepts,
    batches: Batches,
    beats: Beats,
    changes: Changes,
    told: Told,
    renewals: Renewals,
    enrolments: Limit,
    /// Calls for clusters that do not exist.
    guesses: Limit,
    seats: Seats,
    stop: CancellationToken,
}

/// The service as a router, and the tasks behind it until `stop` is cancelled.
pub fn router(app: &AppState, stop: CancellationToken) -> axum::Router {
    let service = LinkService {
        app: app.clone(),
        registry: Registry::start(app.clone(), stop.clone()),
        accepts: Accepts::new(app),
        batches: Batches::default(),
        beats: Beats::start(app.clone(), stop.clone()),
        changes: Changes::new(app),
        told: Told::start(app.clone(), stop.clone()),
        renewals: Renewals::start(app.clone(), stop.clone()),
        enrolments: Limit::default(),
        guesses: Limit::default(),
        seats: Seats::default(),
        stop,
    };
    let server = LinkServer::new(service)
        .max_decoding_message_size(INGEST_LIMIT + FRAME)
        .max_encoding_message_size(DESIRED_LIMIT);
    Routes::new(server).prepare().into_axum_router()
}

#[tonic::async_trait]
impl Link for LinkService {
    type ControlStream = Down<ControlDown>;
    type IngestStream = Down<IngestDown>;
    type PackageStream = Down<PackageDown>;

    async fn enroll(&self, request: Request<EnrollRequest>) -> Result<Response<EnrollReply>, Status> {
        enrol::enroll(self, request).await
    }

    async fn control(
        &self,
        request: Request<Streaming<ControlUp>>,
    ) -> Result<Response<Down<ControlDown>>, Status> {
        let guest = guest::authenticate(self, &request).await?;
        Ok(Response::new(control::open(self.clone(), guest, request.into_inner())))
    }

    async fn ingest(
        &self,
        request: Request<Streaming<IngestUp>>,
    ) -> Result<Response<Down<IngestDown>>, Status> {
        let guest = guest::authenticate(self, &request).await?;
        Ok(Response::new(ingest::open(self.clone(), guest, request.into_inner())))
    }

    async fn package(
        &self,
        request: Request<Streaming<PackageUp>>,
    ) -> Result<Response<Down<PackageDown>>, Status> {
        let guest = guest::authenticate(self, &request).await?;
        Ok(Response::new(package::open(self.clone(), guest, request.into_inner())))
    }
}
