//! The control plane's ears: what a replica does with a beat, in one transaction.
//!
//! Owns no rule: who is heard is judged by `fencing::judge`, what is new by `watermark::place`, what a report means by
//! `attempt::advance`.

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Event as Told, Found, Step, advance, object_name, take_back},
    fact::{AttemptFact, AttemptStep, Fact, RayJobFact},
    fencing::{Claim, Verdict, counted, judge, slack},
    id::{AttemptId, Epoch},
    lease::{Failover, Grant, Proof, ProofKind, Renewal, is_news},
    silence::Judge,
    time::Timestamp,
    watermark::{Arrival, place},
};

use crate::fencing::{
    ablation::Rule,
    ids,
    message::{Answer, Beat, Phase, Record, Report, Want},
    postgres::{AttemptRow, JobRow},
    show,
    world::World,
};

impl World {
    /// A beat reaches a replica.
    pub fn hear(&mut self, replica: usize, beat: &Beat) {
        if self.postgres.down {
            return;
        }
        let cluster = ids::index_of(beat.cluster);
        let row = &self.postgres.now.clusters[cluster];
        let claim = Claim {
            epoch: beat.epoch,
            pod_uid: &beat.pod,
            renewals: Some(beat.acknowledged),
            slack: slack(&self.scenario.terms),
            // Nobody is told that it may follow: here the operator decides.
            silence: Judge { now: Timestamp(0), after_ms: 0 },
        };
        let verdict = match judge(&row.in_charge, claim) {
            _ if self.without(Rule::R11) => Verdict::TakesOver,
            verdict => verdict,
        };
        let refused = match verdict {
            Verdict::TakesOver => {
                let in_charge = &mut self.postgres.now.clusters[cluster].in_charge;
                (in_charge.epoch, in_charge.pod_uid) = (beat.epoch, beat.pod.clone());
                false
            }
            Verdict::Same => false,
            Verdict::Superseded => true,
            Verdict::Duplicate { alarm, .. } | Verdict::Copy { alarm } => {
                self.say(|| format!("replica {replica}: refuses {}: {alarm}", beat.pod));
                self.ask_operator(beat.agent);
                true
            }
        };
        if !refused {
            self.renew(replica, cluster, beat);
            self.take_records(cluster, &beat.records);
            self.take_acceptances(replica, cluster, beat);
        }
        self.postgres.committed(self.now);
        let answer = self.answer(replica, cluster, beat, refused);
        self.send_down(beat.agent, &answer);
    }

    fn renew(&mut self, replica: usize, cluster: usize, beat: &Beat) {
        let wall = ids::wall(self.now, self.replicas[replica].wall).millis();
        let (ttl, now) = (self.scenario.terms.ttl, self.now);
        let row = &mut self.postgres.now.clusters[cluster];
        if is_news(&row.renewal, beat.epoch, beat.number) {
            row.renewal = Renewal { epoch: beat.epoch, number: beat.number, ttl };
            row.in_charge.renewals = counted(row.in_charge.renewals, beat.acknowledged);
            (row.renewed_wall, row.renewed) = (wall, now);
        }
        row.applied = row.applied.max(beat.applied);
    }

    fn take_records(&mut self, cluster: usize, records: &[Record]) {
        for record in records {
            let key = (cluster, record.epoch);
            let watermark = self.postgres.now.watermarks.get(&key).copied().unwrap_or(0);
            let arrival = place(watermark, record.seq, 1);
            if arrival == Arrival::Gap && !self.without(Rule::R13) {
                continue;
            }
            let new = matches!(arrival, Arrival::New { .. });
            if !new && !self.without(Rule::R13) {
                continue;
            }
            if !new {
                self.history.broke(self.now, "a record took effect twice or out of its order");
            }
            self.postgres.now.watermarks.insert(key, watermark.max(record.seq));
            self.take(cluster, record.epoch, &record.report);
        }
    }

    /// One report takes effect.
    fn take(&mut self, cluster: usize, epoch: Epoch, report: &Report) {
        self.say(|| format!("control plane: cluster {cluster} reports {report:?}"));
        match report {
            Report::Created { attempt, uid } => {
                self.know_uid(cluster, *attempt, *uid);
                self.step(cluster, *attempt, AttemptStep::Created, "");
            }
            Report::Running { attempt } => self.ray_job(cluster, *attempt, "Running", "RUNNING"),
            Report::Finished { attempt } => self.ray_job(cluster, *attempt, "Complete", "SUCCEEDED"),
            Report::Removed { attempt } => self.removed(cluster, *attempt),
            Report::Fenced { attempt, why } => self.step(cluster, *attempt, AttemptStep::Fenced, why),
            Report::Refused { attempt, why } => self.step(cluster, *attempt, AttemptStep::Refused, why),
            Report::Inventory { held, fenced } => self.inventory(cluster, epoch, held, fenced),
        }
    }

    fn know_uid(&mut self, cluster: usize, attempt: AttemptId, uid: u64) {
        let rows = &mut self.postgres.now.jobs[ids::job_index(attempt.job)].attempts;
        let row = rows.iter_mut().find(|row| row.number == attempt.number && row.cluster == cluster);
        if let Some(row) = row {
            row.uid = Some(uid);
        }
    }

    /// A person deleted it: the job ends, or starts anew if its owner wants that (R14).
    fn removed(&mut self, cluster: usize, attempt: AttemptId) {
        let row = &self.postgres.now.jobs[ids::job_index(attempt.job)];
        let stopping = row.job.attempt.as_ref().is_some_and(|attempt| !attempt.desired);
        let newest = row.newest().is_some_and(|newest| {
            newest.live && newest.number == attempt.number && newest.cluster == cluster
        });
        if row.retries_removed && newest && !stopping {
            let why = "no longer has its RayJob, which a person deleted; its owner wants it to start anew";
            if let Ok(proof) = Proof::reported_gone(attempt, None, "", why) {
                self.advance(attempt, cluster, Told::NothingRuns { proof: &proof });
            }
        } else {
            self.step(cluster, attempt, AttemptStep::Removed, "");
        }
    }

    fn step(&mut self, cluster: usize, attempt: AttemptId, step: AttemptStep, message: &str) {
        let message = message.to_owned();
        self.fact(cluster, attempt, |attempt| Fact::Attempt(AttemptFact { attempt, step, message }));
    }

    fn ray_job(&mut self, cluster: usize, attempt: AttemptId, deployment: &str, status: &str) {
        let job = &self.postgres.now.jobs[ids::job_index(attempt.job)].job;
        let (job_name, namespace) = (job.name.clone(), job.namespace.clone());
        let (deployment_status, job_status) = (deployment.to_owned(), status.to_owned());
        self.fact(cluster, attempt, |attempt| {
            let name = object_name(&job_name, attempt.job, attempt.number);
            let attempt = Some(attempt);
            Fact::RayJob(RayJobFact {
                namespace,
                name,
                attempt,
                deployment_status,
                job_status,
                ..RayJobFact::default()
            })
        });
    }

    fn fact(&mut self, cluster: usize, attempt: AttemptId, fact: impl FnOnce(AttemptId) -> Fact) {
        let newest = self.postgres.now.jobs[ids::job_index(attempt.job)].newest().copied();
        let (attempt, cluster) = match newest {
            Some(newest) if self.without(Rule::R2) => {
                (AttemptId { number: newest.number, ..attempt }, newest.cluster)
            }
            _ => (attempt, cluster),
        };
        let fact = fact(attempt);
        self.advance(attempt, cluster, Told::Fact { from: ids::cluster(cluster), fact: &fact, pods: &[] });
    }

    /// Everything that the cluster holds, against everything that the database wants there (R4).
    fn inventory(
        &mut self,
        cluster: usize,
        epoch: Epoch,
        held: &[(AttemptId, u64, Phase)],
        fenced: &[AttemptId],
    ) {
        for (attempt, uid, phase) in held {
            self.found(cluster, epoch, *attempt, *uid);
            match phase {
                Phase::Starting => {}
                Phase::Running => self.ray_job(cluster, *attempt, "Running", "RUNNING"),
                Phase::Finished => self.ray_job(cluster, *attempt, "Complete", "SUCCEEDED"),
            }
        }
        let mut missing = Vec::new();
        for row in &self.postgres.now.jobs {
            let Some(newest) = row.newest().filter(|newest| newest.live && newest.cluster == cluster) else {
                continue;
            };
            let attempt = row.id(newest.number);
            if newest.uid.is_some() && held.iter().all(|(other, ..)| *other != attempt) {
                missing.push(attempt);
            }
        }
        for attempt in missing {
            if fenced.contains(&attempt) {
                self.step(cluster, attempt, AttemptStep::Fenced, "the fencer stopped it");
            } else {
                self.removed(cluster, attempt);
            }
        }
        self.postgres.now.clusters[cluster].inventory = (epoch, self.postgres.timeline);
    }

    fn found(&mut self, cluster: usize, epoch: Epoch, attempt: AttemptId, uid: u64) {
        let (index, name) = (ids::job_index(attempt.job), format!("cluster {cluster}"));
        let row = &self.postgres.now.jobs[index];
        let last = row.newest().map_or(cluster, |newest| newest.cluster);
        let named = row.newest().is_some_and(|newest| newest.named == self.postgres.timeline);
        let found = Found { cluster: ids::cluster(cluster), cluster_name: &name, attempt, exists: true };
        let taken = take_back(&row.job, &found, named, ids::wall(self.now, 0));
        if let Some(closed) = taken.closed {
            self.write(index, &closed, last, Some(ProofKind::Superseded));
        }
        if let Some(adopted) = taken.adopted {
            self.write(index, &adopted, cluster, None);
        }
        let timeline = self.postgres.timeline;
        let row = &mut self.postgres.now.jobs[ids::job_index(attempt.job)];
        let wanted = row
            .attempts
            .iter_mut()
            .find(|row| row.number == attempt.number && row.cluster == cluster && row.live);
        if let Some(wanted) = wanted {
            (wanted.uid, wanted.named) = (Some(uid), timeline);
            wanted.accepted_by = wanted.accepted_by.or(Some(epoch));
            self.step(cluster, attempt, AttemptStep::Created, "");
        }
    }

    /// The agent is ready to start them: from now on they may run.
    fn take_acceptances(&mut self, replica: usize, cluster: usize, beat: &Beat) {
        let told = self.postgres.now.clusters[cluster].inventory == (beat.epoch, self.postgres.timeline);
        let failover = self.failover(replica);
        for attempt in &beat.accepts {
            let row = &self.postgres.now.jobs[ids::job_index(attempt.job)];
            if self.is_unsure(failover.as_ref(), row) && self.without != Some(Rule::R4) {
                continue;
            }
            let row = &mut self.postgres.now.jobs[ids::job_index(attempt.job)];
            let newest = row.newest().is_some_and(|newest| newest.number == attempt.number);
            let open = row.attempts.iter_mut().find(|row| {
                row.number == attempt.number && row.cluster == cluster && row.live && row.desired
            });
            let Some(open) = open.filter(|open| newest && open.uid.is_none()) else { continue };
            // A life before may have started it: this one has to tell first what exists.
            if open.accepted_by.is_none() || told || self.without == Some(Rule::R4) {
                open.accepted_by = Some(beat.epoch);
            }
        }
    }

    /// Whether the job's next attempt may run on a cluster that has yet to tell what it holds.
    fn is_unsure(&self, failover: Option<&Failover>, row: &JobRow) -> bool {
        let before = failover.filter(|_| row.timeline < self.postgres.timeline);
        before.is_some_and(|failover| failover.may_start(row.policy, &self.scenario.terms).is_err())
    }

    /// The whole desired set of a cluster, with everything that the agent asked.
    fn answer(&self, replica: usize, cluster: usize, beat: &Beat, refused: bool) -> Answer {
        let asked: BTreeMap<Epoch, ()> = beat.records.iter().map(|record| (record.epoch, ())).collect();
        let epochs = asked.into_keys().chain([beat.epoch]);
        let watermarks = epochs
            .map(|epoch| (epoch, self.postgres.now.watermarks.get(&(cluster, epoch)).copied().unwrap_or(0)))
            .collect();
        Answer { watermarks, refused, ..self.desired(replica, cluster, beat.epoch, beat.number) }
    }

    /// The same without a question: what a replica sends when the desired set changed.
    pub fn desired(&self, replica: usize, cluster: usize, epoch: Epoch, number: u64) -> Answer {
        let row = &self.postgres.now.clusters[cluster];
        let watermark = self.postgres.now.watermarks.get(&(cluster, epoch)).copied().unwrap_or(0);
        Answer {
            epoch,
            number,
            ttl: self.scenario.terms.ttl,
            total: row.in_charge.renewals,
            generation: row.generation,
            wants: self.wants(replica, cluster, number),
            watermarks: vec![(epoch, watermark)],
            timeline: self.postgres.timeline,
            wants_inventory: row.inventory != (epoch, self.postgres.timeline),
            refused: false,
        }
    }

    fn wants(&self, replica: usize, cluster: usize, answers: u64) -> Vec<Want> {
        let mut wants = Vec::new();
        let (failover, timeline) = (self.failover(replica), self.postgres.timeline);
        let told = self.postgres.now.clusters[cluster].inventory.1 == timeline;
        for (index, row) in self.postgres.now.jobs.iter().enumerate() {
            for attempt in row.attempts.iter().filter(|attempt| attempt.desired && attempt.cluster == cluster)
            {
                let unsure = attempt.live && self.is_unsure(failover.as_ref(), row);
                if unsure && told && attempt.uid.is_some() && attempt.named != timeline {
                    continue;
                }
                let id = row.id(attempt.number);
                wants.push(Want {
                    grant: Grant {
                        attempt: id,
                        answers,
                        accepted_by: attempt.accepted_by.filter(|_| !unsure || attempt.uid.is_some()),
                        created: attempt.uid.is_some(),
                    },
                    job: index,
                    name: object_name(&row.job.name, row.job.id, attempt.number),
                    uid: attempt.uid,
                });
            }
        }
        wants
    }

    /// A job takes a step, in the transaction that runs. True if it changed.
    pub fn advance(&mut self, attempt: AttemptId, cluster: usize, told: Told<'_>) -> bool {
        let index = ids::job_index(attempt.job);
        let kind = if let Told::NothingRuns { proof } = told { Some(proof.kind()) } else { None };
        match advance(&self.postgres.now.jobs[index].job, told, ids::wall(self.now, 0)) {
            Ok(step) => self.write(index, &step, cluster, kind),
            Err(refused) => {
                self.say(|| format!("control plane: {} unchanged: {refused}", show(attempt)));
                false
            }
        }
    }

    /// A decided step of a job reaches the database; `kind` is that of the proof which closed its attempt.
    fn write(&mut self, index: usize, step: &Step, cluster: usize, kind: Option<ProofKind>) -> bool {
        let before = self.postgres.now.jobs[index].newest().copied();
        let indexed = !self.without(Rule::R1);
        if let Err(aborted) = self.postgres.save(index, step, cluster, indexed, self.now) {
            self.say(|| format!("postgres: {aborted:?}"));
            return false;
        }
        self.say(|| format!("job {index}: {}", step.job.sentence));
        self.check_step(index, before, kind);
        true
    }

    /// What must hold after every step of a job (R1, R12).
    fn check_step(&mut self, job: usize, before: Option<AttemptRow>, kind: Option<ProofKind>) {
        let row = &self.postgres.now.jobs[job];
        if row.attempts.iter().filter(|attempt| attempt.live).count() > 1 {
            self.history.broke(self.now, "a job has two live attempts");
        }
        let closed = before.filter(|before| before.live).filter(|before| {
            self.postgres.now.jobs[job].attempts.iter().any(|row| row.number == before.number && !row.live)
        });
        let Some(closed) = closed else { return };
        let id = self.postgres.now.jobs[job].id(closed.number);
        let running = self.history.runs(id).map(|run| (run.cluster, run.policy));
        if let Some((kube, policy)) = running.filter(|_| kind != Some(ProofKind::OverlapAllowed)) {
            let what = format!("attempt {} ({policy}) is closed while its containers run", closed.number);
            if !self.scenario.watchdog && self.was_hindered(kube, self.now) {
                self.history.uncovered.push(format!("at {} ms: {what}", self.now));
            } else if policy != squadron_core::lease::Policy::Rerun {
                self.history.broke(self.now, &what);
            }
        }
    }
}
