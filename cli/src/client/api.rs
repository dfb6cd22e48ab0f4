//! One function per endpoint.

use std::collections::BTreeMap;

use reqwest::{Method, Response};
use serde::Serialize;
use squadron_api::{
    Page,
    about::{About, Me},
    arrival::{AllowQueueRequest, AllowedQueue},
    audit::AuditEntry,
    cluster::{AcceptClusterRequest, AddClusterReply, AddClusterRequest, Cluster, LabelClusterRequest},
    incident::{Incident, ResolveRequest},
    job::{
        CancelRequest, Job, JobDetail, JobFilter, SubmitManyReply, SubmitManyRequest, SubmitReply,
        SubmitRequest,
    },
    log::{ATTEMPT_HEADER, GAP_HEADER, LogQuery, OFFSET_HEADER},
    lost::{QueueLossRequest, WordRequest},
    placement::{Decision, DecisionQuery, WaitingJob, WaitingQuery, Where, WhereRequest},
    policy::{PolicyQuery, PolicyReply},
    queue::{AddQueueRequest, Queue, SetTemplateRequest},
    route,
    token::{AddTokenReply, AddTokenRequest, Token},
    usage::{PriceSheetReply, Usage, UsageQuery},
    what_if::{WhatIf, WhatIfQuery},
};

use super::{Client, ClientError, call::Call};

type Answer<T> = Result<T, ClientError>;

impl Client {
    /// Who answers there; one try, no token needed.
    pub async fn about(&self) -> Answer<About> {
        self.ask(&Call::get(route::VERSION, "").impatient()).await
    }

    /// Whom the server sees in us.
    pub async fn me(&self) -> Answer<Me> {
        self.ask(&Call::get(route::ME, "")).await
    }

    /// Submits once, however often it has to be sent: `key` tells the server that it is the same submission.
    pub async fn submit(&self, request: &SubmitRequest, key: &str) -> Answer<SubmitReply> {
        let call = self.json(Call::change(Method::POST, route::JOBS, ""), request)?;
        self.ask(&call.header("idempotency-key", key)).await
    }

    /// Submits all or none, once, however often it has to be sent.
    pub async fn submit_many(&self, request: &SubmitManyRequest, key: &str) -> Answer<SubmitManyReply> {
        let call = self.json(Call::change(Method::POST, route::SUBMISSIONS, ""), request)?;
        self.ask(&call.header("idempotency-key", key)).await
    }

    pub async fn jobs(&self, filter: &JobFilter) -> Answer<Page<Job>> {
        let call = Call::get(route::JOBS, "")
            .query("status", filter.status.as_ref())
            .query("queue", filter.queue.as_ref())
            .query("cluster", filter.cluster.as_ref())
            .query("owner", filter.owner.as_ref())
            .query("limit", filter.limit)
            .query("page_token", filter.page_token.as_ref());
        self.ask(&call).await
    }

    pub async fn job(&self, job: &str) -> Answer<JobDetail> {
        self.ask(&Call::get(route::JOB, job)).await
    }

    /// Where a manifest would go; nothing is changed, so it may be asked again.
    pub async fn look(&self, request: &WhereRequest) -> Answer<Where> {
        self.ask(&self.json(Call::change(Method::POST, route::WHERE, ""), request)?).await
    }

    pub async fn job_where(&self, job: &str) -> Answer<Where> {
        self.ask(&Call::get(route::JOB_WHERE, job)).await
    }

    pub async fn decisions(&self, job: &str, query: &DecisionQuery) -> Answer<Page<Decision>> {
        let call = Call::get(route::JOB_DECISIONS, job)
            .query("limit", query.limit)
            .query("page_token", query.page_token.as_ref());
        self.ask(&call).await
    }

    pub async fn waiting(&self, query: &WaitingQuery) -> Answer<Page<WaitingJob>> {
        let call = Call::get(route::QUEUE_WAITING, "")
            .query("queue", Some(&query.queue))
            .query("limit", query.limit)
            .query("page_token", query.page_token.as_ref());
        self.ask(&call).await
    }

    pub async fn cancel(&self, job: &str, reason: &str) -> Answer<Job> {
        let request = CancelRequest { reason: reason.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::JOB_CANCEL, job), &request)?).await
    }

    pub async fn resolve_incident(&self, incident: &str, reason: &str) -> Answer<Incident> {
        let request = ResolveRequest { reason: reason.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::INCIDENT_RESOLVE, incident), &request)?).await
    }

    /// Opens the driver's output. One try: the follower decides when to come back and from where.
    pub async fn log(&self, job: &str, query: &LogQuery) -> Answer<LogStream> {
        let call = Call::get(route::JOB_LOGS, job)
            .query("attempt", query.attempt)
            .query("offset", query.offset)
            .query("follow", query.follow)
            .impatient()
            .endless();
        let response = self.send(&call).await?;
        let word = |name: &str| response.headers().get(name)?.to_str().ok();
        let number = |name: &str| word(name)?.parse::<u64>().ok();
        let (attempt, offset) = (number(ATTEMPT_HEADER), number(OFFSET_HEADER));
        Ok(LogStream {
            attempt: attempt.and_then(|n| u32::try_from(n).ok()),
            offset,
            gap: word(GAP_HEADER).map(str::to_owned),
            response,
            client: self.clone(),
        })
    }

    pub async fn add_cluster(&self, name: &str) -> Answer<AddClusterReply> {
        let request = AddClusterRequest { name: name.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::CLUSTERS, ""), &request)?.once()).await
    }

    pub async fn clusters(&self) -> Answer<Page<Cluster>> {
        self.ask(&Call::get(route::CLUSTERS, "")).await
    }

    pub async fn cluster(&self, name: &str) -> Answer<Cluster> {
        self.ask(&Call::get(route::CLUSTER, name)).await
    }

    /// `identity` is the digest of the identity that was shown.
    pub async fn accept_cluster(&self, name: &str, identity: &str) -> Answer<Cluster> {
        let request = AcceptClusterRequest { identity: identity.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::CLUSTER_ACCEPT, name), &request)?).await
    }

    pub async fn clear_alarm(&self, name: &str) -> Answer<Cluster> {
        self.ask(&Call::change(Method::POST, route::CLUSTER_CLEAR_ALARM, name)).await
    }

    /// Sets labels, and removes those without a value.
    pub async fn label_cluster(
        &self,
        name: &str,
        labels: BTreeMap<String, Option<String>>,
    ) -> Answer<Cluster> {
        let request = LabelClusterRequest { labels };
        self.ask(&self.json(Call::change(Method::POST, route::CLUSTER_LABELS, name), &request)?).await
    }

    /// Says that nothing runs on a silent cluster any more.
    pub async fn declare_dead(&self, name: &str, reason: &str) -> Answer<Cluster> {
        let request = WordRequest { reason: reason.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::CLUSTER_DECLARE_DEAD, name), &request)?).await
    }

    /// Says that nothing of a job runs on its silent cluster any more.
    pub async fn vouch(&self, job: &str, reason: &str) -> Answer<Job> {
        let request = WordRequest { reason: reason.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::JOB_VOUCH, job), &request)?).await
    }

    /// Sets what happens to a queue's jobs when their cluster is lost.
    pub async fn set_queue_loss(&self, request: &QueueLossRequest) -> Answer<()> {
        let call = self.json(Call::change(Method::PUT, route::QUEUE_LOSS, ""), request)?;
        self.ask_text(&call).await.map(|_| ())
    }

    pub async fn revoke_cluster(&self, name: &str) -> Answer<Cluster> {
        self.ask(&Call::change(Method::POST, route::CLUSTER_REVOKE, name)).await
    }

    /// Lets a namespace of the cluster submit to the queue by kubectl.
    pub async fn allow_queue(&self, cluster: &str, namespace: &str, queue: &str) -> Answer<AllowedQueue> {
        let request = AllowQueueRequest { namespace: namespace.to_owned(), queue: queue.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::CLUSTER_QUEUES, cluster), &request)?).await
    }

    pub async fn disallow_queue(&self, cluster: &str, namespace: &str, queue: &str) -> Answer<()> {
        let call = Call::change(Method::DELETE, route::CLUSTER_QUEUES, cluster);
        let call = call.query("namespace", Some(namespace)).query("queue", Some(queue));
        self.ask_text(&call).await.map(|_| ())
    }

    pub async fn allowed_queues(&self, cluster: &str) -> Answer<Page<AllowedQueue>> {
        self.ask(&Call::get(route::CLUSTER_QUEUES, cluster)).await
    }

    pub async fn add_queue(&self, name: &str) -> Answer<Queue> {
        let request = AddQueueRequest { name: name.to_owned() };
        self.ask(&self.json(Call::change(Method::POST, route::QUEUES, ""), &request)?.once()).await
    }

    /// Sets the template of jobs that come by Ray's own client; an empty one is the default.
    pub async fn set_template(&self, name: &str, template: String) -> Answer<()> {
        let request = SetTemplateRequest { name: name.to_owned(), template };
        let call = self.json(Call::change(Method::PUT, route::QUEUES, ""), &request)?;
        self.ask_text(&call).await.map(|_| ())
    }

    pub async fn queues(&self) -> Answer<Page<Queue>> {
        self.ask(&Call::get(route::QUEUES, "")).await
    }

    /// Puts policy as YAML, or tells what that would change.
    pub async fn put_policy(&self, text: String, query: &PolicyQuery) -> Answer<PolicyReply> {
        let call = Call::change(Method::PUT, route::POLICY, "")
            .query("dry_run", query.dry_run.then_some(true))
            .query("prune", query.prune.then_some(true))
            .body("application/yaml", text);
        self.ask(&call).await
    }

    /// Tells what policy would do; nothing is changed, so it may be asked again.
    pub async fn what_if(&self, text: String, query: &WhatIfQuery) -> Answer<WhatIf> {
        let call = Call::change(Method::POST, route::POLICY_WHAT_IF, "")
            .query("prune", query.prune.then_some(true))
            .body("application/yaml", text);
        self.ask(&call).await
    }

    /// Everything that is declared, as YAML that can be put again.
    pub async fn policy(&self) -> Answer<String> {
        let body = self.ask_text(&Call::get(route::POLICY, "").header("accept", "application/yaml")).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    pub async fn incidents(&self, state: Option<&str>, page_token: Option<&str>) -> Answer<Page<Incident>> {
        self.ask(&Call::get(route::INCIDENTS, "").query("state", state).query("page_token", page_token)).await
    }

    pub async fn incident(&self, id: &str) -> Answer<Incident> {
        self.ask(&Call::get(route::INCIDENT, id)).await
    }

    pub async fn usage(&self, query: &UsageQuery) -> Answer<Usage> {
        let call = Call::get(route::USAGE, "")
            .query("from", query.from.as_ref())
            .query("to", query.to.as_ref())
            .query("by", query.by.as_ref());
        self.ask(&call).await
    }

    pub async fn put_prices(&self, sheet: String, dry_run: bool) -> Answer<PriceSheetReply> {
        let call = Call::change(Method::PUT, route::PRICE_SHEETS, "")
            .query("dry_run", dry_run.then_some(true))
            .body("application/yaml", sheet);
        self.ask(&call).await
    }

    /// The sheet in force, as the YAML that was applied.
    pub async fn prices(&self) -> Answer<String> {
        let body =
            self.ask_text(&Call::get(route::PRICE_SHEETS, "").header("accept", "application/yaml")).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The secret in the answer is shown once: a repeat would make a second token.
    pub async fn add_token(&self, request: &AddTokenRequest) -> Answer<AddTokenReply> {
        self.ask(&self.json(Call::change(Method::POST, route::TOKENS, ""), request)?.once()).await
    }

    pub async fn tokens(&self) -> Answer<Page<Token>> {
        self.ask(&Call::get(route::TOKENS, "")).await
    }

    pub async fn revoke_token(&self, id: &str) -> Answer<()> {
        self.ask_text(&Call::change(Method::DELETE, route::TOKEN, id)).await.map(|_| ())
    }

    pub async fn audit(&self) -> Answer<Page<AuditEntry>> {
        self.ask(&Call::get(route::AUDIT, "")).await
    }

    fn json(&self, call: Call, body: &impl Serialize) -> Answer<Call> {
        let text = serde_json::to_string(body)
            .map_err(|source| ClientError::Unreadable { server: self.address().to_owned(), source })?;
        Ok(call.body("application/json", text))
    }
}

/// The driver's output as it arrives.
#[derive(Debug)]
pub struct LogStream {
    /// The attempt whose bytes these are, where the server said so.
    pub attempt: Option<u32>,
    /// Offset of the first byte, where the server said so.
    pub offset: Option<u64>,
    /// What the server says of bytes that are missing before the first.
    pub gap: Option<String>,
    response: Response,
    client: Client,
}

impl LogStream {
    /// The next bytes; `None` at a proper end, an error when the connection broke.
    pub async fn next(&mut self) -> Answer<Option<Vec<u8>>> {
        let chunk = self.response.chunk().await.map_err(|error| self.client.transport(error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
