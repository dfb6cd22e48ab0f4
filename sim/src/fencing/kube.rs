//! A fake of one Kubernetes cluster: an API server with objects, and a kubelet that starts and stops containers.
//!
//! The kubelet's start and stop times are the history that is judged. Invariant: a container that was asked to stop is
//! gone within the grace and one poll, if the API server answers and its node is reachable; else it runs on.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    id::{AttemptId, ClusterId},
    lease::{Fencer, LeaseObject, Marks, Policy, Terms, Watchdog},
};

use crate::fencing::{
    history::{ReRun, Run},
    ids::Clock,
    message::Phase,
    scenario::Ms,
    show,
    world::{Event, World},
};

/// A RayJob with its pods, which live and die together here.
#[derive(Clone, Debug)]
pub struct Object {
    pub marks: Marks,
    pub uid: u64,
    pub policy: Policy,
    pub job: usize,
    pub deleting: bool,
}

/// What a pod is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodState {
    Pending,
    Running,
    Gone(Ended),
}

/// Why a pod is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Finished,
    Killed,
    /// Its watchdog ended it.
    Watchdog,
}

/// The pods of one object.
#[derive(Clone, Debug)]
pub struct Pod {
    pub attempt: AttemptId,
    pub state: PodState,
    pub stopping: bool,
    /// Why it will be gone, once it is asked to stop.
    pub why: Ended,
    /// When its watchdog last reached the agent, and how long the agent's own trouble was by then.
    pub contact: (Ms, Ms),
    pub dog: Option<Watchdog>,
}

/// A cluster.
#[derive(Debug)]
pub struct Kube {
    /// The agent that lives here.
    pub agent: usize,
    pub api_down: u32,
    pub node_cut: u32,
    pub destroyed: bool,
    /// The last time at which the API server was down, a node cut off, or the fencer dead.
    pub hindered: Ms,
    pub objects: BTreeMap<String, Object>,
    pub pods: BTreeMap<u64, Pod>,
    /// The agent's Lease object, and the renewals that it counts.
    pub lease: Option<LeaseObject>,
    pub acknowledged: u64,
    pub epoch: u64,
    /// The fencer's newest mark, and what it stopped.
    pub mark: u64,
    pub fenced: BTreeSet<AttemptId>,
    pub human_deleted: BTreeSet<AttemptId>,
    pub fencer: Fencer,
    pub fencer_up: bool,
    /// Clock of the fencer's node, and of the nodes with pods.
    pub clock: Clock,
}

impl Kube {
    pub fn new(agent: usize, clock: Clock, terms: &Terms) -> Kube {
        Kube {
            agent,
            api_down: 0,
            node_cut: 0,
            destroyed: false,
            hindered: 0,
            objects: BTreeMap::new(),
            pods: BTreeMap::new(),
            lease: None,
            acknowledged: 0,
            epoch: 0,
            mark: 0,
            fenced: BTreeSet::new(),
            human_deleted: BTreeSet::new(),
            fencer: Fencer::new(terms, clock.read(0)),
            fencer_up: true,
            clock,
        }
    }

    /// Whether the API server answers.
    pub fn answers(&self) -> bool {
        self.api_down == 0 && !self.destroyed
    }

    /// What the pods of an object are doing, as the API server shows it.
    pub fn phase(&self, uid: u64) -> Phase {
        match self.pods.get(&uid).map(|pod| pod.state) {
            Some(PodState::Gone(Ended::Finished)) if self.node_cut == 0 => Phase::Finished,
            Some(PodState::Running) => Phase::Running,
            _ => Phase::Starting,
        }
    }

    /// Our live objects, as the API server lists them.
    pub fn held(&self) -> Vec<(AttemptId, Policy)> {
        let ours = self.objects.values().filter(|object| !object.deleting);
        ours.filter_map(|object| Some((object.marks.attempt?, object.policy))).collect()
    }
}

impl World {
    /// Creates an object and its pods. The caller has seen that the name is free.
    pub fn create(&mut self, kube: usize, name: &str, attempt: AttemptId, job: usize, id: ClusterId) -> u64 {
        self.uids += 1;
        let uid = self.uids;
        let policy = self.scenario.jobs[job].policy;
        let marks = Marks { attempt: Some(attempt), cluster: Some(id), uid: uid.to_string() };
        if self.kubes[kube].human_deleted.contains(&attempt) {
            let what = format!("attempt {} was deleted by a person and is made again", attempt.number);
            self.history.broke(self.now, &what);
        }
        self.kubes[kube].objects.insert(name.to_owned(), Object { marks, uid, policy, job, deleting: false });
        let dog = (self.scenario.watchdog && policy.stops_itself()).then(Watchdog::default);
        let pod = Pod {
            attempt,
            state: PodState::Pending,
            stopping: false,
            why: Ended::Killed,
            contact: (self.now, 0),
            dog,
        };
        self.kubes[kube].pods.insert(uid, pod);
        let soon = self.between(500, 4_000);
        self.after(soon, Event::PodStart { kube, uid });
        uid
    }

    /// Asks the API server to delete an object with its pods; false if it does not answer.
    pub fn delete(&mut self, kube: usize, uid: u64) -> bool {
        if !self.kubes[kube].answers() {
            return false;
        }
        let Some(object) = self.kubes[kube].objects.values_mut().find(|object| object.uid == uid) else {
            return true;
        };
        if !std::mem::replace(&mut object.deleting, true) {
            self.kubelet_stops(kube, uid);
        }
        true
    }

    /// The kubelet hears that a pod must go, unless its node is cut off.
    pub fn kubelet_stops(&mut self, kube: usize, uid: u64) {
        let cut = self.kubes[kube].node_cut > 0;
        let Some(pod) = self.kubes[kube].pods.get_mut(&uid) else { return };
        match pod.state {
            PodState::Pending => pod.state = PodState::Gone(Ended::Killed),
            PodState::Running if !cut && !pod.stopping => {
                pod.stopping = true;
                let grace = self.scenario.terms.grace;
                let delay = self.between(50, 1_000) + self.between(0, grace + 1);
                self.after(delay, Event::PodStop { kube, uid });
            }
            _ => {}
        }
        self.sweep(kube, uid);
    }

    /// The kubelet starts a pod's containers, as soon as it can see the pod and its watchdog agrees.
    pub fn pod_start(&mut self, kube: usize, uid: u64) {
        let reachable = self.kubes[kube].answers() && self.kubes[kube].node_cut == 0;
        if self.kubes[kube].destroyed
            || self.kubes[kube].pods.get(&uid).is_none_or(|pod| pod.state != PodState::Pending)
        {
            return;
        }
        if !reachable || !self.dog_agrees(kube, uid) {
            self.after(2_000, Event::PodStart { kube, uid });
            return;
        }
        let Some(object) = self.kubes[kube].objects.values().find(|object| object.uid == uid) else { return };
        let (job, policy) = (object.job, object.policy);
        let Some(pod) = self.kubes[kube].pods.get_mut(&uid) else { return };
        pod.state = PodState::Running;
        let (attempt, watched) = (pod.attempt, pod.dog.is_some());
        self.say(|| format!("kubelet {kube}: containers of job {job} attempt {} start", attempt.number));
        self.begin_run(Run { job, attempt, policy, cluster: kube, from: self.now, to: None });
        let works = self.scenario.jobs[job].works;
        self.after(works, Event::PodDone { kube, uid });
        if watched {
            self.after(5_000, Event::Watchdog { kube, uid });
        }
    }

    fn begin_run(&mut self, run: Run) {
        let row = &self.postgres.now.jobs[run.job];
        let open =
            row.attempts.iter().find(|row| row.number == run.attempt.number).is_some_and(|row| row.live);
        if !open && self.postgres.timeline == 1 && run.policy != Policy::Rerun {
            let what = format!("attempt {} starts after it was closed ({})", run.attempt.number, run.policy);
            // A pod that waited for its API server starts before anybody could delete it; a watchdog would hold it.
            if !self.scenario.watchdog && self.was_hindered(run.cluster, self.now) {
                self.history.uncovered.push(format!("at {} ms: {what}", self.now));
            } else {
                self.history.broke(self.now, &what);
            }
        }
        if let Some(lost) = self.lost[run.job].take() {
            let took = self.now - lost;
            self.history.reruns.push(ReRun { policy: run.policy, ttl: self.scenario.terms.ttl, took });
        }
        let hindered: Vec<bool> =
            (0..self.kubes.len()).map(|kube| self.was_hindered(kube, self.now)).collect();
        let watchdog = self.scenario.watchdog;
        self.history.started(run, |other| !watchdog && hindered[other.cluster]);
    }

    /// Whether nothing outside a pod could stop it at some time within the last lease.
    pub fn was_hindered(&self, kube: usize, at: Ms) -> bool {
        let kube = &self.kubes[kube];
        let now = kube.api_down > 0 || kube.node_cut > 0 || !kube.fencer_up;
        now || (kube.hindered > 0 && at.saturating_sub(kube.hindered) <= 2 * self.scenario.terms.expiry())
    }

    /// The containers end by themselves.
    pub fn pod_done(&mut self, kube: usize, uid: u64) {
        self.pod_ends(kube, uid, Ended::Finished);
    }

    /// The containers end because they were asked to.
    pub fn pod_stop(&mut self, kube: usize, uid: u64) {
        let why = self.kubes[kube].pods.get(&uid).map_or(Ended::Killed, |pod| pod.why);
        self.pod_ends(kube, uid, why);
    }

    fn pod_ends(&mut self, kube: usize, uid: u64, why: Ended) {
        let now = self.now;
        let Some(pod) = self.kubes[kube].pods.get_mut(&uid) else { return };
        if pod.state != PodState::Running {
            return;
        }
        pod.state = PodState::Gone(why);
        let attempt = pod.attempt;
        self.history.ended(attempt, kube, now);
        self.say(|| format!("kubelet {kube}: containers of {} end ({why:?})", show(attempt)));
        self.sweep(kube, uid);
        self.wake_agent(self.kubes[kube].agent, 200);
    }

    /// An object that is being deleted goes when its pods are gone.
    fn sweep(&mut self, kube: usize, uid: u64) {
        let kube = &mut self.kubes[kube];
        let gone = kube.pods.get(&uid).is_none_or(|pod| matches!(pod.state, PodState::Gone(_)));
        if gone {
            kube.objects.retain(|_, object| object.uid != uid || !object.deleting);
        }
    }
}
