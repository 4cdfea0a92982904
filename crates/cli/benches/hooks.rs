//! Measures what a hook adds to a command of another product, and what a confined run adds. Both are compared with the
//! start of a program that does nothing.
//!
//! Run it with `cargo bench -p headstart --bench hooks`. The figures are medians over the same rounds.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

/// The number of rounds. If the benchmark runs as a test, each command runs once.
fn rounds() -> usize {
    if std::env::args().any(|argument| argument == "--bench") { 200 } else { 1 }
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("a.txt"), "one\n").unwrap();
    let message = |command: &str| {
        let input = json!({ "command": command });
        json!({ "hook_event_name": "PreToolUse", "cwd": project, "tool_name": "Bash", "tool_input": input })
            .to_string()
    };
    let reads = "for f in *.txt; do awk 'END{print NR}' \"$f\"; done";
    let headstart = env!("CARGO_BIN_EXE_headstart");
    let hook = [headstart, "hook", "claude-code"];
    let cases: [(&str, &[&str], String); 6] = [
        ("/bin/true", &["/bin/true"], String::new()),
        ("headstart --version", &[headstart, "--version"], String::new()),
        ("hook, a loop that reads", &hook, message(reads)),
        ("hook, touch x", &hook, message("touch x")),
        ("bash -c true", &["/bin/bash", "-c", "true"], String::new()),
        ("run --read-only -- true", &[headstart, "run", "--read-only", "--", "true"], String::new()),
    ];
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..rounds() {
        for ((_, words, input), times) in cases.iter().zip(&mut times) {
            times.push(time(words, input, &project, folder.path()));
        }
    }
    for ((name, ..), times) in cases.iter().zip(&mut times) {
        times.sort_unstable();
        println!("{name:<26}{:>8.2} ms", times[times.len() / 2].as_secs_f64() * 1000.0);
    }
}

fn time(words: &[&str], input: &str, project: &Path, home: &Path) -> Duration {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(project).env_clear();
    command.env("HOME", home).env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/bash");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    // The write fails if a program that does not read its input has ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let time = started.elapsed();
    assert!(output.status.success(), "{words:?}");
    assert_eq!(input.contains("awk"), !output.stdout.is_empty() && !input.is_empty(), "{words:?}");
    time
}
