//! A workspace worth losing: a git repository with links, modes and empty folders, and a model for it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Outcome, Session};

/// Far more than anything here takes, so that a busy machine fails no test.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything below a folder: names, kinds, modes, contents, targets of links. Equal if nothing changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeHash(BTreeMap<PathBuf, Entry>);

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder { mode: u32 },
    Link { target: PathBuf },
    File { mode: u32, len: u64, hash: u64 },
}

/// A command that runs, its standard output read line by line.
pub(crate) struct Live {
    child: Child,
    stdout: BufReader<Box<dyn Read>>,
}

impl Session {
    /// A session whose workspace holds something: see the start of this file.
    pub(crate) fn with_project() -> Self {
        let session = Self::new();
        session.write("project/greeting.txt", "hello\nworld\n");
        session.write("project/notes.txt", "remember the milk\n");
        session.write("project/src/run.sh", "#!/bin/sh\necho run\n");
        let root = session.workspace();
        fs::set_permissions(root.join("src/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(root.join("deep/empty")).unwrap();
        symlink("greeting.txt", root.join("link")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
        for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "start"]]
        {
            let mut git = Command::new("git");
            git.args(identity).args(arguments).current_dir(&root);
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            assert!(git.status().unwrap().success());
        }
        session
    }

    /// The text of a file in the workspace; `None` where there is none.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace().join(path)).ok()
    }

    pub(crate) fn hash(&self) -> TreeHash {
        hash(&self.workspace())
    }

    /// Puts a recording beside the workspace; gives the model that plays it.
    pub(crate) fn recording(&self, recording: &Value) -> String {
        self.write("recording.json", recording.to_string());
        format!("replay:{}", self.home().with_file_name("recording.json").display())
    }

    /// Puts a history beside the workspace; gives its path.
    pub(crate) fn history(&self, history: &Value) -> String {
        self.write("history.json", history.to_string());
        self.home().with_file_name("history.json").display().to_string()
    }

    /// `speculate --json` of a recording, in this mode. The id reads `[ID]` from now on.
    pub(crate) fn speculate(&mut self, recording: &Value, mode: &str) -> (Outcome, String) {
        let model = self.recording(recording);
        let outcome = self.run(&["speculate", "--json", "--mode", mode, "--model", &model, "say farewell"]);
        let id = outcome.finished()["id"].as_str().unwrap().to_owned();
        self.name("ID", &id);
        (outcome, id)
    }

    /// Starts a command to be watched.
    pub(crate) fn live(&self, arguments: &[&str]) -> Live {
        let mut child = self.command(arguments).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(Box::new(child.stdout.take().unwrap()) as Box<dyn Read>);
        Live { child, stdout }
    }

    /// The one speculation that `list` knows of.
    pub(crate) fn only_row(&self) -> Value {
        let rows = self.run(&["list", "--json"]).json();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.into_iter().next().unwrap()
    }

    /// What is in the store; empty if there is none.
    pub(crate) fn kept(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.store()) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Fails if a file of the user's home, where the state is, holds the text.
    pub(crate) fn assert_home_lacks(&self, secret: &str) {
        assert_lacks(&self.home(), secret);
    }

    /// Fails if a file of the project holds the text.
    pub(crate) fn assert_project_lacks(&self, secret: &str) {
        assert_lacks(&self.workspace(), secret);
    }
}

fn assert_lacks(folder: &Path, secret: &str) {
    let mut files = 0;
    visit(folder, &mut |path, metadata| {
        if metadata.is_file() {
            files += 1;
            let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
            assert!(!text.contains(secret), "{} holds {secret}", path.display());
        }
    });
    assert!(0 < files, "there is no file to look at");
}

impl Outcome {
    /// The last line of `speculate --json`.
    pub(crate) fn finished(&self) -> Value {
        let last = self.json().pop().unwrap_or_default();
        assert_eq!(last["type"], "finished", "{self}");
        last
    }

    /// Fails unless the command ended so and its words on standard error hold all of `words`.
    pub(crate) fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing in\n{self}");
        }
        assert!(!self.stderr.contains("panicked"), "{self}");
    }
}

impl Live {
    /// Waits for a JSON line of this type.
    pub(crate) fn wait_for(&mut self, kind: &str) -> Value {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            let length = self.stdout.read_line(&mut line).unwrap();
            assert!(0 < length, "it ended without a {kind}; it said:\n{seen}");
            let value: Value = serde_json::from_str(&line).unwrap();
            if value["type"] == kind {
                return value;
            }
            seen += &line;
        }
    }

    /// SIGKILL: the program cannot do anything about it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What Ctrl-C sends.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads no more of what it says.
    pub(crate) fn hang_up(&mut self) {
        self.stdout = BufReader::new(Box::new(std::io::empty()));
    }

    /// The signal that ended it, if one did.
    pub(crate) fn ended_by(self) -> Option<i32> {
        self.status().signal()
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn exit_code(self) -> Option<i32> {
        self.status().code()
    }

    fn status(mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if PATIENCE < started.elapsed() {
                self.child.kill().unwrap();
                panic!("it does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A call in a recording.
pub(crate) fn call(name: &str, args: &Value) -> Value {
    json!({"name": name, "args": args})
}

/// Reads, looks at git, edits one file, makes one, searches what it staged, says farewell.
pub(crate) fn farewell() -> Value {
    json!({
        "turns": [
            {"text": "I'll look first.", "toolCalls": [
                call("read_file", &json!({"file_path": "greeting.txt"})),
                call("read_file", &json!({"file_path": "notes.txt"})),
                call("shell", &json!({"command": "git status --short"})),
            ]},
            {"toolCalls": [
                call("edit", &json!({"file_path": "greeting.txt", "old_string": "world", "new_string": "moon"})),
                call("write_file", &json!({"file_path": "src/farewell.txt", "content": "bye\n"})),
            ]},
            {"toolCalls": [call("grep", &json!({"pattern": "bye|moon"}))]},
            {"text": "Done."},
        ],
        "suggestions": ["run the tests"],
    })
}

/// Stages a file, then says nothing for a minute.
pub(crate) fn slow() -> Value {
    json!({"turns": [
        {"toolCalls": [call("write_file", &json!({"file_path": "half.txt", "content": "half\n"}))]},
        {"text": "too late", "delayMs": 60_000},
    ]})
}

fn hash(root: &Path) -> TreeHash {
    let mut entries = BTreeMap::new();
    visit(root, &mut |path, metadata| {
        let mode = metadata.mode();
        let entry = if metadata.is_dir() {
            Entry::Folder { mode }
        } else if metadata.is_symlink() {
            Entry::Link { target: fs::read_link(path).unwrap() }
        } else {
            let mut hasher = DefaultHasher::new();
            fs::read(path).unwrap().hash(&mut hasher);
            Entry::File { mode, len: metadata.len(), hash: hasher.finish() }
        };
        entries.insert(path.strip_prefix(root).unwrap().to_owned(), entry);
    });
    TreeHash(entries)
}

fn visit(folder: &Path, found: &mut impl FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        found(&path, &metadata);
        if metadata.is_dir() {
            visit(&path, found);
        }
    }
}
