//! Compares a command in a view of another process, which is reached as another machine would be, with a command in a
//! view of this process, over 50,000 files: `cargo bench -p headstart --bench remote`.
//!
//! No network lies between the two processes, so the time that a network takes has to be added.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROUNDS: usize = 5;
const FILES: usize = 50_000;
/// The number of commands in one speculation. All of them use one connection.
const COMMANDS: u32 = 10;

/// A user with a project, and a second machine.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.at("home/.config/headstart")).unwrap();
        fs::create_dir_all(world.at("there")).unwrap();
        for number in 0..FILES {
            let folder = world.at("project").join(format!("d{}", number % 500));
            if number < 500 {
                fs::create_dir_all(&folder).unwrap();
            }
            fs::write(folder.join(format!("f{number}.txt")), format!("{number:04096}\n")).unwrap();
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn reach_other(&self, is_other: bool) {
        let program = env!("CARGO_BIN_EXE_headstart");
        let home = format!("HOME={}", self.at("there").display());
        let text = format!("[shadow]\nremote = ['env', '{home}', '{program}', 'shadow', 'serve']\n");
        fs::write(self.at("home/.config/headstart/config.toml"), if is_other { text } else { String::new() })
            .unwrap();
    }

    fn run(&self, program: &str, arguments: &[&str]) -> (Output, Duration) {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.at("project")).env_clear();
        command.env("HOME", self.at("home")).env("PATH", std::env::var_os("PATH").unwrap());
        let started = Instant::now();
        let ran = command.output().unwrap();
        let time = started.elapsed();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        (ran, time)
    }

    fn in_view(&self) -> Duration {
        self.run(env!("CARGO_BIN_EXE_headstart"), &["shadow", "run", "--", "true"]).1
    }

    /// The time that a speculation spends in each command after the first.
    fn each(&self) -> Duration {
        let time = |count: u32| {
            let call = json!({ "name": "shell", "args": { "command": "bash -c true" } });
            let calls = vec![call; count as usize];
            let recording = json!({ "turns": [{ "toolCalls": calls }, { "text": "Done." }] });
            fs::write(self.at("recording.json"), recording.to_string()).unwrap();
            let model = format!("replay:{}", self.at("recording.json").display());
            let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "x"];
            let (ran, _) = self.run(env!("CARGO_BIN_EXE_headstart"), &arguments);
            let last = String::from_utf8(ran.stdout).unwrap().lines().last().unwrap().to_owned();
            let finished: Value = serde_json::from_str(&last).unwrap();
            assert_eq!(finished["status"], "completed", "{finished}");
            Duration::from_millis(finished["usage"]["toolMs"].as_u64().unwrap())
        };
        time(COMMANDS + 1).saturating_sub(time(1)) / COMMANDS
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn main() {
    let world = World::new();
    let names = [
        "true",
        "a view of this machine, from nothing to the end",
        "a view elsewhere, the same, nothing changed",
        "a view elsewhere, the same, one file changed",
        "each further command of a speculation: here",
        "each further command of a speculation: elsewhere",
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    world.reach_other(false);
    world.in_view();
    world.reach_other(true);
    let first = world.in_view();
    let second = world.in_view();
    for round in 0..ROUNDS {
        times[0].push(world.run("true", &[]).1);
        world.reach_other(false);
        times[1].push(world.in_view());
        world.reach_other(true);
        times[2].push(world.in_view());
        fs::write(world.at("project/d0/f0.txt"), format!("{round}\n")).unwrap();
        times[3].push(world.in_view());
        if round % 2 == 0 {
            world.reach_other(false);
            times[4].push(world.each());
            world.reach_other(true);
            times[5].push(world.each());
        }
    }
    println!("{FILES} files of 4 KiB, medians of {ROUNDS} rounds, in milliseconds");
    println!(
        "{:8.1}  a view elsewhere for the first time: all files are read, sent and written",
        first.as_secs_f64() * 1_000.0
    );
    println!("{:8.1}  the next time", second.as_secs_f64() * 1_000.0);
    for (name, times) in names.iter().zip(times) {
        println!("{:8.1}  {name}", median(times));
    }
}
