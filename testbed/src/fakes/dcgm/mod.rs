//! A fake dcgm-exporter: an HTTP endpoint on the node with recorded metrics of the fake GPUs.
//!
//! Owns how the fake is started on the node and what it looks at. Invariant: which pod holds which GPU comes from the
//! fake device list of `fake-devices`, read at every scrape, so metrics and device list never disagree for long.

mod exposition;
mod serve;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use clap::Args;

use self::exposition::{Gpu, Holder, Host, RECORDED, Recording};
use super::devices;
use crate::error::{AtPath, Error, Result};
use crate::fakes::gpu;
use crate::provider::Provider;

/// What the process on the node needs to know.
#[derive(Args, Debug)]
pub struct Serve {
    /// Folder with the fake device list.
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    port: u16,
    /// Name of the node.
    #[arg(long)]
    node: String,
    #[arg(long)]
    model: String,
    /// How many GPUs the node has.
    #[arg(long)]
    count: u32,
    #[arg(long)]
    recording: Option<PathBuf>,
}

/// Replaces this process by the exporter of the cluster's node.
pub fn start(cluster: &dyn Provider, port: u16, recording: Option<PathBuf>) -> Result<()> {
    let gpus = gpu::of_first_node(&cluster.kubectl()?)?;
    if gpus.count == 0 {
        let next = format!("give it some first: squadron-testbed fake-gpu {} --count 8", cluster.name());
        return Err(Error::Refused(format!("the node {} has no fake GPUs; {next}", gpus.node)));
    }
    let program = std::env::current_exe().at("find", &PathBuf::from("/proc/self/exe"))?;
    let folder = cluster.node_folder()?;
    let mut words = vec![program.display().to_string(), "fake-dcgm-serve".to_owned()];
    for (flag, value) in [
        ("--folder", folder.display().to_string()),
        ("--port", port.to_string()),
        ("--node", gpus.node),
        ("--model", gpus.model),
        ("--count", gpus.count.to_string()),
    ] {
        words.extend([flag.to_owned(), value]);
    }
    if let Some(recording) = recording {
        let recording = recording.canonicalize().at("find", &recording)?;
        words.extend(["--recording".to_owned(), recording.display().to_string()]);
    }
    cluster.run_in(&words)
}

/// Serves on this machine's network until it is ended.
pub fn run(serve: &Serve) -> Result<()> {
    let text = match &serve.recording {
        Some(path) => std::fs::read_to_string(path).at("read", path)?,
        None => RECORDED.to_owned(),
    };
    let recording = Recording::read(&text)?;
    let host = Host { name: serve.node.clone(), model: serve.model.clone() };
    let address = (Ipv4Addr::UNSPECIFIED, serve.port);
    let listener = TcpListener::bind(address).map_err(|error| {
        Error::Refused(format!("the fake exporter cannot take port {}: {error}", serve.port))
    })?;
    println!("the fake dcgm-exporter of {} serves :{}/metrics until it is ended", serve.node, serve.port);
    serve::serve(&listener, &|| Ok(recording.of(&host, &gpus(serve)?)));
    Ok(())
}

fn gpus(serve: &Serve) -> Result<Vec<Gpu>> {
    let holders = devices::holders(&serve.folder)?;
    let gpu = |index: u32| {
        let uuid = gpu::device_id(index);
        let holder = holders.get(&uuid).map(|(namespace, pod, container)| Holder {
            namespace: namespace.clone(),
            pod: pod.clone(),
            container: container.clone(),
        });
        Gpu { index, uuid, holder }
    };
    Ok((0..serve.count).map(gpu).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn holders_come_from_the_device_list_of_the_moment() {
        let folder = tempfile::tempdir().unwrap();
        let serve = Serve {
            folder: folder.path().to_owned(),
            port: 0,
            node: "east-node".into(),
            model: "H100".into(),
            count: 2,
            recording: None,
        };
        let held = |serve: &Serve| -> Vec<Option<String>> {
            gpus(serve).unwrap().into_iter().map(|gpu| Some(gpu.holder?.pod)).collect()
        };
        assert_eq!(held(&serve), [None, None], "no list, no holder");
        let list = r#"{"podResources": [{"name": "train", "namespace": "ns", "containers": [{"name": "ray-worker",
            "devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-fake-1"]}]}]}]}"#;
        std::fs::write(folder.path().join("fake-pod-resources.json"), list).unwrap();
        assert_eq!(held(&serve), [None, Some("train".to_owned())]);
        std::fs::write(folder.path().join("fake-pod-resources.json"), "{").unwrap();
        assert!(gpus(&serve).is_err());
    }
}
