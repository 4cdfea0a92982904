//! Every allowed command of the corpora, run as an executor would run it, over a repository that names a program in
//! every place where git looks for one. Each must end, change nothing, start no program that it does not name, and open
//! no socket.
//!
//! | what is demanded | how it is seen |
//! |---|---|
//! | nothing changes | the scratch folder, `/tmp`, `/home` and their like are compared after each command; the rest of the machine is mounted read-only |
//! | no other program | the command runs once more below Landlock, which lets only those programs start whose names stand in its text (and what these are known to start), and must show the same output and exit code |
//! | no socket | in that second run a filter kills a process that opens a socket which is not local; there is no network in either run |
//!
//! The test does not see a program or a socket whose failure shows neither in the output nor in the exit code, a
//! program whose name is in the text as data, and a write that is undone before the command ends.
//!
//! If the system permits no namespaces or has no Landlock, the test says so and checks the rest.
//!
//! It runs some 1,500 commands several times each, which takes minutes, so it is ignored unless asked for:
//!
//! ```text
//! cargo test -p headstart-tool-gate --test sandbox -- --ignored
//! ```
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the test runs programs over files")]

#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
mod tree;

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("no namespaces on this system: the sandbox test runs on Linux only");
}

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["inside", base, isolated] => inside::run(std::path::Path::new(base), *isolated == "isolated"),
        ["confined", text] => inside::confined(text),
        _ => {
            let test = libtest_mimic::Trial::test("allowed_commands_only_read", || {
                tests::run();
                Ok(())
            });
            let arguments = libtest_mimic::Arguments::from_args();
            libtest_mimic::run(&arguments, vec![test.with_ignored_flag(true)]).exit();
        }
    }
}

#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use headstart_tool_gate::{Decision, Gate, GateContext, Hardened, clean_environment};
    use serde_json::{Value, json};

    use crate::support;

    const REPOSITORY: &str = include_str!("../data/repository.sh");
    const SAMPLE: &str = include_str!("../data/sample.jsonl");
    const CASES: &str = include_str!("../data/cases.jsonl");
    const EVERYDAY: &str = include_str!("../data/everyday.txt");
    const EVERYDAY_BY_FAMILY: &str = include_str!("../data/everyday_by_family.txt");
    const NAMESPACES: [&str; 9] = [
        "--user",
        "--map-root-user",
        "--mount",
        "--net",
        "--ipc",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];

    pub(super) fn run() {
        let isolated = Command::new("unshare").args(NAMESPACES).arg("true").stdin(Stdio::null()).output();
        let isolated = isolated.is_ok_and(|output| output.status.success());
        if !isolated {
            eprintln!(
                "no namespaces here: commands run in a plain scratch folder, with the network in reach"
            );
        }
        the_sandbox_sees_what_a_command_does(isolated);
        eprintln!("the sandbox sees what a command does ... ok");
        let (ran, succeeded) = allowed_commands_only_read(isolated);
        eprintln!("{ran} allowed commands only read ({succeeded} with exit code 0) ... ok");
    }

    /// Makes a scratch folder with the repository.
    fn repository(name: &str) -> PathBuf {
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
        fs::remove_dir_all(base.join("marks")).expect("the marks of the preparation go away");
        fs::create_dir(base.join("marks")).expect("a folder for marks");
        base
    }

    /// The report of the process in the namespaces: whether it confines commands, and a row for each command.
    fn report(base: &Path, isolated: bool, commands: &[(String, Option<Hardened>)]) -> (bool, Vec<Value>) {
        let row = |(command, hardened): &(String, Option<Hardened>)| {
            format!("{}\n", json!({ "command": command, "hardened": hardened }))
        };
        let rows: Vec<String> = commands.iter().map(row).collect();
        fs::write(base.with_extension("commands"), rows.concat()).expect("a file for the commands");
        let exe = std::env::current_exe().expect("a program knows its file");
        let mut program = if isolated {
            let mut program = Command::new("unshare");
            program.args(NAMESPACES).arg(exe);
            program
        } else {
            Command::new(exe)
        };
        program.arg("inside").arg(base).arg(if isolated { "isolated" } else { "open" });
        let output =
            program.stdin(Stdio::null()).stderr(Stdio::inherit()).output().expect("it can be started");
        assert!(output.status.success(), "the process in the namespaces ended with {}", output.status);
        let text = String::from_utf8(output.stdout).expect("the report is text");
        let mut rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row is JSON"));
        let first = rows.next().expect("the report starts with what it can see");
        let confines = first["confines"] == true;
        if !confines {
            eprintln!(
                "no Landlock or no seccomp here: programs and sockets that a command hides are not seen"
            );
        }
        assert!(
            !isolated || Some(2) <= first["watched"].as_u64(),
            "no folder besides the scratch folder is watched"
        );
        let rows: Vec<Value> = rows.collect();
        assert_eq!(rows.len(), commands.len(), "a row for each command");
        (confines, rows)
    }

    fn corpus() -> Vec<String> {
        let everyday = EVERYDAY.lines().filter(|line| !line.is_empty());
        let everyday = everyday.map(support::spelled_out);
        let by_family = support::by_family(EVERYDAY_BY_FAMILY);
        SAMPLE.lines().chain(CASES.lines()).map(support::of_row).chain(everyday).chain(by_family).collect()
    }

    fn allowed_commands_only_read(isolated: bool) -> (usize, usize) {
        let base = repository("allowed");
        let workspace = base.join("work").to_str().expect("a path of plain text").to_owned();
        let context = GateContext { workspace, ..GateContext::default() };
        let gate = Gate::new();
        let mut commands: Vec<(String, Option<Hardened>)> = Vec::new();
        for command in corpus() {
            let command = command.replace("/ws", &context.workspace);
            let verdict = gate.judge_command(&command, &context);
            let known = commands.iter().any(|(other, _)| *other == command);
            if verdict.decision == Decision::Allow && !known {
                commands.push((command, verdict.hardened));
            }
        }
        let (_, rows) = report(&base, isolated, &commands);
        let wrong: Vec<&Value> =
            rows.iter().filter(|row| row["seen"].as_array().is_none_or(|seen| !seen.is_empty())).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(500 < rows.len(), "only {} commands ran", rows.len());
        // If fewer commands succeeded, the repository or the programs would not be those that the commands are about.
        let succeeded = rows.iter().filter(|row| row["code"] == 0).count();
        assert!(
            rows.len() / 2 < succeeded,
            "only {succeeded} of {} commands did what they are for",
            rows.len()
        );
        (rows.len(), succeeded)
    }

    /// A kind of violation: the text that its row contains, and whether seeing it needs namespaces or the confined run.
    struct Kind {
        sign: &'static str,
        namespaces: bool,
        confined: bool,
    }

    const NOTHING: Kind = Kind { sign: "", namespaces: false, confined: false };
    const CHANGES: Kind = Kind { sign: "changes ", namespaces: false, confined: false };
    const ELSEWHERE: Kind = Kind { sign: "changes /", namespaces: true, confined: false };
    const STARTS: Kind = Kind { sign: "starts a program", namespaces: false, confined: true };
    const HANGS: Kind = Kind { sign: "does not end", namespaces: false, confined: false };

    fn the_sandbox_sees_what_a_command_does(isolated: bool) {
        let cases = [
            ("cat README.md", NOTHING),
            ("ls | sort | head -3", NOTHING),
            ("date +%N", NOTHING),
            ("touch new", CHANGES),
            ("rm new", CHANGES),
            ("echo x >>README.md", CHANGES),
            ("chmod +x README.md", CHANGES),
            ("touch /dev/shm/new", ELSEWHERE),
            ("echo x >/dev/shm/other; true", ELSEWHERE),
            // Without the hardened form the programs that the repository names do run.
            ("git diff", CHANGES),
            ("git status", CHANGES),
            ("git log --show-signature -p -2; git show --textconv HEAD", CHANGES),
            // The names of the programs are not in the text of these commands.
            ("$'\\x6c\\x73'", STARTS),
            ("c=$(printf '\\154\\163'); \"$c\" | cat", STARTS),
            ("exec 3<>/dev/tcp/127.0.0.1/9", STARTS),
            ("exec 3>/dev/udp/127.0.0.1/9; true", STARTS),
            ("sleep 20", HANGS),
        ];
        let base = repository("seen");
        let commands: Vec<(String, Option<Hardened>)> =
            cases.iter().map(|(command, _)| ((*command).to_owned(), None)).collect();
        let (confines, rows) = report(&base, isolated, &commands);
        for ((command, kind), row) in cases.iter().zip(&rows) {
            let seen = row["seen"].as_array().expect("a row lists what was seen");
            if kind.sign.is_empty() {
                assert!(seen.is_empty(), "{command}: {seen:?}");
                continue;
            }
            if (kind.namespaces && !isolated) || (kind.confined && !confines) {
                continue;
            }
            let shown = seen.iter().any(|seen| seen.as_str().is_some_and(|seen| seen.starts_with(kind.sign)));
            assert!(shown, "{command}: {seen:?}");
        }
    }
}
