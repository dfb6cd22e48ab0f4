//! The text that a fake dcgm-exporter serves: recorded samples under the labels of the fake GPUs.
//!
//! Pure. Invariant: names, kinds and values are those of the recording and nothing is made up; only the labels that say
//! which GPU on which host in which pod are written anew. A line of a recording that cannot be read is an error.

use crate::error::{Error, Result};

/// The recording that comes with the testbed.
pub const RECORDED: &str = include_str!("recording.prom");

/// Labels that say whose sample it is; all others of a recorded sample are kept.
const IDENTITY: &[&str] =
    &["gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "namespace", "pod", "container"];
/// Bus number of the first fake GPU, as in the kernel lines of the examples.
const FIRST_BUS: u32 = 0x3b;

/// Who has a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub namespace: String,
    pub pod: String,
    pub container: String,
}

/// One fake GPU of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    pub index: u32,
    pub uuid: String,
    pub holder: Option<Holder>,
}

/// What all GPUs of a node share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub model: String,
}

/// A recorded exposition.
#[derive(Debug)]
pub struct Recording(Vec<Metric>);

#[derive(Debug)]
struct Metric {
    name: String,
    /// Its HELP and TYPE lines.
    head: String,
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct Sample {
    /// At work in the recording: GPU 0; every other GPU is at rest.
    at_work: bool,
    /// Labels beside those of [`IDENTITY`], as they stood, each with a comma before it.
    more: String,
    value: String,
}

impl Recording {
    /// Reads an exposition in Prometheus' text form.
    pub fn read(text: &str) -> Result<Recording> {
        let (mut metrics, mut head) = (Vec::<Metric>::new(), String::new());
        for line in text.lines() {
            if line.starts_with("# HELP ") || line.starts_with("# TYPE ") {
                head.push_str(&format!("{line}\n"));
            } else if !line.is_empty() && !line.starts_with('#') {
                let refuse = || Error::Refused(format!("the recording has a line that is no sample: {line}"));
                let (name, sample) = sample(line).ok_or_else(refuse)?;
                match metrics.last_mut().filter(|metric| metric.name == name) {
                    Some(metric) => metric.samples.push(sample),
                    None => {
                        let head = std::mem::take(&mut head);
                        metrics.push(Metric { name: name.to_owned(), head, samples: vec![sample] });
                    }
                }
            }
        }
        Ok(Recording(metrics))
    }

    /// The exposition of these GPUs: held ones are at work, the others at rest.
    pub fn of(&self, host: &Host, gpus: &[Gpu]) -> String {
        let mut text = String::new();
        for metric in &self.0 {
            let samples = gpus.iter().filter_map(|gpu| metric.of(host, gpu));
            let samples: String = samples.collect();
            if !samples.is_empty() {
                text.push_str(&metric.head);
                text.push_str(&samples);
            }
        }
        text
    }
}

impl Metric {
    /// The recorded sample that suits the GPU's state; a metric without one is left out, as an exporter does.
    fn of(&self, host: &Host, gpu: &Gpu) -> Option<String> {
        let sample = self.samples.iter().find(|sample| sample.at_work == gpu.holder.is_some())?;
        let (index, bus) = (gpu.index, FIRST_BUS + gpu.index);
        let mut labels = format!(
            "gpu=\"{index}\",UUID=\"{}\",pci_bus_id=\"00000000:{bus:02X}:00.0\",device=\"nvidia{index}\",modelName=\"{}\",Hostname=\"{}\"{}",
            gpu.uuid, host.model, host.name, sample.more
        );
        if let Some(holder) = &gpu.holder {
            let Holder { namespace, pod, container } = holder;
            labels.push_str(&format!(",namespace=\"{namespace}\",pod=\"{pod}\",container=\"{container}\""));
        }
        Some(format!("{}{{{labels}}} {}\n", self.name, sample.value))
    }
}

fn sample(line: &str) -> Option<(&str, Sample)> {
    let (name, rest) = line.split_once('{')?;
    let (labels, value) = rest.rsplit_once("} ")?;
    value.parse::<f64>().ok()?;
    let (mut at_work, mut more) = (None, String::new());
    for (label, text) in labels_of(labels)? {
        if label == "gpu" {
            at_work = Some(text == "0");
        } else if !IDENTITY.contains(&label) {
            more.push_str(&format!(",{label}=\"{text}\""));
        }
    }
    Some((name, Sample { at_work: at_work?, more, value: value.to_owned() }))
}

/// Names and quoted texts of labels; texts keep their escapes.
fn labels_of(mut rest: &str) -> Option<Vec<(&str, &str)>> {
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let (name, text) = rest.split_once("=\"")?;
        let mut escaped = false;
        let end = text.find(|character| {
            let ends = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        })?;
        labels.push((name, &text[..end]));
        rest = text[end + 1..].trim_start_matches(',');
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn gpu(index: u32, pod: Option<&str>) -> Gpu {
        let holder =
            pod.map(|pod| Holder { namespace: "ns".into(), pod: pod.into(), container: "ray-worker".into() });
        Gpu { index, uuid: format!("GPU-fake-{index}"), holder }
    }

    fn host() -> Host {
        Host { name: "east-node".into(), model: "H100".into() }
    }

    fn served(gpus: &[Gpu]) -> String {
        Recording::read(RECORDED).unwrap().of(&host(), gpus)
    }

    #[test]
    fn held_gpu_is_at_work_and_says_whose_it_is() {
        let text = served(&[gpu(0, None), gpu(1, Some("train"))]);
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
        assert_eq!(
            line("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\""),
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-fake-0\",pci_bus_id=\"00000000:3B:00.0\",device=\"nvidia0\",\
             modelName=\"H100\",Hostname=\"east-node\",DCGM_FI_DRIVER_VERSION=\"570.86.15\"} 0"
        );
        let held = line("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"");
        assert!(held.ends_with(",namespace=\"ns\",pod=\"train\",container=\"ray-worker\"} 97"), "{held}");
        assert!(held.contains("pci_bus_id=\"00000000:3C:00.0\",device=\"nvidia1\""), "{held}");
        assert!(line("DCGM_FI_DEV_XID_ERRORS{").contains(",err_code=\"0\",err_msg=\"No Error\"} 0"));
    }

    #[test]
    fn every_metric_has_its_head_once_and_a_sample_of_each_gpu() {
        let gpus: Vec<Gpu> = (0..8).map(|index| gpu(index, (index % 2 == 0).then_some("train"))).collect();
        let text = served(&gpus);
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        assert!(names.contains(&"DCGM_FI_DEV_FB_USED") && names.len() >= 20, "{names:?}");
        for name in names {
            let of = |start: String| text.lines().filter(|line| line.starts_with(&start)).count();
            assert_eq!((of(format!("{name}{{")), of(format!("# HELP {name} "))), (8, 1), "{name}");
        }
        assert_eq!(served(&[]), "");
    }

    #[test]
    fn what_is_no_sample_is_refused_with_the_line() {
        for line in ["DCGM_FI_DEV_GPU_UTIL 97", "A{gpu=\"0\"} many", "A{device=\"x\"} 1", "A{gpu=\"0} 1"] {
            let refused = Recording::read(line).unwrap_err().to_string();
            assert!(refused.contains(line), "{refused}");
        }
    }

    #[test]
    fn quotes_and_commas_in_a_label_do_not_end_it() {
        let line = r#"A{gpu="0",note="a \"b\", c",UUID="x"} 1"#;
        let text = Recording::read(line).unwrap().of(&host(), &[gpu(0, Some("p"))]);
        assert!(text.contains(r#",note="a \"b\", c",namespace="ns""#), "{text}");
    }
}
