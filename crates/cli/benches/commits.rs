//! Compares a commit that is made ahead with the same commit made by git itself. Also measures whether a command that
//! leaves git alone takes longer in a repository than without one; it should not.
//!
//! Each round measures everything one after the other, with the binary: `cargo bench -p headstart --bench commits`.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROUNDS: usize = 20;
const FILES: usize = 1_000;

/// A user with a project, which may be a repository.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new(has_repository: bool) -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.home()).unwrap();
        fs::write(world.home().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.com\n")
            .unwrap();
        for number in 0..FILES {
            let folder = world.project().join(format!("d{}", number % 50));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("f{number}.txt")), format!("{number}\n")).unwrap();
        }
        if has_repository {
            for arguments in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "first"]] {
                world.git(arguments);
            }
        }
        world
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Output {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env("HOME", self.home()).env("PATH", std::env::var_os("PATH").unwrap());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        ran
    }

    fn git(&self, arguments: &[&str]) -> Duration {
        let started = Instant::now();
        self.run("git", arguments);
        started.elapsed()
    }

    /// Runs work ahead that writes a file and then runs `command`. Returns the id of the work, and the time it spent in
    /// tools.
    fn ahead(&self, command: &str) -> (String, Duration) {
        let write =
            json!({ "name": "write_file", "args": { "file_path": "d0/f0.txt", "content": "changed\n" } });
        let shell = json!({ "name": "shell", "args": { "command": command } });
        let turns = json!({ "turns": [{ "toolCalls": [write, shell] }, { "text": "Done." }] });
        let recording = self.folder.path().join("recording.json");
        fs::write(&recording, turns.to_string()).unwrap();
        let model = format!("replay:{}", recording.display());
        let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "change"];
        let ran = self.run(env!("CARGO_BIN_EXE_headstart"), &arguments);
        let last = String::from_utf8(ran.stdout).unwrap().lines().last().unwrap().to_owned();
        let finished: Value = serde_json::from_str(&last).unwrap();
        assert_eq!(finished["status"], "completed", "{finished}");
        let millis = finished["usage"]["toolMs"].as_u64().unwrap();
        (finished["id"].as_str().unwrap().to_owned(), Duration::from_millis(millis))
    }

    fn accept(&self, id: &str) -> Duration {
        let started = Instant::now();
        self.run(env!("CARGO_BIN_EXE_headstart"), &["accept", id, "--mode", "auto-edit"]);
        started.elapsed()
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn main() {
    let names = [
        "git commit itself",
        "ahead: a command that writes, in a repository",
        "ahead: the same where there is none",
        "ahead: git commit",
        "accept of files",
        "accept of files and a commit",
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    for _ in 0..ROUNDS {
        let itself = World::new(true);
        fs::write(itself.project().join("d0/f0.txt"), "changed\n").unwrap();
        times[0].push(itself.git(&["commit", "-qam", "second"]));
        let (with, without) = (World::new(true), World::new(false));
        let (id, ran) = with.ahead("echo x > made.txt");
        times[1].push(ran);
        times[2].push(without.ahead("echo x > made.txt").1);
        times[4].push(with.accept(&id));
        let commits = World::new(true);
        let (id, ran) = commits.ahead("git commit -qam second");
        times[3].push(ran);
        times[5].push(commits.accept(&id));
        assert_eq!(commits.run("git", &["status", "--porcelain"]).stdout, b"");
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    println!("medians of {ROUNDS} rounds, {FILES} files, in milliseconds");
    for (name, median) in names.iter().zip(&medians) {
        println!("{median:8.1}  {name}");
    }
    let added = medians[3] - medians[1] + medians[5] - medians[4];
    println!(
        "{:8.2}  times `git commit` is what a commit adds to the work and to its accept",
        added / medians[0]
    );
    println!(
        "{:8.2}  times is what a command takes that leaves git alone, in a repository",
        medians[1] / medians[2]
    );
}
