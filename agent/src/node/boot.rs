//! Boot: which boot of the kernel this is, and when it began.

use std::fs;

use anyhow::Context;
use squadron_core::time::Timestamp;

use crate::clock;

/// One boot.
#[derive(Clone, Debug)]
pub struct Boot {
    /// The kernel's random id of this boot.
    pub id: String,
    began: Timestamp,
}

impl Boot {
    pub fn read() -> anyhow::Result<Boot> {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").context("cannot read the boot id")?;
        let uptime = fs::read_to_string("/proc/uptime").context("cannot read the uptime")?;
        let millis = uptime_millis(&uptime).context("the uptime is no number")?;
        Ok(Boot { id: id.trim().to_owned(), began: clock::now().plus_millis(-millis) })
    }

    /// The wall clock's time `micros` after the boot began.
    pub fn at(&self, micros: u64) -> Timestamp {
        Timestamp(self.began.0.saturating_add(i64::try_from(micros).unwrap_or(i64::MAX)))
    }
}

/// `12.34 56.78` is 12,340.
fn uptime_millis(text: &str) -> Option<i64> {
    let (seconds, hundredths) = text.split(' ').next()?.split_once('.')?;
    Some(seconds.parse::<i64>().ok()? * 1_000 + hundredths.trim().parse::<i64>().ok()? * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_read_in_milliseconds() {
        assert_eq!(uptime_millis("12.34 56.78\n"), Some(12_340));
        assert_eq!(uptime_millis("soon"), None);
    }
}
