//! Names: object names, label and annotation keys, ports, and how long names are cut, exactly as in ray.io/v1.
//!
//! Tools and tests match on these strings, so none of them may change.

/// Group and version of all kinds.
pub const API_VERSION: &str = "ray.io/v1";

pub(crate) const IS_RAY_NODE: &str = "ray.io/is-ray-node";
/// Label: name of the RayCluster; on pods, Services and everything else it owns.
pub const CLUSTER: &str = "ray.io/cluster";
/// Label: `head` or `worker`.
pub const NODE_TYPE: &str = "ray.io/node-type";
/// Label: `headgroup` or the worker group's name.
pub const GROUP: &str = "ray.io/group";
pub(crate) const IDENTIFIER: &str = "ray.io/identifier";
pub(crate) const SERVE: &str = "ray.io/serve";
/// Label: name of the RayJob or RayService that a child comes from.
pub const FROM_NAME: &str = "ray.io/originated-from-cr-name";
/// Label: kind of that owner.
pub const FROM_KIND: &str = "ray.io/originated-from-crd";
pub(crate) const SUBMISSION_MODE: &str = "ray.io/job-submission-mode";
pub(crate) const APP_NAME: &str = "app.kubernetes.io/name";
pub(crate) const CREATED_BY: &str = "app.kubernetes.io/created-by";
pub(crate) const APP: &str = "kuberay";
pub(crate) const OPERATOR: &str = "kuberay-operator";

pub(crate) const FT_ENABLED: &str = "ray.io/ft-enabled";
pub(crate) const STORAGE_NAMESPACE: &str = "ray.io/external-storage-namespace";
pub(crate) const OVERWRITE_COMMAND: &str = "ray.io/overwrite-container-cmd";
pub(crate) const NO_HEAD_RESTART: &str = "ray.io/disable-provisioned-head-restart";
pub(crate) const ENABLE_SERVE_SERVICE: &str = "ray.io/enable-serve-service";

/// Finalizer of a RayJob.
pub const JOB_FINALIZER: &str = "ray.io/rayjob-finalizer";
/// The only value of `spec.managedBy` that is ours.
pub const MANAGED_BY_US: &str = "ray.io/kuberay-operator";

pub(crate) const HEAD: &str = "head";
pub(crate) const WORKER: &str = "worker";
pub(crate) const HEAD_GROUP: &str = "headgroup";
pub(crate) const SUBMITTER: &str = "ray-job-submitter";

pub(crate) const PORT_CLIENT: i64 = 10_001;
pub(crate) const PORT_GCS: i64 = 6_379;
pub(crate) const PORT_DASHBOARD: i64 = 8_265;
pub(crate) const PORT_METRICS: i64 = 8_080;
pub(crate) const PORT_SERVE: i64 = 8_000;
pub(crate) const PORT_AGENT: i64 = 52_365;

pub(crate) const LONGEST_CLUSTER_NAME: usize = 53;
/// A RayJob's name leaves room for `-` and five characters of its RayCluster.
pub const LONGEST_JOB_NAME: usize = 47;

/// KubeRay's alphabet of generated names: no vowels, no look-alikes.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Random-looking suffixes from a seed: same seed, same suffixes.
pub(crate) struct Suffixes(u64);

impl Suffixes {
    pub(crate) fn new(seed: u64) -> Suffixes {
        Suffixes(seed)
    }

    /// The next number of a SplitMix64 sequence.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// `prefix` and five characters, different from everything that `taken` knows.
    pub(crate) fn name(&mut self, prefix: &str, taken: impl Fn(&str) -> bool) -> String {
        loop {
            let mut number = self.next();
            let mut name = prefix.to_owned();
            for _ in 0..5 {
                let index = usize::try_from(number % 27).unwrap_or_default();
                name.push(char::from(ALPHABET[index]));
                number /= 27;
            }
            if !taken(&name) {
                return name;
            }
        }
    }
}

/// `{cluster}-head-` or `{cluster}-{group}-worker-`, with the first 50 characters of what stands before the type.
pub(crate) fn pod_prefix(base: &str, node_type: &str) -> String {
    let kept: String = base.chars().take(50).collect();
    format!("{kept}-{node_type}-").to_lowercase()
}

/// The last 63 characters, never starting with punctuation: a legal label value.
pub(crate) fn label_value(text: &str) -> String {
    tail(text, 63)
}

/// The last 50 characters, never starting with punctuation or a digit: names of ServiceAccounts and Roles.
pub(crate) fn checked_name(text: &str) -> String {
    let kept = tail(text, 50);
    match kept.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("r{}", &kept[1..]),
        _ => kept,
    }
}

fn tail(text: &str, most: usize) -> String {
    let skipped = text.chars().count().saturating_sub(most);
    let kept: String = text.chars().skip(skipped).collect();
    match kept.chars().next() {
        Some(first) if first.is_ascii_punctuation() => format!("r{}", &kept[1..]),
        _ => kept,
    }
}

/// `{owner}-head-svc`.
pub(crate) fn head_service(owner: &str) -> String {
    format!("{owner}-head-svc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_prefixes_keep_the_first_fifty_characters() {
        assert_eq!(pod_prefix("Train", "head"), "train-head-");
        assert_eq!(pod_prefix(&"a".repeat(60), "worker").len(), 58);
    }

    #[test]
    fn label_values_keep_the_last_63_characters_and_start_legally() {
        assert_eq!(label_value(&format!("x-{}", "a".repeat(62))), format!("r{}", "a".repeat(62)));
        assert_eq!(label_value("train-head"), "train-head");
    }

    #[test]
    fn checked_names_never_start_with_a_digit() {
        assert_eq!(checked_name("1abc"), "rabc");
        assert_eq!(checked_name(&"a".repeat(53)).len(), 50);
    }

    #[test]
    fn suffixes_repeat_for_a_seed_and_avoid_taken_names() {
        let first = Suffixes::new(7).name("train-", |_| false);
        assert_eq!(first, Suffixes::new(7).name("train-", |_| false));
        let second = Suffixes::new(7).name("train-", |name| name == first);
        assert_ne!(first, second);
        assert_eq!(second.len(), "train-".len() + 5);
    }
}
