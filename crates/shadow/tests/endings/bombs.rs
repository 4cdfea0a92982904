//! Commands that use up what they can get.

use std::time::Duration;

use headstart_shadow::{Command, End, Limits, Options, Output, View};
use libtest_mimic::Trial;

use crate::{PATIENCE, options, workspace};

/// A name, a line of the shell, and what becomes of it.
type Row = (&'static str, &'static str, fn(&Output) -> bool);

const ROWS: [Row; 7] = [
    ("processes", "while :; do sleep 1000 & done", is_bounded_in_processes),
    ("bytes", "cat /dev/zero > big", |output| output.refused.quota && !output.end.is_success()),
    ("bytes_in_tmp", "cat /dev/zero > /tmp/big", |output| output.refused.quota && !output.end.is_success()),
    ("files", "n=0; while : > f$n; do n=$((n + 1)); done; exit 1", |output| output.refused.quota),
    ("memory", "python3 -c 'x = []\nwhile True: x.append(bytearray(1 << 24))'", |output| {
        output.end == End::Memory
    }),
    (
        "memory_of_many",
        "for n in 1 2 3 4 5 6 7 8; do python3 -c 'x = bytearray(50000000); import time; time.sleep(1000)' & done; wait",
        |output| output.end == End::Memory,
    ),
    ("output", "yes", |output| {
        output.end == End::TimeUp && output.truncated && output.stdout.len() == 1 << 20
    }),
];

/// They are counted and ended, or a fork fails, and the shell gives up. Started one by one: should the bound not hold, the machine does.
fn is_bounded_in_processes(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
    output.end == End::Processes || (!output.end.is_success() && said.contains("fork"))
}

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, line, is_right): Row| {
        Trial::test(format!("bomb_of_{name}"), move || {
            explode(line, is_right);
            Ok(())
        })
    };
    ROWS.into_iter().map(trial).collect()
}

fn explode(line: &str, is_right: fn(&Output) -> bool) {
    let folder = workspace();
    let limits =
        Limits { bytes: 16 << 20, files: 2_000, processes: 100, memory: 256 << 20, ..Limits::default() };
    let options = Options { limits, ..options(folder.path()) };
    let mut view = View::start(&options).unwrap();
    let time = if line == "yes" { Duration::from_secs(1) } else { PATIENCE };
    let output = view.run(&Command::shell(line, time)).unwrap();
    let shown = Output { stdout: output.stdout.iter().take(300).copied().collect(), ..output.clone() };
    assert!(is_right(&output), "{shown:?}");
    if output.end != End::TimeUp {
        // What was running is gone, and the view serves on.
        let next =
            view.run(&Command::shell("rm -f big /tmp/big f*; ls -d /proc/[0-9]* | wc -l", PATIENCE)).unwrap();
        let left: u32 = String::from_utf8_lossy(&next.stdout).trim().parse().unwrap();
        assert!(left <= 5, "{left}");
    }
}
