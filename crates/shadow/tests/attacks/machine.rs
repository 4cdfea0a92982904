//! What a view must protect from a command: files, sockets and processes of this machine, which are made for the test.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use headstart_shadow::{BuildLayer, BuildRoom, Command, Options, Tier};
use headstart_workspace_path::WorkspacePath;
use tempfile::TempDir;

use crate::state::state;

/// Files of the home that hold a secret.
const SECRETS: [&str; 17] = [
    ".ssh/id_ed25519",
    ".ssh/known_hosts",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".gitconfig",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    ".gnupg/private-keys-v1.d/key",
    ".kube/config",
    ".cache/browser/cookies",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
];

/// A file of the system's that another program of the machine has locked.
const LOCKED: &str = "/usr/bin/env";

/// Makes a segment of shared memory, prints its number, and waits until its standard input ends. The process has the
/// secret in its arguments.
const HOST_PROCESS: &str = "
import ctypes, sys
libc = ctypes.CDLL(None)
number = libc.shmget(int(sys.argv[1]), 4096, 0o1600)
assert number != -1
print(number, flush=True)
sys.stdin.read()
libc.shmctl(number, 0, None)
";

pub(crate) struct Machine {
    place: TempDir,
    token: String,
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    unix: Vec<UnixListener>,
    /// Pipes with an open end, and the locked files.
    held: Vec<fs::File>,
    abstract_name: String,
    shared_folder: TempDir,
    shared_file: tempfile::NamedTempFile,
    process: Child,
    segment: (u32, u32),
}

impl Machine {
    /// Makes all of this below a folder, with this secret.
    pub(crate) fn new(at: &Path, token: &str) -> Self {
        let place = tempfile::Builder::new().prefix("shadow-machine-").tempdir_in(at).unwrap();
        let write = |path: &str, content: &str| {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        for secret in SECRETS {
            write(&format!("home/{secret}"), token);
        }
        write("home/.cargo/registry", "registry");
        write("home/.cargo/config.toml", "");
        write("home/.bashrc", "# none");
        write("work/src/main.rs", "fn main() {}");
        write("work/.git/HEAD", "ref: refs/heads/main");
        write("work/.git/config", "[core]");
        write("work/target/old", "old");
        write("bin/program", "");
        write("out/canary", "canary");
        write("out/secret", token);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let mut all = vec![tcp];
        all.extend(TcpListener::bind(("::1", port)));
        let shared_folder = tempfile::Builder::new().prefix("shadow-attack-").tempdir_in("/tmp").unwrap();
        fs::write(shared_folder.path().join("file"), token).unwrap();
        let shared_file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let abstract_name = shared_folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let unix = vec![
            UnixListener::bind(place.path().join("out/socket")).unwrap(),
            UnixListener::bind(shared_folder.path().join("agent")).unwrap(),
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap(),
            UnixListener::bind(place.path().join("bin/agent")).unwrap(),
            UnixListener::bind(place.path().join("home/.cargo/agent")).unwrap(),
        ];
        let held = ["bin", "home/.cargo"].iter().flat_map(|folder| doors(&place.path().join(folder), token));
        let locked = fs::File::open(LOCKED).unwrap();
        locked.lock_shared().unwrap();
        let held = held.chain([locked]).collect();
        let key = 0x5a00_0000 | (std::process::id() & 0xff_ffff);
        let mut process = std::process::Command::new("python3")
            .args(["-c", HOST_PROCESS, &key.to_string(), token])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("these tests need python3: {error}"));
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let segment = (key, line.trim().parse().unwrap());
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let token = token.to_owned();
        Self {
            place,
            token,
            tcp: all,
            udp,
            unix,
            held,
            abstract_name,
            shared_folder,
            shared_file,
            process,
            segment,
        }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.place.path().join("out")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.work()).of_user(Some(&self.home()), Some(self.path().as_ref()))
    }

    /// A folder with programs beside those of the system, which is on the search path.
    fn programs(&self) -> PathBuf {
        self.place.path().join("bin")
    }

    fn path(&self) -> OsString {
        format!("/usr/bin:/bin:{}", self.programs().display()).into()
    }

    /// Like the other options, with a tier and with a folder on disk for build output. The caller has to remove that
    /// folder.
    pub(crate) fn options_with_room(&self, tier: Tier) -> Options {
        let at = self.place.path().parent().unwrap();
        let folder = tempfile::Builder::new().prefix("shadow-room-").tempdir_in(at).unwrap().keep();
        let layer = BuildLayer { path: WorkspacePath::parse("target").unwrap(), below: Vec::new() };
        let build = BuildRoom { measured: folder.clone(), folder, layers: vec![layer], bytes: 1 << 30 };
        Options { build: Some(build), tier, ..self.options() }
    }

    /// The command that makes the attacks: all of them, or only those that are named.
    pub(crate) fn attacks(&self, battery: &str, only: &[&str], tier: Tier, time: Duration) -> Command {
        let tool = |name: &str| self.home().join(name);
        let writable: Vec<PathBuf> = ["/tmp", "/var/tmp", "/run", "/dev/shm", "/dev/pts"]
            .map(PathBuf::from)
            .into_iter()
            .chain([self.work(), self.home(), tool(".cargo")])
            .collect();
        let about = serde_json::json!({
            "work": self.work(), "out": self.out(), "home": self.home(), "secrets": SECRETS, "token": self.token,
            "shm": self.shared_file.path(), "tmp": self.shared_folder.path(), "host": self.process.id(),
            "tcp": self.tcp[0].local_addr().unwrap().port(), "udp": self.udp.local_addr().unwrap().port(),
            "unix": self.out().join("socket"), "unix_tmp": self.shared_folder.path().join("agent"),
            "abstract": self.abstract_name, "shm_key": self.segment.0, "shm_id": self.segment.1,
            "writable": writable, "only": only, "programs": self.programs(), "own_inodes": !tier.copies(), "locked": LOCKED,
        });
        let mut command = Command::new(["python3", "-c", battery].map(OsString::from), time)
            .with_variable("ATTACKS", about.to_string())
            .with_variable("HOME", self.home());
        command.output = 16 << 20;
        command
    }

    /// Everything that an attack could have changed, and some settings and devices of the machine itself.
    pub(crate) fn look(&self) -> Vec<String> {
        let mut seen = state(self.place.path());
        seen.extend(state(self.shared_folder.path()));
        for path in
            ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory"]
        {
            seen.push(fs::read_to_string(path).unwrap());
        }
        for device in ["null", "zero", "full", "random", "urandom", "tty"] {
            use std::os::unix::fs::MetadataExt as _;
            let found = fs::metadata(format!("/dev/{device}")).unwrap();
            seen.push(format!("{device} {:o} {}", found.mode(), found.uid()));
        }
        seen
    }

    /// Asserts that nobody connected, nothing was sent, and no process was ended.
    pub(crate) fn was_not_reached(&mut self) {
        for listener in &self.tcp {
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        self.udp.set_nonblocking(true).unwrap();
        assert_eq!(self.udp.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        self.was_not_reached_but_by_its_network();
    }

    /// Asserts the same for a view that may use the machine's network.
    pub(crate) fn was_not_reached_but_by_its_network(&mut self) {
        for listener in &self.unix {
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        assert_eq!(self.held.len(), 5);
        assert!(self.process.try_wait().unwrap().is_none(), "a process of the machine was ended");
        assert_eq!(self.shared_file.as_file().read(&mut [0]).unwrap(), 0);
    }
}

/// A pipe in a folder that somebody has open and that holds the secret, and a file that somebody has locked.
fn doors(folder: &Path, token: &str) -> [fs::File; 2] {
    let (pipe, locked) = (folder.join("pipe"), folder.join("locked"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let mut pipe = fs::File::options().read(true).write(true).open(pipe).unwrap();
    pipe.write_all(token.as_bytes()).unwrap();
    fs::write(&locked, "").unwrap();
    let locked = fs::File::open(locked).unwrap();
    locked.lock().unwrap();
    [pipe, locked]
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The process removes its shared memory when its input ends.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
