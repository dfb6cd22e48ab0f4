//! Pass: load a view, let `squadron-ray` decide, run the plan.
//!
//! Owns the order: steps, then status, then what must wait for the status. Invariant: a pass that ends anywhere is
//! harmless, because the next one starts from what the API server has. Failures are told by Events and tried again.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use squadron_ray::{
    Failures, Options, cluster, job,
    plan::{Action, Plan, Step},
    view::Object,
};

use super::{
    api::{WriteError, Writer},
    dashboard::{Dashboards, unwelcome},
    events::Events,
    package,
    poll::Polls,
    view::{Lens, Writes, judged},
};
use crate::{
    clock::now,
    uplink::Peer,
    watch::{Cache, Target, TargetKind, object},
};

/// After a conflict: long enough for the watch to bring the newer object.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);
/// Ray's words when a submission id was used before, by us.
const ALREADY_SUBMITTED: &str = "Please use a different submission_id";

/// All that passes need.
pub struct Shop {
    pub cache: Arc<Cache>,
    pub writes: Writes,
    pub writer: Writer,
    pub dashboards: Dashboards,
    pub peer: Arc<Peer>,
    pub polls: Polls,
    pub events: Events,
    pub log_open: super::LogOpen,
    pub options: Options,
}

impl Shop {
    /// Judges one object; answers when to judge it again.
    pub async fn pass(&self, target: &Target, failures: &mut Failures) -> Option<Duration> {
        let Some(judged) = judged(&self.cache, target) else {
            self.polls.forget(target);
            *failures = Failures::default();
            return None;
        };
        let plan = match self.decide(target, judged.clone(), failures.clone()).await {
            Ok(plan) => plan,
            Err(error) => {
                tracing::warn!(%target, error = error.sentence(), "a view could not be completed");
                return Some(Duration::from_secs(2));
            }
        };
        failures.settle(&plan);
        for event in &plan.events {
            self.events.emit(&judged, event.clone());
        }
        self.polls.set(target, plan.poll.clone());
        self.run(&judged, plan, failures).await
    }

    async fn decide(&self, target: &Target, judged: Object, failures: Failures) -> Result<Plan, WriteError> {
        let lens =
            Lens { cache: &self.cache, writes: &self.writes, writer: &self.writer, log_open: &self.log_open };
        Ok(match target.kind {
            TargetKind::Cluster => {
                cluster::plan(&lens.cluster(judged, failures).await?, &self.options, now())
            }
            TargetKind::Job => {
                let answer = self.polls.answer(target);
                job::plan(&lens.job(judged, failures, answer), &self.options, now())
            }
        })
    }

    async fn run(&self, judged: &Object, plan: Plan, failures: &mut Failures) -> Option<Duration> {
        let again = Some(Duration::ZERO);
        let before = self.run_steps(judged, &plan.steps, failures).await;
        if before == Outcome::Stopped {
            return again;
        }
        if let Some(status) = plan.status
            && let Err(pause) = self.write_status(judged, status, failures).await
        {
            return Some(pause);
        }
        let after = self.run_steps(judged, &plan.then, failures).await;
        if before == Outcome::Done && after == Outcome::Done { plan.wake_after } else { again }
    }

    async fn run_steps(&self, judged: &Object, steps: &[Step], failures: &mut Failures) -> Outcome {
        let mut outcome = Outcome::Done;
        for step in steps {
            let event = match self.act(&step.action).await {
                Ok(()) => failures.succeeded(step),
                Err(problem) => {
                    tracing::warn!(step = step.key, problem, "a step failed; it is tried again later");
                    outcome = Outcome::SomeFailed;
                    failures.failed(step, &problem, now())
                }
            };
            if let Some(event) = event {
                self.events.emit(judged, event);
            }
            if outcome != Outcome::Done && step.gate {
                return Outcome::Stopped;
            }
        }
        outcome
    }

    async fn act(&self, action: &Action) -> Result<(), String> {
        match action {
            Action::Create { object } => {
                let made = self.writer.create(object).await.map_err(|error| error.sentence())?;
                self.writes.created(&made);
            }
            Action::Delete { target } => {
                self.writer.delete(target).await.map_err(|error| error.sentence())?;
                self.writes.deleted(target);
            }
            Action::Patch { target, patch } => {
                self.writer.patch(target, patch).await.map_err(|error| error.sentence())?;
            }
            Action::DeliverPackage { dashboard, attempt, package } => {
                package::deliver(&self.peer, &self.dashboards, dashboard, *attempt, package).await?;
            }
            Action::SubmitRayJob { dashboard, body } => self.submit(dashboard, body).await?,
            Action::StopRayJob { dashboard, submission_id } => {
                if let Err(error) = self.dashboards.stop(dashboard, submission_id).await {
                    tracing::info!(%error, "Ray could not be asked to stop a job; its pods are stopped anyway");
                }
            }
        }
        Ok(())
    }

    async fn submit(&self, dashboard: &str, body: &Value) -> Result<(), String> {
        let (code, answer) =
            self.dashboards.submit(dashboard, body).await.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&answer);
        if (200..300).contains(&code) || text.contains(ALREADY_SUBMITTED) {
            return Ok(());
        }
        Err(unwelcome("the job", code, &answer))
    }

    /// Fails with the time after which the object must be judged anew: soon when it changed meanwhile, and later each
    /// time when the API server refuses the status.
    async fn write_status(
        &self,
        judged: &Object,
        status: Value,
        failures: &mut Failures,
    ) -> Result<(), Duration> {
        if let Some(pause) = failures.status_pause(now()) {
            return Err(pause);
        }
        let mut object = Value::clone(judged);
        object["status"] = status;
        let Err(error) = self.writer.replace_status(&object).await else {
            failures.status_written();
            return Ok(());
        };
        if matches!(error.code(), 404 | 409) {
            return Err(AFTER_CONFLICT);
        }
        let object = format!("{}/{}", object::namespace(judged), object::name(judged));
        tracing::warn!(
            object,
            error = error.sentence(),
            "a status could not be written; it is tried again later"
        );
        failures.status_refused(&error.sentence(), now());
        Err(failures.status_pause(now()).unwrap_or(AFTER_CONFLICT))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    SomeFailed,
    /// A gate failed: the rest of the plan makes no sense.
    Stopped,
}
