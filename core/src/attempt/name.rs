//! The name of an attempt's RayJob: a pure function of job and attempt, so that creating it twice is one object.

use crate::id::JobId;

/// Characters of the manifest's name that are kept; the whole stays within the 47 that a RayJob name may have.
const KEPT: usize = 30;

/// `<manifest name, at most 30 characters>-<last 8 hex digits of the job id>-<attempt number>`.
pub fn object_name(manifest_name: &str, job: JobId, number: u32) -> String {
    let kept: String = manifest_name.chars().take(KEPT).collect();
    let id = job.0.simple().to_string();
    format!("{}-{}-{number}", kept.trim_end_matches('-'), &id[id.len() - 8..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::name::K8sName;

    fn job() -> JobId {
        "01938f2e-7a3c-7d31-9d4e-00c0ffee1234".parse().unwrap()
    }

    #[test]
    fn the_name_tells_job_and_attempt_apart() {
        assert_eq!(object_name("train", job(), 1), "train-ffee1234-1");
        assert_ne!(object_name("train", job(), 1), object_name("train", job(), 2));
    }

    #[test]
    fn a_long_name_stays_legal_and_short() {
        let long = format!("{}-{}", "a".repeat(29), "b".repeat(40));
        let name = object_name(&long, job(), u32::MAX);
        assert_eq!(name, format!("{}-ffee1234-4294967295", "a".repeat(29)));
        let longest = object_name(&"a".repeat(63), job(), 999_999);
        assert!(longest.len() <= 47 && K8sName::new(longest.clone()).is_ok(), "{longest}");
    }
}
