//! Runs the fuzz targets of the gate, the overlay and the hooks for a while. Those of the gate and the hooks start from
//! seeds that are written first.
//!
//! The crates forbid unsafe code, so no sanitizer is needed. Without a sanitizer cargo-fuzz can build with the stable
//! toolchain.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

const DATA: &str = "crates/tool-gate/tests/data";
/// Words of the shell, for every target whose seeds are made from commands.
const DICTIONARY: &str = "crates/tool-gate/fuzz/shell.dict";

/// A fuzz target.
struct Target {
    name: &'static str,
    /// The crate in whose `fuzz` folder it is.
    room: &'static str,
    seeds: Seeds,
    /// The greatest length of an input in bytes. Other tests are for longer inputs.
    longest: u32,
}

/// The seeds of a target.
enum Seeds {
    Nothing,
    /// The commands of the gate's fixtures.
    Commands,
    /// The texts between single quotes in those commands that name this program.
    Programs(&'static str),
    /// Messages in which products ask about these commands.
    Messages,
}

const TARGETS: [Target; 6] = [
    Target { name: "parse", room: "crates/tool-gate", seeds: Seeds::Commands, longest: 2048 },
    Target { name: "sed", room: "crates/tool-gate", seeds: Seeds::Programs("sed"), longest: 2048 },
    Target { name: "awk", room: "crates/tool-gate", seeds: Seeds::Programs("awk"), longest: 2048 },
    Target { name: "classify", room: "crates/tool-gate", seeds: Seeds::Commands, longest: 2048 },
    Target { name: "histories", room: "crates/overlay-fs", seeds: Seeds::Nothing, longest: 300 },
    Target { name: "hook", room: "crates/cli", seeds: Seeds::Messages, longest: 2048 },
];
/// An input that takes longer than this many seconds counts as a hang.
const HANG: &str = "-timeout=5";
const MEMORY: &str = "-rss_limit_mb=1024";

/// Why the targets did not run, or what they found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FuzzError {
    #[error("{text:?} is no number of seconds")]
    Seconds { text: String },
    #[error("{target} is no fuzz target; there are parse, sed, awk, classify, histories and hook")]
    Target { target: String },
    #[error("cargo-fuzz is not installed; run: cargo install cargo-fuzz --locked")]
    NoTool,
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Row { path: PathBuf, source: serde_json::Error },
    #[error("cargo could not be started: {0}")]
    Start(std::io::Error),
    #[error("the fuzz targets do not build")]
    Build,
    #[error(
        "{target} found an input on which its check fails or hangs, in {room}/fuzz/artifacts/{target}; \
         mend that and make the input a test of {room}"
    )]
    Found { target: &'static str, room: &'static str },
}

/// Runs each target, or only the named one, for so many seconds.
pub(crate) fn run(repository: &Path, seconds: &str, only: Option<&str>) -> Result<(), FuzzError> {
    seconds.parse::<u32>().map_err(|_| FuzzError::Seconds { text: seconds.to_owned() })?;
    if let Some(target) = only.filter(|only| !TARGETS.iter().any(|target| target.name == *only)) {
        return Err(FuzzError::Target { target: target.to_owned() });
    }
    let installed = cargo(repository, &["fuzz", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err(FuzzError::NoTool);
    }
    let commands = commands(repository)?;
    for target in TARGETS.iter().filter(|target| only.is_none_or(|only| only == target.name)) {
        let folder = format!("{}/fuzz", target.room);
        let build = ["fuzz", "build", "--fuzz-dir", &folder, "--sanitizer", "none"];
        if !cargo(repository, &build).status().map_err(FuzzError::Start)?.success() {
            return Err(FuzzError::Build);
        }
        let mut command = cargo(
            repository,
            &["fuzz", "run", "--fuzz-dir", &folder, "--sanitizer", "none", target.name, "--"],
        );
        command.args([&format!("-max_total_time={seconds}"), &format!("-max_len={}", target.longest)]);
        command.args([HANG, MEMORY, "-print_final_stats=1", "-verbosity=0"]);
        if let Some(seeds) = seeds(&commands, &target.seeds) {
            write_seeds(repository, target, &seeds)?;
            command.arg(format!("-dict={}", repository.join(DICTIONARY).display()));
        }
        if !command.status().map_err(FuzzError::Start)?.success() {
            return Err(FuzzError::Found { target: target.name, room: target.room });
        }
    }
    Ok(())
}

fn cargo(repository: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(repository).args(arguments);
    command
}

/// Every command of the gate's fixtures.
fn commands(repository: &Path) -> Result<Vec<String>, FuzzError> {
    let read = |name: &str| {
        let path = repository.join(DATA).join(name);
        let text = std::fs::read_to_string(&path);
        text.map_err(|source| FuzzError::File { path: path.clone(), source }).map(|text| (path, text))
    };
    let mut commands = Vec::new();
    for name in ["attacks.txt", "everyday.txt"] {
        let (_, text) = read(name)?;
        commands.extend(text.lines().map(|line| line.replace("\\n", "\n").replace("\\t", "\t")));
    }
    for name in ["sample.jsonl", "cases.jsonl"] {
        let (path, text) = read(name)?;
        for line in text.lines() {
            let row: serde_json::Value =
                serde_json::from_str(line).map_err(|source| FuzzError::Row { path: path.clone(), source })?;
            commands.extend(row["cmd"].as_str().map(str::to_owned));
        }
    }
    Ok(commands)
}

fn seeds<'a>(commands: &'a [String], seeds: &Seeds) -> Option<BTreeSet<Cow<'a, str>>> {
    match seeds {
        Seeds::Nothing => None,
        Seeds::Commands => Some(commands.iter().map(|command| command.as_str().into()).collect()),
        Seeds::Programs(program) => {
            let commands = commands.iter().filter(|command| command.contains(program));
            Some(commands.flat_map(|command| command.split('\'').skip(1).step_by(2)).map(Cow::from).collect())
        }
        Seeds::Messages => {
            Some(commands.iter().enumerate().map(|(place, command)| message(place, command).into()).collect())
        }
    }
}

/// A message about a command, preceded by the letter that stands for its product.
fn message(place: usize, command: &str) -> String {
    let cwd = "/project";
    let (letter, message) = match place % 3 {
        0 => (
            'a',
            json!({ "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": "Bash", "tool_input": { "command": command } }),
        ),
        1 => (
            'd',
            json!({ "cwd": cwd, "toolName": "bash", "toolArgs": json!({ "command": command }).to_string() }),
        ),
        _ => ('e', json!({ "hook_event_name": "beforeShellExecution", "cwd": cwd, "command": command })),
    };
    format!("{letter}{message}")
}

/// Writes one file for each seed. The file is named by the seed's content, so that a second run writes the same files.
fn write_seeds(repository: &Path, target: &Target, seeds: &BTreeSet<Cow<'_, str>>) -> Result<(), FuzzError> {
    let folder = repository.join(target.room).join("fuzz/corpus").join(target.name);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| FuzzError::File { path, source }
    };
    std::fs::create_dir_all(&folder).map_err(failed(&folder))?;
    for seed in seeds {
        let path = folder.join(format!("seed-{:016x}", xxh3_64(seed.as_bytes())));
        std::fs::write(&path, seed.as_bytes()).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_seeds_for_every_target() {
        let commands = commands(&crate::repository()).unwrap();
        for target in &TARGETS {
            let seeds = seeds(&commands, &target.seeds);
            assert!(seeds.is_none_or(|seeds| 50 < seeds.len()), "{}", target.name);
        }
        let commands = ["sed 's/a/b/' x | awk '{print $1}'".to_owned(), "ls 'a'".to_owned()];
        let programs = seeds(&commands, &Seeds::Programs("sed")).unwrap();
        assert_eq!(programs.into_iter().collect::<Vec<_>>(), ["s/a/b/", "{print $1}"]);
        assert_eq!(seeds(&commands, &Seeds::Commands).unwrap().len(), 2);
    }

    #[test]
    fn wrong_arguments_are_told_before_anything_runs() {
        let nowhere = Path::new("/nowhere");
        assert!(matches!(run(nowhere, "long", None), Err(FuzzError::Seconds { .. })));
        assert!(matches!(run(nowhere, "1", Some("grep")), Err(FuzzError::Target { .. })));
    }
}
