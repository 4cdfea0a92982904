//! Commands that use up whatever they can get are ended at their limits.

use std::time::{Duration, Instant};

use headstart_shadow::{Command, End, Limits, Options, Output, View};
use libtest_mimic::Trial;
use rustix::time::{ClockId, clock_gettime};

use crate::{PATIENCE, options, workspace};

/// A name, a line of the shell, and a check of how it ended.
type Row = (&'static str, &'static str, fn(&Output) -> bool);

const ROWS: [Row; 11] = [
    ("processes", "while :; do sleep 1000 & done", is_bounded_in_processes),
    ("bytes", "cat /dev/zero > big", |output| output.refused.quota && !output.end.is_success()),
    ("bytes_in_tmp", "cat /dev/zero > /tmp/big", |output| output.refused.quota && !output.end.is_success()),
    ("files", "n=0; while : > f$n; do n=$((n + 1)); done; exit 1", |output| output.refused.quota),
    // This prints a time when it is close to the limit, so that the test can see how long it went on.
    (
        "memory",
        "perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e '$| = 1; $n = 1 << 24; while (1) { push @x, \"x\" x $n; printf \"%d\\n\", 1e9 * clock_gettime(CLOCK_MONOTONIC) if @x == 14 }'",
        |output| output.end == End::Memory && !output.stdout.is_empty(),
    ),
    (
        "memory_of_many",
        "for n in 1 2 3 4 5 6 7 8; do perl -e '$n = 50000000; $x = \"x\" x $n; sleep 1000' & done; wait",
        |output| output.end == End::Memory,
    ),
    // These end by themselves, so that the machine survives even if the limit does not hold.
    (
        "memory_files",
        "perl -e '$n = `uname -m` =~ /x86/ ? 319 : 279; $name = \"x\"; for (1..60) { my $fd = syscall($n, $name, 0); open(my $f, \"+>&=\", $fd) or die; syswrite($f, \"x\" x (1 << 24)); push @k, $f } sleep 1000'",
        |output| output.end == End::Memory,
    ),
    (
        "socket_buffers",
        "perl -MSocket -MIO::Handle -e '$x = \"x\" x 65536; for (1..3000) { socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; $a->blocking(0); 1 while syswrite($a, $x); push @k, $a, $b } sleep 1000'",
        |output| output.end == End::Memory,
    ),
    ("sleep", "sleep 1000", |output| output.end == End::TimeUp),
    // None of these processes reacts to a signal that asks it to end, and each is in its own session.
    (
        "deaf_ones",
        "trap '' TERM HUP INT; for n in $(seq 40); do setsid sh -c 'while :; do :; done' & done; wait",
        |output| output.end == End::TimeUp,
    ),
    ("output", "yes", |output| {
        output.end == End::TimeUp && output.truncated && output.stdout.len() == 1 << 20
    }),
];

/// Uses memory close to the limit, but not beyond it.
const HONEST: &str = "perl -e '$n = 1 << 24; push @x, \"x\" x $n for 1..12'";

/// The rows whose time limit is one second.
const TIMED: [&str; 3] = ["sleep", "deaf_ones", "output"];

/// Either the processes are counted and ended, or a fork fails and the shell gives up. The processes are started one by
/// one, so that the machine survives even if the limit does not hold.
fn is_bounded_in_processes(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
    output.end == End::Processes || (!output.end.is_success() && said.contains("fork"))
}

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, line, is_right): Row| {
        Trial::test(format!("bomb_of_{name}"), move || {
            explode(name, line, is_right);
            Ok(())
        })
    };
    ROWS.into_iter().map(trial).collect()
}

/// Reads the clock that programs in the view read as well.
fn monotonic() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().unwrap()
}

fn explode(name: &str, line: &str, is_right: fn(&Output) -> bool) {
    let folder = workspace();
    let limits =
        Limits { bytes: 16 << 20, files: 2_000, processes: 100, memory: 256 << 20, ..Limits::default() };
    let options = Options { limits, ..options(folder.path()) };
    let mut view = View::start(&options).unwrap();
    // Measures how long this machine takes for some ordinary work, because it may be busy.
    let begun = Instant::now();
    assert!(view.run(&Command::shell(HONEST, PATIENCE)).unwrap().end.is_success());
    let floor = begun.elapsed();
    let is_timed = TIMED.contains(&name);
    let time = if is_timed { Duration::from_secs(1) } else { PATIENCE };
    let begun = Instant::now();
    let output = view.run(&Command::shell(line, time)).unwrap();
    let ended = monotonic();
    let over = match String::from_utf8_lossy(&output.stdout).lines().last().map(str::parse) {
        Some(Ok(reached)) => ended.saturating_sub(Duration::from_nanos(reached)),
        _ => begun.elapsed().saturating_sub(time),
    };
    // A bomb that its limit does not end goes on for ever, so the extra seconds for a busy machine hide no failure.
    let most = Duration::from_secs(5) + 4 * floor;
    assert!(over <= most, "{over:?} over its limit, where honest work takes {floor:?}");
    let shown = Output { stdout: output.stdout.iter().take(300).copied().collect(), ..output.clone() };
    assert!(is_right(&output), "{shown:?}");
    if output.end != End::TimeUp {
        // The command's processes are gone, and the view can still be used.
        let next =
            view.run(&Command::shell("rm -f big /tmp/big f*; ls -d /proc/[0-9]* | wc -l", PATIENCE)).unwrap();
        let left: u32 = String::from_utf8_lossy(&next.stdout).trim().parse().unwrap();
        assert!(left <= 5, "{left}");
    }
}
