//! A workspace in which damage would show: a git repository with links, modes and empty folders, and a model that works
//! in it.

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

use super::{Outcome, PATIENCE, Session};

/// Everything below a folder: names, kinds, modes, contents and the targets of links. Two values are equal if nothing
/// changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeHash(BTreeMap<PathBuf, Entry>);

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder { mode: u32 },
    Link { target: PathBuf },
    File { mode: u32, len: u64, hash: u64 },
}

/// A running command whose standard output is read line by line.
pub(crate) struct RunningProcess {
    child: Child,
    stdout: BufReader<Box<dyn Read>>,
}

impl Session {
    /// A session whose workspace is the project that the start of this file describes.
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

    /// The text of a file in the workspace; `None` if there is no such file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace().join(path)).ok()
    }

    pub(crate) fn hash(&self) -> TreeHash {
        hash(&self.workspace())
    }

    /// Puts a recording next to the workspace, and returns the name of the model that plays it.
    pub(crate) fn recording(&self, recording: &Value) -> String {
        self.write("recording.json", recording.to_string());
        format!("replay:{}", self.home().with_file_name("recording.json").display())
    }

    /// Puts a history next to the workspace, and returns its path.
    pub(crate) fn history(&self, history: &Value) -> String {
        self.write("history.json", history.to_string());
        self.home().with_file_name("history.json").display().to_string()
    }

    /// Runs `speculate --json` with a recording in this mode, and returns the outcome and the id. The id is shown as
    /// `[ID]` from now on.
    pub(crate) fn speculate(&mut self, recording: &Value, mode: &str) -> (Outcome, String) {
        let model = self.recording(recording);
        let outcome = self.run(&["speculate", "--json", "--mode", mode, "--model", &model, "say farewell"]);
        let id = outcome.finished()["id"].as_str().unwrap().to_owned();
        self.name("ID", &id);
        (outcome, id)
    }

    /// Starts a command that the test follows while it runs.
    pub(crate) fn live(&self, arguments: &[&str]) -> RunningProcess {
        let mut child = self.command(arguments).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(Box::new(child.stdout.take().unwrap()) as Box<dyn Read>);
        RunningProcess { child, stdout }
    }

    /// The only speculation that `list` shows; fails if there is not exactly one.
    pub(crate) fn only_row(&self) -> Value {
        let rows = self.run(&["list", "--json"]).json();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.into_iter().next().unwrap()
    }

    /// The entries of the folder in which speculations are kept; empty if there is no such folder.
    pub(crate) fn speculation_folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.store()) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Fails if a file in the user's home, which includes the state folder, contains the text.
    pub(crate) fn assert_home_lacks(&self, secret: &str) {
        assert_lacks(&self.home(), secret);
    }

    /// Fails if a file of the project contains the text.
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
    /// The last line of `speculate --json`, which says how the work ended.
    pub(crate) fn finished(&self) -> Value {
        let last = self.json().pop().unwrap_or_default();
        assert_eq!(last["type"], "finished", "{self}");
        last
    }

    /// Fails unless the command ended with this exit code and standard error contains all of `words`.
    pub(crate) fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing in\n{self}");
        }
        assert!(!self.stderr.contains("panicked"), "{self}");
    }
}

impl RunningProcess {
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

    /// Kills the program with SIGKILL, to which no program can react.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends the signal that Ctrl-C sends.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Closes the pipe of the command's standard output, so that nobody reads it any more.
    pub(crate) fn hang_up(&mut self) {
        self.stdout = BufReader::new(Box::new(std::io::empty()));
    }

    /// Waits for the end, and returns the signal that ended the command, if one did.
    pub(crate) fn ended_by(self) -> Option<i32> {
        self.status().signal()
    }

    /// Waits for the end, and returns the exit code.
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

/// A call as a recording has it.
pub(crate) fn call(name: &str, args: &Value) -> Value {
    json!({"name": name, "args": args})
}

/// A recording that reads files, looks at git, edits one file, makes one, searches for what it staged, and says
/// farewell.
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

/// A recording that stages a file and then says nothing for a minute.
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
