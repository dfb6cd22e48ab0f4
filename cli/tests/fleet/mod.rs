//! A real control plane with its own Postgres, in a folder of its own, for as long as the value lives.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

pub struct Fleet {
    folder: tempfile::TempDir,
    ports: [u16; 2],
    process: Option<Child>,
}

/// What a command printed and how it ended.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Fleet {
    pub fn start() -> Fleet {
        let folder = tempfile::tempdir().unwrap();
        // The private Postgres runs as another user when we are root, and must reach its folder.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut fleet = Fleet { folder, ports: [free_port(), free_port()], process: None };
        fleet.boot();
        fleet.wait_until_up();
        fleet
    }

    /// Starts the process, without waiting for it to answer.
    pub fn boot(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        let child = Command::new(control_plane())
            .args(["serve", "--data", self.path("data").to_str().unwrap()])
            .args(["--listen", &format!("127.0.0.1:{}", self.ports[0])])
            .args(["--agent-listen", &format!("127.0.0.1:{}", self.ports[1])])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(child);
    }

    /// kill -9.
    pub fn kill(&mut self) {
        let mut child = self.process.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn wait_until_up(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let last = self.run(&["doctor"]);
            if last.code == 0 {
                return;
            }
            let gone = self.process.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
            assert!(!gone && Instant::now() < deadline, "{}{}\n{}", last.out, last.err, self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports[0])
    }

    /// The command with the administrator's token.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squadron"));
        command
            .env_clear()
            .env("SQUADRON_SERVER", self.server())
            .env("SQUADRON_CA", self.path("data/tls/ca.crt"))
            .env("SQUADRON_TOKEN_FILE", self.path("data/admin.token"))
            .env("SQUADRON_CONFIG", self.path("config.yaml"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .args(words);
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(words).output().unwrap())
    }

    /// Runs a command that must end with `code`, and answers its stdout.
    pub fn expect(&self, code: i32, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, code, "squadron {}\n{}{}", words.join(" "), ran.out, ran.err);
        ran
    }
}

impl Ran {
    pub fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let Some(mut child) = self.process.take() else { return };
        // SIGTERM lets it stop its Postgres; it gets ten seconds.
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(10);
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The program beside ours, built now so that it is the one of this tree.
fn control_plane() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let build = || {
        let built =
            Command::new(env!("CARGO")).args(["build", "-p", "squadron-control-plane"]).status().unwrap();
        assert!(built.success(), "squadron-control-plane does not build");
        PathBuf::from(env!("CARGO_BIN_EXE_squadron")).with_file_name("squadron-control-plane")
    };
    BUILT.get_or_init(build).clone()
}
