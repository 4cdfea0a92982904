//! Tests whether a view keeps its promises.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use headstart_overlay_fs::OsTree;
use headstart_shadow::{Command, End, ReadRules, ShadowError, View};
use headstart_tool_gate::DenyRules;

use super::{BuildOutput, ViewFiles, Views};

/// A file name that no project uses.
const WRITTEN: &str = "headstart-shadow-check";
const TIME: Duration = Duration::from_secs(10);

/// One test.
pub struct SelfTest {
    pub what: &'static str,
    /// What failed; `None` if the test passed.
    pub problem: Option<String>,
}

impl Views {
    /// Tests a write, a way out of the view, and the end by force. Apart from one temporary file nothing is touched
    /// outside of the views.
    pub fn self_test(&self) -> Vec<SelfTest> {
        let trial = |what, tried: Result<(), String>| SelfTest { what, problem: tried.err() };
        vec![
            trial("a command writes, and the workspace does not change", self.writes()),
            trial("no connection and no file of another folder is within reach", self.leaks()),
            trial("a limit of time ends all that runs", self.ends()),
        ]
    }

    /// A view with its files on disk. The view comes last, because the last binding is dropped first.
    fn plain(&self) -> Result<(ViewFiles, View), String> {
        let started = self.start("check", &self.options, &DenyRules::default(), BuildOutput::InMemory);
        started.map(|(view, kept)| (kept, view)).map_err(|error| error.to_string())
    }

    fn writes(&self) -> Result<(), String> {
        let (_kept, mut view) = self.plain()?;
        let on_disk = view.workspace().join(WRITTEN);
        if on_disk.exists() {
            return Err(format!("{} is there already", on_disk.display()));
        }
        let line = format!("echo x > {WRITTEN} && cat {WRITTEN}");
        let done = view.run(&self.command(&line, TIME, 1_000)).map_err(|error| error.to_string())?;
        if !done.end.is_success() || done.stdout != b"x\n" {
            return Err(format!("it said {:?}", String::from_utf8_lossy(&done.stdout)));
        }
        if on_disk.exists() {
            return Err(format!("{} was written on disk", on_disk.display()));
        }
        let tree = OsTree::open(&self.options.workspace).map_err(|error| error.to_string())?;
        let rules = ReadRules { ignore: false, ..self.rules.clone() };
        let back = view.read_back(&tree, &rules).map_err(|error| error.to_string())?;
        let is_back = back.changes.changes.iter().any(|change| change.path.to_string() == WRITTEN);
        if is_back { Ok(()) } else { Err("what it wrote did not come back".to_owned()) }
    }

    fn leaks(&self) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let secret = tempfile::NamedTempFile::new().map_err(failed)?;
        std::fs::write(secret.path(), "leaked\n").map_err(failed)?;
        let line = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port} && echo leaked; cat -- '{}'; ls -A ~",
            secret.path().display()
        );
        let (_kept, mut view) = self.plain()?;
        let command = Command { ..self.command(&line, TIME, 10_000) };
        let done = view.run(&command).map_err(|error| error.to_string())?;
        let output = String::from_utf8_lossy(&done.stdout).into_owned();
        if listener.accept().is_ok() {
            return Err("it reached a server of this machine".to_owned());
        }
        if output.lines().any(|line| line == "leaked") {
            return Err("it read a file of another folder".to_owned());
        }
        Ok(())
    }

    fn ends(&self) -> Result<(), String> {
        let (_kept, mut view) = self.plain()?;
        let line = "sleep 60 & setsid sleep 60 & sleep 60";
        match view.run(&self.command(line, Duration::from_millis(300), 1_000)).map(|done| done.end) {
            Ok(End::TimeUp) | Err(ShadowError::Ended) => Ok(()),
            Ok(end) => Err(format!("it ended by itself: {end:?}")),
            Err(error) => Err(error.to_string()),
        }
    }
}
