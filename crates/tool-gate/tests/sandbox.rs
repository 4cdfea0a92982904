//! Every allowed command of the corpora, run as an executor would run it, over a repository that names a program in
//! every place where git looks for one. Nothing may change, no such program may run, and each must end.
//!
//! The commands run in namespaces of their own: no network, no other processes. Where the system permits no
//! namespaces the test says so and runs them in the scratch folder alone.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the test runs programs over files")]

mod support;

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use headstart_tool_gate::{Decision, Gate, GateContext, Hardened, clean_environment};
use serde_json::Value;

const REPOSITORY: &str = include_str!("data/repository.sh");
const SAMPLE: &str = include_str!("data/sample.jsonl");
const CASES: &str = include_str!("data/cases.jsonl");
const EVERYDAY: &str = include_str!("data/everyday.txt");
const EVERYDAY_BY_FAMILY: &str = include_str!("data/everyday_by_family.txt");
/// The time that one command may take, in seconds.
const LIMIT: &str = "5";

/// A scratch folder with the repository.
struct Sandbox {
    base: PathBuf,
    isolated: bool,
}

impl Sandbox {
    fn new(name: &str) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if base.exists() {
            fs::remove_dir_all(&base).expect("the scratch folder of an earlier run goes away");
        }
        fs::create_dir_all(&base).expect("a scratch folder");
        let output = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", REPOSITORY, "repository"])
            .arg(&base)
            .env_clear()
            .envs(clean_environment(&base.join("home").to_string_lossy()))
            .stdin(Stdio::null())
            .output()
            .expect("this test needs bash");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let isolated = Command::new("unshare").args(NAMESPACES).arg("true").stdin(Stdio::null()).output();
        let isolated = isolated.is_ok_and(|output| output.status.success());
        if !isolated {
            // Not by a macro, whose output is only shown when a test fails.
            let note: &[u8] = b"\nno namespaces here: the sandbox test runs commands in a plain scratch folder, with the network in reach\n";
            std::io::stderr().write_all(note).expect("a note can be printed");
        }
        let sandbox = Self { base, isolated };
        fs::remove_dir_all(sandbox.base.join("marks")).expect("the marks of the preparation go away");
        fs::create_dir(sandbox.base.join("marks")).expect("a folder for marks");
        sandbox
    }

    fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    /// Runs a command, and returns its exit code.
    fn run(&self, command: &str, hardened: Option<&Hardened>) -> Option<i32> {
        let mut program = Command::new("timeout");
        program.args(["-s", "KILL", LIMIT]);
        if self.isolated {
            program.arg("unshare").args(NAMESPACES);
        }
        let text = hardened.and_then(|hardened| hardened.command.as_deref()).unwrap_or(command);
        program.args(["bash", "--norc", "--noprofile", "-c", text]);
        program.env_clear().envs(clean_environment(&self.base.join("home").to_string_lossy()));
        if let Some(hardened) = hardened {
            program.envs(&hardened.environment);
        }
        let program = program.current_dir(self.work()).stdin(Stdio::null()).output();
        program.expect("this test needs timeout and bash").status.code()
    }

    fn context(&self) -> GateContext {
        let workspace = self.work().to_str().expect("a path of plain text").to_owned();
        GateContext { workspace, ..GateContext::default() }
    }
}

const NAMESPACES: [&str; 8] =
    ["--user", "--map-root-user", "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child"];

/// Whether the time limit ended it.
fn is_killed(code: Option<i32>) -> bool {
    matches!(code, None | Some(124 | 137))
}

/// Mode, time of change and content of everything below a folder.
type Tree = BTreeMap<PathBuf, (u32, i64, i64, u64)>;

fn tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path).expect("what was listed is there");
        let mut hasher = DefaultHasher::new();
        if found.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder can be read");
            open.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
        } else if found.is_file() {
            fs::read(&path).expect("a file can be read").hash(&mut hasher);
        }
        tree.insert(path, (found.mode(), found.mtime(), found.mtime_nsec(), hasher.finish()));
    }
    tree
}

fn corpus() -> Vec<String> {
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("the fixture is JSON lines");
        row["cmd"].as_str().expect("a row has a command").to_owned()
    };
    let everyday = EVERYDAY.lines().filter(|line| !line.is_empty());
    let everyday = everyday.map(|line| line.replace("\\n", "\n").replace("\\t", "\t"));
    let by_family = support::by_family(EVERYDAY_BY_FAMILY);
    SAMPLE.lines().chain(CASES.lines()).map(row).chain(everyday).chain(by_family).collect()
}

#[test]
fn an_allowed_command_changes_nothing_and_runs_nothing_of_the_repository() {
    let sandbox = Sandbox::new("allowed");
    let (gate, context) = (Gate::new(), sandbox.context());
    let before = tree(&sandbox.base);
    let (mut ran, mut succeeded) = (0, 0);
    let mut wrong = Vec::new();
    let mut before = before;
    for command in corpus() {
        let command = command.replace("/ws", &context.workspace);
        let verdict = gate.judge_command(&command, &context);
        if verdict.decision != Decision::Allow {
            continue;
        }
        let code = sandbox.run(&command, verdict.hardened.as_ref());
        if is_killed(code) {
            wrong.push(format!("does not end: {command}"));
        }
        ran += 1;
        succeeded += usize::from(code == Some(0));
        let after = tree(&sandbox.base);
        let changed: Vec<_> = after.iter().filter(|(path, found)| before.get(*path) != Some(found)).collect();
        if !changed.is_empty() || after.len() != before.len() {
            wrong.push(format!("{command}: {:?}", changed.iter().map(|(path, _)| path).collect::<Vec<_>>()));
            before = after;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(500 < ran, "only {ran} commands ran");
    // Otherwise the repository or the programs are not those that the commands are about.
    assert!(ran / 2 < succeeded, "only {succeeded} of {ran} commands did what they are for");
}

#[test]
fn the_sandbox_sees_what_a_command_does() {
    let sandbox = Sandbox::new("seen");
    let changes = |command: &str| {
        let before = tree(&sandbox.base);
        sandbox.run(command, None);
        before != tree(&sandbox.base)
    };
    assert!(!changes("cat README.md"));
    assert!(changes("touch new"));
    assert!(changes("echo x >>README.md"));
    assert!(changes("chmod +x README.md"));
    // Without the hardened form the programs that the repository names do run.
    assert!(changes("git diff"));
    assert!(changes("git status"));
    assert!(changes("git log --show-signature -p -2; git show --textconv HEAD"));
    assert!(is_killed(sandbox.run("sleep 20", None)));
}
