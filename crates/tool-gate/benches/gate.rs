//! The decision on a sample of commands, beside parsing the same text with the grammar alone.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use headstart_tool_gate::{Gate, GateContext};
use tree_sitter::Parser;

fn commands() -> Vec<String> {
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).expect("the fixture is JSON lines");
        row["cmd"].as_str().expect("a row has a command").to_owned()
    };
    include_str!("../tests/data/sample.jsonl").lines().map(row).collect()
}

fn sample(criterion: &mut Criterion) {
    let commands = commands();
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    let gate = Gate::new();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar fits the library");

    let mut group = criterion.benchmark_group("sample");
    group.throughput(Throughput::Elements(commands.len() as u64));
    group.bench_function("decision", |bencher| {
        bencher.iter(|| {
            for command in &commands {
                black_box(gate.judge_command(black_box(command), &context));
            }
        });
    });
    group.bench_function("floor: parse alone", |bencher| {
        bencher.iter(|| {
            for command in &commands {
                black_box(parser.parse(black_box(command.as_bytes()), None));
            }
        });
    });
    group.finish();
}

fn one(criterion: &mut Criterion) {
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    let gate = Gate::new();
    let long = "ls -la src; ".repeat(500);
    let document = format!("cat <<'EOF'\n{}EOF", "a line of text\n".repeat(2_000));
    let cases = [
        ("ls", "ls -la"),
        ("pipeline", "grep -rn TODO src 2>/dev/null | head -20"),
        ("git", "git log --oneline -10"),
        ("refused", "rm -rf target && cargo build"),
        ("500 commands", long.as_str()),
        ("here-document of 30 kB", document.as_str()),
    ];
    for (name, command) in cases {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| gate.judge_command(black_box(command), &context));
        });
    }
    let huge = "$(".repeat(1 << 19);
    criterion.bench_function("hostile megabyte", |bencher| {
        bencher.iter(|| gate.judge_command(black_box(&huge), &context));
    });
}

criterion_group!(benches, sample, one);
criterion_main!(benches);
