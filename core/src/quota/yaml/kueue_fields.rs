//! Fields of Kueue that are known here and ask for something that Squadron does not do.

use super::fields::Refused;

const fn refused(field: &'static str, same: &'static [&'static str], reason: &'static str) -> Refused {
    Refused { field, same, reason }
}

const STOP: &str = "queues cannot be stopped; cancel the jobs, or set the quota to 0";
const CHECKS: &str = "jobs are admitted in one decision, without further checks";
const BORROWING: &str = "nothing is stopped so that another queue can borrow; write Never";
const TAINTS: &str = "taints are read from the nodes themselves; leave it out";

pub(super) const RESOURCE_FLAVOR: &[Refused] = &[
    refused("nodeTaints", &[], TAINTS),
    refused("topologyName", &[], "placement within a cluster is left to its scheduler"),
    refused("resourceWeights", &[], "the share counts every resource alike"),
];

pub(super) const CLUSTER_QUEUE: &[Refused] = &[
    refused(
        "queueingStrategy",
        &["BestEffortFIFO"],
        "a job that does not fit lets later ones pass; write BestEffortFIFO",
    ),
    refused("namespaceSelector", &[], "who may submit is decided by roles, not by namespaces; write {}"),
    refused("admissionChecks", &[], CHECKS),
    refused("admissionChecksStrategy", &[], CHECKS),
    refused("stopPolicy", &["None"], STOP),
    refused("admissionScope", &[], "usage over time counts for all queues alike"),
    refused("concurrentAdmissionPolicy", &[], "a job is placed once, and does not move between flavors"),
];

pub(super) const FUNGIBILITY: &[Refused] = &[
    refused(
        "whenCanBorrow",
        &["Borrow", "MayStopSearch"],
        "flavors have no order; the best place wins, borrowed or not",
    ),
    refused("whenCanPreempt", &["TryNextFlavor"], "all flavors are looked at before anything is preempted"),
    refused("preference", &[], "flavors have no order; the best place wins"),
];

pub(super) const BORROWING_PREEMPTION: &[Refused] =
    &[refused("policy", &["Never"], BORROWING), refused("maxPriorityThreshold", &[], BORROWING)];

pub(super) const LOCAL_QUEUE: &[Refused] = &[
    refused("stopPolicy", &["None"], STOP),
    refused("wallTimePolicy", &[], "hours of use are not limited; limit amounts, or the time of each job"),
];
