//! A hermetic place in which tests run the binary. What the binary said is shown as a text that reads like a session in
//! a shell.
//!
//! Every [`Session`] has a home, a workspace and a state folder of its own, and no environment variables but `HOME`,
//! `PATH`, two that keep the machine out of the tests, and those that the test sets.

#![allow(clippy::allow_attributes, reason = "every test binary uses another part of this")]
#![allow(dead_code, reason = "every test binary uses another part of this")]
#![allow(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

mod agents;
#[cfg(unix)]
pub(crate) mod hostile;
pub(crate) mod project;
pub(crate) mod records;
pub(crate) mod repository;
pub(crate) mod server;

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Much longer than anything takes that a test waits for, so that a busy machine fails no test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// One user with one machine.
pub(crate) struct Session {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
    names: Vec<(String, String)>,
}

/// What a command said and how it ended. Displayed as text, it contains nothing that differs from run to run.
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code; `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    shown: String,
}

impl Session {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "project"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root, variables: Vec::new(), names: Vec::new() }
    }

    /// The workspace, which is the current folder of every command.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The folder in which speculations are kept, at its default place.
    pub(crate) fn store(&self) -> PathBuf {
        self.home().join(".local/state/headstart/speculations")
    }

    /// The only ledger; fails if there is not exactly one.
    pub(crate) fn ledger(&self) -> PathBuf {
        let folder = self.home().join(".local/state/headstart/ledgers");
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }

    /// Writes a file. The path is relative to the folder that contains `home` and `project`.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Sets a variable for every command from now on.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Shows `text` (such as an id or a port), which differs from run to run, as `[label]` from now on.
    pub(crate) fn name(&mut self, label: &str, text: &str) {
        self.names.push((text.to_owned(), format!("[{label}]")));
    }

    /// A command of the binary, ready to be spawned.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headstart"));
        command.args(arguments).current_dir(self.workspace()).env_clear();
        command.env("HOME", self.home()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Whether a view can be made depends on the machine, so only the tests of views turn views on.
        command.env("HEADSTART_SHADOW", "off");
        // The state of the machine is read below this empty folder, so that nothing depends on how busy the machine is.
        command.env("HEADSTART_MACHINE", self.root.path().join("machine"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command without input until it ends.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with_input(arguments, "")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: impl Into<Vec<u8>>) -> Outcome {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let (input, mut stdin) = (input.into(), child.stdin.take().unwrap());
        // A command that does not read its input makes this write fail, which is no failure of the test.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let outcome = self.outcome(arguments, child);
        writer.join().unwrap();
        outcome
    }

    /// Waits until a command that the test has spawned itself ends.
    pub(crate) fn outcome(&self, arguments: &[&str], mut child: Child) -> Outcome {
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if deadline < Instant::now() {
                child.kill().unwrap();
                panic!("headstart {arguments:?} hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        let shown = self.redact(&session_text(arguments, &stdout, &stderr, code));
        Outcome { stdout, stderr, code, shown }
    }

    /// Replaces what differs from run to run: folders, named texts and times.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let root = self.root.path().canonicalize().unwrap();
        for folder in [root.as_path(), self.root.path()] {
            text = text.replace(&format!("{}/", folder.display()), "/");
        }
        for (secret, label) in &self.names {
            text = text.replace(secret, label);
        }
        // Only a build with Amazon's models offers this form of a model's name.
        text = text.replace("dashscope:NAME, bedrock:NAME or", "dashscope:NAME or");
        for field in ["createdAt", "workMs", "modelMs", "toolMs", "timeSavedMs", "at"] {
            text = without_number(&text, &format!("\"{field}\":"));
        }
        text
    }

    /// Every folder and file below the workspace, files with their content. Two results are equal if nothing changed.
    pub(crate) fn tree(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        walk(&self.workspace(), &mut found);
        found.sort();
        found
    }
}

impl Outcome {
    /// Standard output as JSON Lines; fails if a line is not JSON.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{self}"));
        self.stdout.lines().map(parse).collect()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from)
}

/// The processes of this system as `/proc` shows them: the id of the parent, and the command line.
pub(crate) fn processes() -> Vec<(u32, String)> {
    let process = |folder: PathBuf| {
        let line = fs::read_to_string(folder.join("cmdline")).ok()?.replace('\0', " ");
        // The name of the program stands in parentheses and may contain anything; the state and the parent follow it.
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((parent, line))
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| process(entry.path())).collect()
}

/// A program of another project, at the place where `.ci/install hosts` installs it.
pub(crate) fn installed(program: &str) -> PathBuf {
    let file = target().join("hosts/node_modules").join(program);
    assert!(file.exists(), "{} is not there; `.ci/install hosts` installs it", file.display());
    file.canonicalize().unwrap()
}

/// The Neovim that `.ci/install hosts` installs, and the folder of its plugins.
pub(crate) fn neovim() -> (PathBuf, PathBuf) {
    let folder = target().join("neovim");
    let (editor, plugins) = (folder.join("venv/bin/nvim"), folder.join("plugins"));
    for file in [&editor, &plugins.join("codecompanion.nvim"), &plugins.join("plenary.nvim")] {
        assert!(
            file.exists(),
            "{} is not there; `.ci/install hosts` fetches it, where it reaches github.com",
            file.display()
        );
    }
    (editor, plugins)
}

/// Joins what several commands said, in order, into one text.
pub(crate) fn transcript(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Compares what the binary said with the recording on a page of the docs, or writes it there if `RECORDINGS=write` is
/// set. The field `jsonrpc`, which is the same in every line of a protocol, is left out.
pub(crate) fn recorded(page: &str, text: &str) {
    const BEGINS: &str = "<!-- recorded by a test: RECORDINGS=write -->\n```text\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let whole = fs::read_to_string(&file).unwrap();
    let (before, rest) = whole.split_once(BEGINS).unwrap_or_else(|| panic!("{page} has no recording"));
    let (shown, after) =
        rest.split_once("```\n").unwrap_or_else(|| panic!("the recording in {page} has no end"));
    let text = text.replace(env!("CARGO_BIN_EXE_headstart"), "/path/to/headstart");
    let text = text.trim_end().replace("\"jsonrpc\":\"2.0\",", "") + "\n";
    if std::env::var_os("RECORDINGS").is_some_and(|value| value == "write") {
        fs::write(&file, format!("{before}{BEGINS}{text}```\n{after}")).unwrap();
    } else {
        assert_eq!(shown, text, "{page}: RECORDINGS=write writes what the binary says now");
    }
}

fn session_text(arguments: &[&str], stdout: &str, stderr: &str, code: Option<i32>) -> String {
    let command: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
    let stderr: String = stderr.lines().flat_map(|line| ["[stderr] ", line, "\n"]).collect();
    let end = code.map_or("killed".to_owned(), |code| format!("exit {code}"));
    format!("$ headstart {}\n{stdout}{stderr}[{end}]\n", command.join(" "))
}

fn drain(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    let mut stream = stream.unwrap();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn quoted(argument: &str) -> String {
    let plain =
        !argument.is_empty() && !argument.contains(|c: char| c.is_whitespace() || "'\"$&|;<>*".contains(c));
    if plain { argument.to_owned() } else { format!("'{argument}'") }
}

fn without_number(text: &str, field: &str) -> String {
    let mut pieces = text.split(field);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown += field;
        shown += "[TIME]";
        shown += piece.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    shown
}

fn walk(folder: &Path, found: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_folder = fs::symlink_metadata(&path).unwrap().is_dir();
        if is_folder {
            walk(&path, found);
        }
        let content = (!is_folder).then(|| fs::read(&path).unwrap_or_default());
        found.push((path, content));
    }
}
