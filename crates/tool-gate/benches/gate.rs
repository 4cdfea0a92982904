//! Measures the decision on a sample of commands, beside parsing the same text with the grammar alone.
#![expect(clippy::wildcard_imports, reason = "a group of benchmarks is a module of this file")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use headstart_tool_gate::{Gate, GateContext};
use tree_sitter::Parser;

fn main() {
    divan::main();
}

fn context() -> GateContext {
    GateContext { workspace: "/ws".to_owned(), ..GateContext::default() }
}

mod sample {
    use super::*;

    fn commands() -> Vec<String> {
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).expect("the fixture is JSON lines");
            row["cmd"].as_str().expect("a row has a command").to_owned()
        };
        include_str!("../tests/data/sample.jsonl").lines().map(row).collect()
    }

    #[divan::bench]
    fn decision(bencher: Bencher<'_, '_>) {
        let (commands, context, gate) = (commands(), context(), Gate::new());
        bencher.counter(ItemsCount::new(commands.len())).bench_local(|| {
            for command in &commands {
                black_box(gate.judge_command(black_box(command), &context));
            }
        });
    }

    #[divan::bench(name = "floor: parse alone")]
    fn floor(bencher: Bencher<'_, '_>) {
        let commands = commands();
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar fits the library");
        bencher.counter(ItemsCount::new(commands.len())).bench_local(|| {
            for command in &commands {
                black_box(parser.parse(black_box(command.as_bytes()), None));
            }
        });
    }
}

const KINDS: [&str; 7] =
    ["ls", "pipeline", "git", "refused", "500 commands", "here-document of 30 kB", "hostile megabyte"];

fn command(kind: &str) -> String {
    match kind {
        "ls" => "ls -la".to_owned(),
        "pipeline" => "grep -rn TODO src 2>/dev/null | head -20".to_owned(),
        "git" => "git log --oneline -10".to_owned(),
        "refused" => "rm -rf target && cargo build".to_owned(),
        "500 commands" => "ls -la src; ".repeat(500),
        "here-document of 30 kB" => format!("cat <<'EOF'\n{}EOF", "a line of text\n".repeat(2_000)),
        _ => "$(".repeat(1 << 19),
    }
}

#[divan::bench(args = KINDS)]
fn one(bencher: Bencher<'_, '_>, kind: &str) {
    let (command, context, gate) = (command(kind), context(), Gate::new());
    bencher.bench_local(|| gate.judge_command(black_box(&command), &context));
}
