//! Measures the time of one decision, command by command, beside parsing the same text with the grammar alone. Prints
//! commands a second, mean, median, 99th percentile and the slowest.
//!
//! ```text
//! cargo bench -p headstart-tool-gate --bench percentiles
//! ```
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark looks at the clock")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use headstart_tool_gate::{Gate, GateContext};
use tree_sitter::Parser;

/// How often each command is timed. The machine may be busy with other things, so the fastest run counts.
const RUNS: usize = 200;

fn main() {
    // Under `cargo test --benches` one run is enough, because that only checks that the benchmark runs.
    let runs = if std::env::args().any(|argument| argument == "--bench") { RUNS } else { 1 };
    let commands: Vec<String> = include_str!("../tests/data/sample.jsonl").lines().map(command).collect();
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    let gate = Gate::new();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar fits the library");
    let (mut decision, mut parse) = (Vec::new(), Vec::new());
    for command in &commands {
        // Both are timed by turns, so that other load on the machine affects both.
        let (mut decided, mut parsed) = (Duration::MAX, Duration::MAX);
        for _ in 0..runs {
            decided = decided.min(time(|| gate.judge_command(black_box(command), &context)));
            parsed = parsed.min(time(|| parser.parse(black_box(command.as_bytes()), None)));
        }
        decision.push(decided);
        parse.push(parsed);
    }
    println!("{} commands, the fastest of {runs} runs each", commands.len());
    println!("{:12} {:>12} {:>10} {:>10} {:>10} {:>10}", "", "a second", "mean", "median", "p99", "slowest");
    let (decision, parse) = (Figures::of(decision), Figures::of(parse));
    for (name, figures) in [("decision", &decision), ("parse alone", &parse)] {
        let [mean, median, p99, slowest] = figures.0.map(|time| format!("{:.2} µs", time * 1e6));
        println!("{name:12} {:>12.0} {mean:>10} {median:>10} {p99:>10} {slowest:>10}", figures.0[0].recip());
    }
    let [mean, median, p99, slowest] =
        [0, 1, 2, 3].map(|place| format!("{:.2}", decision.0[place] / parse.0[place]));
    println!("{:12} {:>12} {mean:>10} {median:>10} {p99:>10} {slowest:>10}", "ratio", "");
}

fn command(row: &str) -> String {
    let row: serde_json::Value = serde_json::from_str(row).expect("the fixture is JSON lines");
    row["cmd"].as_str().expect("a row has a command").to_owned()
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = work();
    let took = start.elapsed();
    drop(black_box(result));
    took
}

/// Mean, median, 99th percentile and maximum, in seconds.
struct Figures([f64; 4]);

impl Figures {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let count = u32::try_from(times.len()).expect("a sample is not that long");
        let mean = (times.iter().sum::<Duration>() / count).as_secs_f64();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64();
        Self([mean, at(50), at(99), at(100)])
    }
}
