//! The process in the namespaces. It makes the rest of the machine read-only, runs commands and reports what they did.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use headstart_tool_gate::{Hardened, clean_environment};
use serde_json::{Value, json};

use crate::confine;
use crate::tree::Tree;

/// Folders in which programs leave files. They are empty file systems in memory while commands run.
const SCRATCH: [&str; 6] = ["/tmp", "/var/tmp", "/home", "/root", "/dev/shm", "/run"];
/// The time that one run of a command may take, in seconds.
const LIMIT: &str = "5";
/// The time limit in seconds for another run of a command that took longer, because the machine may have been busy.
const LAST_LIMIT: &str = "15";

/// How often a command is run again, confined and not confined, before a difference counts as one that always shows.
const RUNS: usize = 4;

/// What one run of a command showed.
#[derive(Debug)]
struct Shown {
    code: Option<i32>,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Shown {
    /// Whether two runs show the same. Lines are compared in any order, because programs that search with several
    /// threads print in any order.
    fn shows_as(&self, other: &Self) -> bool {
        self.code == other.code
            && sorted(&self.output) == sorted(&other.output)
            && sorted(&self.errors) == sorted(&other.errors)
    }

    fn is_killed(&self) -> bool {
        matches!(self.code, None | Some(124 | 137))
    }
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

struct Sandbox {
    base: PathBuf,
    /// The scratch folder, and the folders that are empty file systems.
    watched: Vec<PathBuf>,
    confines: bool,
}

/// Reads commands as JSON lines from a file, runs each, and prints one JSON line for each.
#[expect(clippy::print_stdout, reason = "the report is what the process outside reads")]
pub(crate) fn run(base: &Path, isolated: bool) {
    let mut watched = vec![base.to_owned()];
    if isolated {
        watched.extend(close(base));
    }
    let confines = confine_works();
    let sandbox = Sandbox { base: base.to_owned(), watched, confines };
    println!("{}", json!({ "watched": sandbox.watched.len(), "confines": confines }));
    let commands = fs::read_to_string(base.with_extension("commands")).expect("the commands were written");
    let mut before = Tree::of(&sandbox.watched);
    for line in commands.lines() {
        let row: Value = serde_json::from_str(line).expect("a line is JSON");
        let command = row["command"].as_str().expect("a row has a command");
        let hardened: Option<Hardened> =
            serde_json::from_value(row["hardened"].clone()).expect("a row has a hardened form, or null");
        let (code, mut seen) = sandbox.judge(command, hardened.as_ref());
        let after = Tree::of(&sandbox.watched);
        seen.extend(before.changes(&after).iter().map(|path| format!("changes {}", path.display())));
        println!("{}", json!({ "command": command, "code": code, "seen": seen }));
        before = after;
    }
}

impl Sandbox {
    /// The exit code of a command, and its effects other than reading.
    fn judge(&self, command: &str, hardened: Option<&Hardened>) -> (Option<i32>, Vec<String>) {
        let mut free = self.start(command, hardened, false);
        if free.is_killed() {
            free = self.start_within(LAST_LIMIT, command, hardened, false);
        }
        if free.is_killed() {
            return (free.code, vec!["does not end".to_owned()]);
        }
        if !self.confines {
            return (free.code, Vec::new());
        }
        let confined = self.start(command, hardened, true);
        let mut seen = Vec::new();
        if !free.shows_as(&confined) {
            // A command that prints the time, the number of a process or a random number does not always show the same,
            // with or without these limits. Neither does any command on a busy machine.
            let runs =
                |confined| -> Vec<_> { (0..RUNS).map(|_| self.start(command, hardened, confined)).collect() };
            let (others, walled) = (runs(false), runs(true));
            let differs = |is_same: fn(&Shown, &Shown) -> bool| {
                others.iter().all(|other| is_same(other, &free))
                    && !walled.iter().chain([&confined]).any(|other| is_same(other, &free))
            };
            if differs(|one, other| one.code == other.code) || differs(Shown::shows_as) {
                let errors = String::from_utf8_lossy(&confined.errors).into_owned();
                seen.push(format!("starts a program that it does not name, or opens a socket: {errors}"));
            }
        }
        (free.code, seen)
    }

    fn start(&self, command: &str, hardened: Option<&Hardened>, confined: bool) -> Shown {
        self.start_within(LIMIT, command, hardened, confined)
    }

    fn start_within(&self, limit: &str, command: &str, hardened: Option<&Hardened>, confined: bool) -> Shown {
        let text = hardened.and_then(Hardened::shown).unwrap_or(command);
        let mut program = Command::new("timeout");
        program.args(["-s", "KILL", limit]);
        if confined {
            program.arg(std::env::current_exe().expect("a program knows its file")).args(["confined", text]);
        } else {
            program.args(["bash", "--norc", "--noprofile", "-c", text]);
        }
        program.env_clear().envs(clean_environment(&self.base.join("home").to_string_lossy()));
        if let Some(hardened) = hardened {
            program.envs(&*hardened.environment);
        }
        let output = program.current_dir(self.base.join("work")).stdin(Stdio::null()).output();
        let output = output.expect("this test needs timeout and bash");
        Shown { code: output.status.code(), output: output.stdout, errors: output.stderr }
    }
}

/// Gives up rights and runs bash with `text`, in a separate process. Otherwise the time for giving up rights would
/// count in the output of `times`.
pub(crate) fn confined(text: &str) -> ! {
    let given_up = confine::programs_only(text).and_then(|()| confine::no_sockets());
    if let Err(error) = given_up {
        eprintln!("{error}");
        std::process::exit(125);
    }
    match Command::new("/bin/bash").arg0("bash").args(["--norc", "--noprofile", "-c", text]).status() {
        Ok(status) => {
            std::process::exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
        }
        Err(error) => {
            eprintln!("bash: {error}");
            std::process::exit(125);
        }
    }
}

/// Whether this kernel supports what [`confined`] needs.
fn confine_works() -> bool {
    let exe = std::env::current_exe().expect("a program knows its file");
    Command::new(exe).args(["confined", "true"]).status().is_ok_and(|status| status.success())
}

/// Makes everything read-only except `base` and the folders that are returned, which are empty.
fn close(base: &Path) -> Vec<PathBuf> {
    let mount = |arguments: &[&str]| {
        Command::new("mount")
            .args(arguments)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    // The folder that contains the scratch folder stays writable, because programs leave their temporary files in it.
    let around: Vec<&str> = SCRATCH.into_iter().filter(|folder| base.starts_with(folder)).collect();
    for folder in &around {
        assert!(
            mount(&["--make-rprivate", "/"]) && mount(&["--bind", folder, folder]),
            "{folder} is a mount"
        );
    }
    let own = base.to_string_lossy();
    assert!(
        mount(&["--make-rprivate", "/"]) && mount(&["--bind", &own, &own]),
        "the scratch folder is a mount"
    );
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the kernel lists its mounts");
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (point, options) = (fields[4].replace("\\040", " "), fields[5]);
        if Path::new(&point) != base && !around.contains(&point.as_str()) {
            // Flags that the machine has set must be kept, because the kernel refuses to remove them.
            let options = format!("remount,bind,{},ro", options.replace("rw,", ""));
            mount(&["-o", &options, &point]);
        }
    }
    assert!(
        fs::write("/usr/a-file-of-the-sandbox-test", "").is_err(),
        "the rest of the machine is read-only"
    );
    let exe = std::env::current_exe().expect("a program knows its file");
    let hides = |folder: &str| base.starts_with(folder) || exe.starts_with(folder);
    let scratch = SCRATCH.iter().filter(|folder| !hides(folder) && Path::new(folder).is_dir());
    let empty = scratch.filter(|folder| mount(&["-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder]));
    empty.map(PathBuf::from).collect()
}
