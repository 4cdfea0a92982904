//! Measures the time that the worst texts take: each family of `tests/limits.rs` at several sizes, the slowest first.
//!
//! ```text
//! cargo bench -p headstart-tool-gate --bench worst
//! ```
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark looks at the clock")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

#[path = "../tests/support/worst.rs"]
mod worst;

use std::time::{Duration, Instant};

use headstart_tool_gate::{Gate, GateContext, Verdict};
use worst::FAMILIES;

/// The longest time that a verdict should take, on a machine like that of docs/benchmarks.md.
const AIM: Duration = Duration::from_millis(20);
/// Sizes on both sides of every limit, and the longest text that is judged.
const SIZES: [usize; 13] =
    [250, 500, 1_000, 1_500, 2_000, 3_000, 4_500, 6_000, 8_000, 12_000, 16_000, 24_000, 32 * 1024 - 20];
const MEGABYTE: usize = 1 << 20;

struct Row {
    name: &'static str,
    bytes: usize,
    slowest: Duration,
    megabyte: Duration,
    verdict: Verdict,
}

fn main() {
    // Under `cargo test --benches` one run is enough, because that only checks that the benchmark runs.
    let measures = std::env::args().any(|argument| argument == "--bench");
    let gate = Gate::new();
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    gate.judge_command("ls", &context);
    let time = |text: &str| {
        // The machine may be busy with other things, so the fastest run counts.
        let runs = (0..if measures { 5 } else { 1 }).map(|_| {
            let start = Instant::now();
            let verdict = gate.judge_command(text, &context);
            (start.elapsed(), verdict)
        });
        runs.min_by_key(|(took, _)| *took).expect("there is at least one run")
    };
    let mut rows = Vec::new();
    for (name, family) in FAMILIES {
        let sizes: &[usize] = if measures { &SIZES } else { &SIZES[SIZES.len() - 1..] };
        let slowest = sizes.iter().map(|size| family(*size)).map(|text| (time(&text), text.len()));
        let ((slowest, verdict), bytes) =
            slowest.max_by_key(|((took, _), _)| *took).expect("there is at least one size");
        let (megabyte, _) = time(&family(MEGABYTE));
        rows.push(Row { name, bytes, slowest, megabyte, verdict });
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.slowest.max(row.megabyte)));
    println!("{:40} {:>10} {:>7} {:>10}  verdict", "family", "slowest", "bytes", "1 MB");
    for row in rows.iter().take(if measures { 24 } else { 3 }) {
        let (slowest, megabyte) = (milliseconds(row.slowest), milliseconds(row.megabyte));
        let verdict = format!("{:?}, {:?}", row.verdict.decision, row.verdict.reason);
        println!("{:40} {slowest:>10} {:>7} {megabyte:>10}  {verdict}", row.name, row.bytes);
    }
    let over = rows.iter().filter(|row| AIM < row.slowest.max(row.megabyte)).count();
    println!("{} families; {over} take more than {}", rows.len(), milliseconds(AIM));
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}
