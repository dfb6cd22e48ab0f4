//! Runs the testbed's binary and kubectl for the test's cluster.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub struct Testbed {
    name: &'static str,
    home: PathBuf,
}

impl Testbed {
    pub fn new(name: &'static str) -> Self {
        let home = std::env::var_os("SQUADRON_TESTBED_HOME").map(PathBuf::from).unwrap_or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let cache =
                cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
            cache.join("squadron-testbed")
        });
        std::fs::create_dir_all(&home).unwrap();
        Self { name, home: home.canonicalize().unwrap() }
    }

    pub fn folder(&self) -> &'static Path {
        Box::leak(self.home.join("clusters").join(self.name).into_boxed_path())
    }

    pub fn space(&self) -> String {
        format!("sqt-{}", self.name)
    }

    /// Whether it succeeded, and all that it said.
    pub fn run(&self, words: &[&str]) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_squadron-testbed")).args(words).output().unwrap();
        (output.status.success(), said(&output))
    }

    pub fn must(&self, words: &[&str]) -> String {
        let start = Instant::now();
        let (done, said) = self.run(words);
        assert!(done, "{words:?}: {said}");
        println!("{:>6.1} s  {}", start.elapsed().as_secs_f64(), words.join(" "));
        said
    }

    pub fn try_kubectl(&self, words: &[&str]) -> Result<String, String> {
        let output = self.kubectl_command().args(words).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(said(&output)),
        }
    }

    pub fn kubectl(&self, words: &[&str]) -> String {
        self.try_kubectl(words).unwrap()
    }

    pub fn apply(&self, manifest: &str) {
        // The service account of a new namespace appears a moment after the namespace.
        until("the apply", Duration::from_secs(30), || {
            let mut child =
                self.kubectl_command().args(["apply", "-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
            child.wait().unwrap().success()
        });
    }

    pub fn in_pod(&self, python: &str) -> Result<String, String> {
        self.try_kubectl(&["exec", "probe", "--", "python3", "-c", python])
    }

    pub fn on_node(&self, python: &str) -> Result<String, String> {
        let (done, said) = self.run(&["run-in", self.name, "--", "python3", "-c", python]);
        if done { Ok(said) } else { Err(said) }
    }

    /// The id of the pod's container.
    pub fn container(&self) -> String {
        self.try_kubectl(&[
            "get",
            "pod",
            "probe",
            "-o",
            "jsonpath={.status.containerStatuses[0].containerID}",
        ])
        .unwrap_or_default()
    }

    fn kubectl_command(&self) -> Command {
        let mut command = Command::new(self.home.join("bin/kubectl"));
        command.arg("--kubeconfig").arg(self.folder().join("admin.kubeconfig"));
        command
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Asks again and again, and fails the test after the limit.
pub fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "{what} did not happen within {} s", limit.as_secs());
        std::thread::sleep(Duration::from_millis(200));
    }
}
