//! A private Postgres from the system's binaries: where they are, who runs them, how a data folder is made, and the
//! command that serves it on a unix socket only.
//!
//! Invariant: the server listens on no network address, and only its own user and root reach its socket. Postgres
//! refuses to run as root, so root runs it as the user `postgres`. Watching and restarting is the caller's business.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::{fs::DirBuilderExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use nix::unistd::{Gid, Uid, User, chown};
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};

/// Why a private Postgres cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(
        "no Postgres server binaries were found in /usr/lib/postgresql/*/bin or on PATH; install postgresql or give --database-url"
    )]
    NoBinaries,
    #[error(
        "Postgres does not run as root, and there is no user named postgres to run it as; install postgresql or give --database-url"
    )]
    NoUser,
    #[error("the folder {} is closed to the user {user}, who runs Postgres; choose another data folder or give --database-url", path.display())]
    Unreachable { path: PathBuf, user: String },
    #[error("cannot {step} {}", path.display())]
    Io {
        step: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("initdb failed: {0}")]
    Initdb(String),
}

/// The unprivileged user who runs the server; `None` in `ids` means "as ourselves".
#[derive(Clone, Debug)]
pub struct RunAs {
    pub name: String,
    ids: Option<(Uid, Gid)>,
}

impl RunAs {
    /// The user `postgres` when we are root, else ourselves.
    pub fn choose() -> Result<RunAs, ServerError> {
        let uid = Uid::effective();
        let wanted = if uid.is_root() { User::from_name("postgres") } else { User::from_uid(uid) };
        let user = wanted.ok().flatten();
        match user {
            Some(user) if uid.is_root() => Ok(RunAs { name: user.name, ids: Some((user.uid, user.gid)) }),
            Some(user) => Ok(RunAs { name: user.name, ids: None }),
            None if uid.is_root() => Err(ServerError::NoUser),
            None => Ok(RunAs { name: uid.to_string(), ids: None }),
        }
    }

    /// Whether the server runs as another user than we do.
    pub fn is_other(&self) -> bool {
        self.ids.is_some()
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir("/");
        if let Some((uid, gid)) = self.ids {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        command
    }

    /// A folder of this user that others cannot enter; made when it is missing.
    fn own_folder(&self, path: &Path) -> Result<(), ServerError> {
        let failed = |step| move |source| ServerError::Io { step, path: path.to_owned(), source };
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed("make the folder")(error));
            }
            _ => {}
        }
        if let Some((uid, gid)) = self.ids {
            chown(path, Some(uid), Some(gid)).map_err(|e| failed("hand over the folder")(e.into()))?;
        }
        Ok(())
    }

    /// Whether this user can walk to `path`, judged by asking the system as that user.
    fn reaches(&self, path: &Path) -> bool {
        self.command(Path::new("/bin/sh"))
            .arg("-c")
            .arg("cd -- \"$0\"")
            .arg(path)
            .output()
            .is_ok_and(|done| done.status.success())
    }
}

/// A data folder with its socket folder, and the binaries that serve it.
#[derive(Clone, Debug)]
pub struct Server {
    binaries: PathBuf,
    pub user: RunAs,
    pub data: PathBuf,
    pub socket: PathBuf,
}

impl Server {
    /// Makes the folders, and the database cluster when there is none yet. `socket` must be short (under 90 bytes).
    pub fn prepare(data: &Path, socket: &Path) -> Result<Server, ServerError> {
        let server = Server {
            binaries: binaries().ok_or(ServerError::NoBinaries)?,
            user: RunAs::choose()?,
            data: data.to_owned(),
            socket: socket.to_owned(),
        };
        for folder in [data, socket] {
            server.user.own_folder(folder)?;
            if !server.user.reaches(folder) {
                return Err(ServerError::Unreachable {
                    path: folder.to_owned(),
                    user: server.user.name.clone(),
                });
            }
        }
        if !data.join("PG_VERSION").exists() {
            server.initdb()?;
        }
        Ok(server)
    }

    fn initdb(&self) -> Result<(), ServerError> {
        let program = self.binaries.join("initdb");
        let output = self
            .user
            .command(&program)
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-instructions",
            ])
            .arg("-D")
            .arg(&self.data)
            .output()
            .map_err(|source| ServerError::Io { step: "run", path: program, source })?;
        if output.status.success() {
            return Ok(());
        }
        Err(ServerError::Initdb(String::from_utf8_lossy(&output.stderr).trim().chars().take(400).collect()))
    }

    /// A copy of this running server, to be served as its asynchronous standby.
    #[cfg(feature = "testing")]
    pub fn standby(&self, data: &Path, socket: &Path) -> io::Result<Server> {
        for folder in [data, socket] {
            self.user.own_folder(folder).map_err(io::Error::other)?;
        }
        let mut copy = self.user.command(&self.binaries.join("pg_basebackup"));
        copy.arg("-h").arg(&self.socket).args(["-U", "postgres", "-R", "-X", "stream", "-c", "fast", "-D"]);
        let done = copy.arg(data).output()?;
        if !done.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned()));
        }
        Ok(Server { data: data.to_owned(), socket: socket.to_owned(), ..self.clone() })
    }

    /// The plain dump of a database of this running server.
    #[cfg(feature = "testing")]
    pub fn dump(&self, database: &str) -> Command {
        let mut dump = self.user.command(&self.binaries.join("pg_dump"));
        dump.arg("-h").arg(&self.socket).args(["-U", "postgres", database]);
        dump
    }

    /// Reads statements from its input into a database of this running server.
    #[cfg(feature = "testing")]
    pub fn read(&self, database: &str) -> Command {
        let mut read = self.user.command(&self.binaries.join("psql"));
        read.arg("-h").arg(&self.socket).args(["-qX1", "-U", "postgres", "-v", "ON_ERROR_STOP=1", database]);
        read
    }

    /// `pg_ctl` over the folder.
    #[cfg(feature = "testing")]
    pub fn control(&self, arguments: &[&str]) -> Command {
        let mut command = self.user.command(&self.binaries.join("pg_ctl"));
        command.arg("-D").arg(&self.data).args(arguments);
        command
    }

    /// The command that serves the folder in the foreground. `settings` are further `name=value` pairs.
    pub fn command(&self, settings: &[&str]) -> Command {
        let mut command = self.user.command(&self.binaries.join("postgres"));
        command.arg("-D").arg(&self.data).arg("-k").arg(&self.socket);
        for setting in
            ["listen_addresses=", "max_connections=64", "unix_socket_permissions=0700"].iter().chain(settings)
        {
            command.arg("-c").arg(setting);
        }
        command
    }

    /// Process id of the server that serves the folder now, however it was started. A pid file whose process is gone, or
    /// is another program, counts for nothing.
    pub fn running(&self) -> Option<u32> {
        noted_pid(&self.data.join("postmaster.pid")).filter(|pid| self.is_served_by(*pid))
    }

    /// Removes the lock files that a killed server left, when their number still belongs to something (another program,
    /// or the killed server that nobody has reaped): Postgres would take that for a server. Only done once no process
    /// works in the folder any more. In all other cases Postgres itself knows better what remains of the killed one.
    pub fn clear_lock_files(&self) -> Result<(), ServerError> {
        let taken = |pid: u32| Path::new(&format!("/proc/{pid}")).exists() && !self.is_served_by(pid);
        for path in [self.socket.join(".s.PGSQL.5432.lock"), self.data.join("postmaster.pid")] {
            if noted_pid(&path).is_some_and(taken) && !self.is_worked_in() {
                fs::remove_file(&path).map_err(|source| ServerError::Io { step: "remove", path, source })?;
            }
        }
        Ok(())
    }

    /// Whether some process has the data folder as its working directory, as all of Postgres' do.
    fn is_worked_in(&self) -> bool {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok()).any(|cwd| cwd == self.data)
    }

    fn is_served_by(&self, pid: u32) -> bool {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == self.data.as_os_str().as_encoded_bytes())
    }

    /// Connects, and makes `database` when it is missing. Fails while the server still starts.
    pub async fn ensure_database(&self, database: &str) -> crate::Result<()> {
        let mut connection = PgConnection::connect_with(&self.options("postgres")).await?;
        let known: bool = sqlx::query_scalar("select exists (select 1 from pg_database where datname = $1)")
            .bind(database)
            .fetch_one(&mut connection)
            .await?;
        if !known {
            let statement = format!("create database \"{}\"", database.replace('"', ""));
            sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await?;
        }
        Ok(connection.close().await?)
    }

    /// How to connect to `database` over the socket.
    pub fn options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass().socket(&self.socket).username("postgres").database(database)
    }
}

/// The process that a lock file names.
fn noted_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.lines().next()?.trim().parse().ok()
}

/// The folder of the newest installed server, else one from PATH.
fn binaries() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, folder)| folder.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().map(|(_, folder)| folder).or_else(|| on_path(&std::env::var_os("PATH")?))
}

fn on_path(path: &OsString) -> Option<PathBuf> {
    std::env::split_paths(path)
        .find(|folder| folder.join("postgres").exists() && folder.join("initdb").exists())
}
