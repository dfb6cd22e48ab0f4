//! An agent as far as the link sees one: it enrols, says hello, beats, and sends batches.

use ed25519_dalek::{Signer, SigningKey};
use prost::Message as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use squadron_core::link::hello_bytes;
use squadron_proto::link::{
    Batch, ControlDown, ControlUp, EnrollReply, EnrollRequest, Heartbeat, Hello, IngestDown, IngestUp, Lease,
    Record, RecordClass, Records, Refused, Welcome, control_down, control_up, ingest_down, ingest_up,
    link_client::LinkClient, record::Payload,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status, Streaming};

use crate::{
    issuer::{self, ISSUER, Key, claims},
    plane::{DEADLINE, Plane},
};

#[derive(Clone)]
pub struct Agent {
    pub cluster: String,
    pub audience: String,
    pub code: String,
    pub key: &'static Key,
    pub pod_uid: String,
    pub cluster_uid: String,
    pub proof: SigningKey,
    pub jwks: String,
    /// Namespace, name and uid of the service account.
    pub account: (&'static str, &'static str, &'static str),
    /// What its Lease object counts; none: it does not count.
    pub renewals: Option<u64>,
}

impl Agent {
    pub fn new(reply: &Value, key: &'static Key) -> Agent {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Agent {
            cluster: text(&reply["cluster"]["id"]),
            audience: text(&reply["audience"]),
            code: text(&reply["code"]),
            key,
            pod_uid: "pod-1".into(),
            cluster_uid: format!("kube-system-of-{}", text(&reply["cluster"]["name"])),
            proof: SigningKey::from_bytes(&rand::random()),
            jwks: issuer::jwks(&[key]),
            account: ("squadron", "squadron-agent", "sa-1"),
            renewals: None,
        }
    }

    /// The same cluster's pod with another service account.
    pub fn with_account(&self, namespace: &'static str, name: &'static str, uid: &'static str) -> Agent {
        Agent { account: (namespace, name, uid), ..self.in_pod("pod-of-another-account") }
    }

    /// Another pod, with a key of its own.
    pub fn in_pod(&self, pod_uid: &str) -> Agent {
        Agent { pod_uid: pod_uid.into(), proof: SigningKey::from_bytes(&rand::random()), ..self.clone() }
    }

    pub fn claims(&self) -> Value {
        let (namespace, name, uid) = self.account;
        let mut claims = claims(&self.audience, &self.pod_uid);
        claims["sub"] = format!("system:serviceaccount:{namespace}:{name}").into();
        claims["kubernetes.io"]["namespace"] = namespace.into();
        claims["kubernetes.io"]["serviceaccount"] = serde_json::json!({ "name": name, "uid": uid });
        claims
    }

    pub fn token(&self) -> String {
        self.key.sign(&self.key.header(), &self.claims())
    }

    pub fn request<T>(&self, token: &str, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request.metadata_mut().insert("squadron-cluster", self.cluster.parse().unwrap());
        request
    }

    pub fn enrolment(&self) -> EnrollRequest {
        EnrollRequest {
            code: self.code.clone(),
            issuer: ISSUER.into(),
            jwks: self.jwks.clone(),
            cluster_uid: self.cluster_uid.clone(),
            kubernetes_version: "v1.34.4".into(),
            agent_version: "0.1.0".into(),
        }
    }

    pub async fn enroll(&self, plane: &Plane) -> Result<EnrollReply, Status> {
        self.enroll_with(plane, &self.token(), self.enrolment()).await
    }

    pub async fn enroll_with(
        &self,
        plane: &Plane,
        token: &str,
        enrolment: EnrollRequest,
    ) -> Result<EnrollReply, Status> {
        let mut client = LinkClient::new(plane.dial().await);
        Ok(client.enroll(self.request(token, enrolment)).await?.into_inner())
    }

    pub fn hello(&self, nonce: &[u8], token: &str, epoch: u64) -> Hello {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let signed = hello_bytes(nonce, &self.cluster, &self.pod_uid, &digest);
        Hello {
            epoch,
            pod_uid: self.pod_uid.clone(),
            public_key: self.proof.verifying_key().to_bytes().to_vec().into(),
            signature: self.proof.sign(&signed).to_bytes().to_vec().into(),
            agent_version: "0.1.0".into(),
            kubernetes_version: "v1.34.4".into(),
            spooled_epochs: Vec::new(),
            accepted_generation: 0,
            jwks: self.jwks.clone(),
            holds_leases: true,
            takes_changes: false,
            renewals: self.renewals,
        }
    }

    pub async fn control(&self, plane: &Plane, epoch: u64) -> Result<Control, End> {
        self.control_with(plane, &self.token(), epoch).await
    }

    pub async fn control_with(&self, plane: &Plane, token: &str, epoch: u64) -> Result<Control, End> {
        self.control_of(plane, token, |nonce| self.hello(nonce, token, epoch)).await
    }

    /// A control stream that takes changes.
    pub async fn control_of_changes(&self, plane: &Plane, epoch: u64) -> Result<Control, End> {
        let token = self.token();
        let hello = |nonce: &[u8]| Hello { takes_changes: true, ..self.hello(nonce, &token, epoch) };
        self.control_of(plane, &token, hello).await
    }

    async fn control_of(
        &self,
        plane: &Plane,
        token: &str,
        hello: impl FnOnce(&[u8]) -> Hello,
    ) -> Result<Control, End> {
        let mut control = Control::open(self, plane, token).await.map_err(End::Status)?;
        let nonce = control.challenge().await?;
        control.say(control_up::Message::Hello(hello(&nonce))).await;
        match control.next().await? {
            control_down::Message::Welcome(_) => Ok(control),
            other => panic!("no welcome but {other:?}"),
        }
    }

    pub async fn ingest(&self, plane: &Plane, epoch: u64) -> Result<Ingest, End> {
        let token = self.token();
        let (up, receiver) = mpsc::channel(64);
        let mut client = LinkClient::new(plane.dial().await).max_decoding_message_size(1 << 24);
        let request = self.request(&token, ReceiverStream::new(receiver));
        let down = client.ingest(request).await.map_err(End::Status)?.into_inner();
        let mut ingest = Ingest { up, down, welcome: Welcome::default() };
        let ingest_down::Message::Challenge(challenge) = ingest.next().await? else { panic!("no challenge") };
        ingest.say(ingest_up::Message::Hello(self.hello(&challenge.nonce, &token, epoch))).await;
        let ingest_down::Message::Welcome(welcome) = ingest.next().await? else { panic!("no welcome") };
        ingest.welcome = welcome;
        Ok(ingest)
    }
}

/// How a stream ended.
#[derive(Debug)]
pub enum End {
    Status(#[allow(dead_code, reason = "shown when a test fails")] Status),
    Refused(Refused),
    Closed,
}

impl End {
    pub fn refused(self) -> Refused {
        match self {
            End::Refused(refused) => refused,
            other => panic!("not refused but {other:?}"),
        }
    }
}

pub struct Control {
    pub up: mpsc::Sender<ControlUp>,
    down: Streaming<ControlDown>,
    /// The newest lease that was told.
    pub lease: Option<Lease>,
    /// What heartbeats say that the Lease object counts.
    pub renewals: Option<u64>,
}

impl Control {
    pub async fn open(agent: &Agent, plane: &Plane, token: &str) -> Result<Control, Status> {
        let (up, receiver) = mpsc::channel(64);
        let mut client = LinkClient::new(plane.dial().await).max_decoding_message_size(1 << 24);
        let down = client.control(agent.request(token, ReceiverStream::new(receiver))).await?.into_inner();
        Ok(Control { up, down, lease: None, renewals: agent.renewals })
    }

    pub async fn challenge(&mut self) -> Result<Vec<u8>, End> {
        match self.next().await? {
            control_down::Message::Challenge(challenge) => Ok(challenge.nonce.to_vec()),
            other => panic!("no challenge but {other:?}"),
        }
    }

    pub async fn say(&mut self, message: control_up::Message) {
        // A closed stream shows at the next read.
        let _closed = self.up.send(ControlUp { message: Some(message) }).await;
    }

    pub async fn beat(&mut self, number: u64, applied: u64) {
        let sent_at_us = squadron_control_plane::clock::now().0;
        let beat = Heartbeat {
            number,
            sent_at_us,
            desired_generation: applied,
            spool_bytes: 5,
            spool_records: 1,
            renewals: self.renewals,
        };
        self.say(control_up::Message::Heartbeat(beat)).await;
    }

    /// The next message that is no lease.
    pub async fn next(&mut self) -> Result<control_down::Message, End> {
        loop {
            match self.any().await? {
                control_down::Message::Lease(lease) => self.lease = Some(lease),
                other => return Ok(other),
            }
        }
    }

    /// The next lease; everything before it is passed over.
    pub async fn lease(&mut self) -> Result<Lease, End> {
        loop {
            if let control_down::Message::Lease(lease) = self.any().await? {
                return Ok(lease);
            }
        }
    }

    async fn any(&mut self) -> Result<control_down::Message, End> {
        let message = tokio::time::timeout(DEADLINE, self.down.message()).await.expect("a message in time");
        match message.map_err(End::Status)? {
            None => Err(End::Closed),
            Some(ControlDown { message: Some(control_down::Message::Refused(refused)) }) => {
                Err(End::Refused(refused))
            }
            Some(ControlDown { message }) => Ok(message.unwrap()),
        }
    }

    /// Reads until the stream ends.
    pub async fn end(&mut self) -> End {
        loop {
            if let Err(end) = self.next().await {
                return end;
            }
        }
    }
}

pub struct Ingest {
    up: mpsc::Sender<IngestUp>,
    down: Streaming<IngestDown>,
    pub welcome: Welcome,
}

impl Ingest {
    pub async fn say(&mut self, message: ingest_up::Message) {
        // A closed stream shows at the next read.
        let _closed = self.up.send(IngestUp { message: Some(message) }).await;
    }

    pub async fn send(&mut self, epoch: u64, first: u64, facts: &[String]) {
        self.say(ingest_up::Message::Batch(batch(epoch, first, facts))).await;
    }

    pub async fn next(&mut self) -> Result<ingest_down::Message, End> {
        let message = tokio::time::timeout(DEADLINE, self.down.message()).await.expect("a message in time");
        match message.map_err(End::Status)? {
            None => Err(End::Closed),
            Some(IngestDown { message: Some(ingest_down::Message::Refused(refused)) }) => {
                Err(End::Refused(refused))
            }
            Some(IngestDown { message }) => Ok(message.unwrap()),
        }
    }

    /// The next acknowledgement's number.
    pub async fn ack(&mut self) -> Result<u64, End> {
        match self.next().await? {
            ingest_down::Message::Ack(watermark) => Ok(watermark.seq),
            other => panic!("no acknowledgement but {other:?}"),
        }
    }

    /// Where the welcome says that the epoch's facts stand.
    pub fn watermark(&self, epoch: u64) -> u64 {
        let fact = i32::from(RecordClass::Fact);
        let marks = &self.welcome.watermarks;
        marks.iter().find(|mark| mark.epoch == epoch && mark.class == fact).map_or(0, |mark| mark.seq)
    }
}

pub fn batch(epoch: u64, first: u64, facts: &[String]) -> Batch {
    let records = (first..).zip(facts).map(|(seq, fact)| Record {
        seq,
        observed_at_us: 1_790_000_000_000_000,
        payload: Some(Payload::Fact(fact.clone())),
    });
    packed(epoch, RecordClass::Fact, first, &Records { records: records.collect() })
}

pub fn packed(epoch: u64, class: RecordClass, first: u64, records: &Records) -> Batch {
    Batch {
        epoch,
        class: class.into(),
        first_seq: first,
        count: u32::try_from(records.records.len()).unwrap(),
        zstd: zstd::encode_all(records.encode_to_vec().as_slice(), 1).unwrap().into(),
    }
}

/// A fact that nobody acts on, recognisable by its line.
pub fn line(number: u64) -> String {
    serde_json::json!({
        "kind": "kernel", "node": "n", "line": format!("line {number}"),
        "signal": { "signal": "oom_kill", "pod_uid": "", "process": "p", "pid": 1 }
    })
    .to_string()
}

pub fn lines(first: u64, last: u64) -> Vec<String> {
    (first..=last).map(line).collect()
}
