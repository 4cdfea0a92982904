//! How views and their commands start, run and end.

use std::time::{Duration, Instant};

use headstart_shadow::{Command, End, Limits, Options, ShadowError, Streams, Support, View, support};

use crate::place::{PATIENCE, Place, Test, ok, path, sh};
use crate::state::state;

pub(crate) const TESTS: &[Test] = &[
    ("what_a_command_took_is_told", what_a_command_took),
    ("a_command_gives_way_to_others", a_command_gives_way_to_others),
    ("the_whole_view_gives_way_to_others", the_whole_view_gives_way_to_others),
    ("a_session_in_a_view_gives_way_to_others", a_session_in_a_view_gives_way_to_others),
    ("it_keeps_to_its_processors", it_keeps_to_its_processors),
    ("a_command_writes_and_nothing_changes", a_command_writes_and_nothing_changes),
    ("a_view_is_where_the_workspace_is", a_view_is_where_the_workspace_is),
    ("output_comes_in_order_or_apart_and_is_cut", output_comes_in_order_or_apart_and_is_cut),
    ("an_end_says_what_happened", an_end_says_what_happened),
    ("a_command_that_cannot_start_is_an_error_and_the_view_lives_on", a_command_that_cannot_start),
    ("time_that_is_up_ends_the_view", time_that_is_up_ends_the_view),
    ("what_a_command_leaves_behind_is_ended", what_a_command_leaves_behind_is_ended),
    ("a_view_is_ended_from_another_thread", a_view_is_ended_from_another_thread),
    ("the_environment_is_what_the_caller_gives", the_environment_is_what_the_caller_gives),
    ("support_is_found_by_trying", support_is_found_by_trying),
];

/// Tests that measure times. They are left out of the short run, because a busy machine falsifies them.
pub(crate) const FIGURES: &[Test] =
    &[("a_busy_view_leaves_most_of_a_processor_to_others", a_busy_view_leaves_most_of_a_processor_to_others)];

/// Tests of tiers in which everything written is kept in memory.
pub(crate) const MEMORY: &[Test] = &[("room_is_bounded", room_is_bounded)];

fn a_command_gives_way_to_others() {
    let place = Place::with(&[]);
    let said = ok(&mut place.view(), "sleep 0.1; nice; (sh -c nice); cut -d ' ' -f 19 /proc/1/stat");
    let said: Vec<i32> = said.lines().map(|line| line.parse().unwrap()).collect();
    // The view's first process keeps its own niceness, because it ends commands that are over their limits and must not
    // wait for processor time.
    let own: i32 =
        std::fs::read_to_string("/proc/self/stat").unwrap().split(' ').nth(18).unwrap().parse().unwrap();
    assert_eq!(said, [own.max(10), own.max(10), own]);
}

/// If the kernel divides processors between sessions first, a niceness within one session has no effect. The view's
/// session as a whole then needs a niceness too.
fn the_whole_view_gives_way_to_others() {
    let place = Place::with(&[]);
    let mut view = place.view();
    let first = child_of(view.process());
    let group = || std::fs::read_to_string(format!("/proc/{first}/autogroup"));
    let Ok(before) = group() else { return };
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    assert_ne!(name(&before), name(&std::fs::read_to_string("/proc/self/autogroup").unwrap()));
    // The kernel accepts this setting from users without rights only ten times a second, counted over all of them, so
    // it may take a while.
    let said = ok(
        &mut view,
        "for n in $(seq 100); do grep -q 'nice 10' /proc/1/autogroup && break; sleep 0.1; done; cat /proc/1/autogroup /proc/self/autogroup",
    );
    assert_eq!(said, format!("{0} nice 10\n{0} nice 10\n", name(&before)));
    assert_eq!(group().unwrap(), format!("{} nice 10\n", name(&before)));
}

/// A process that begins a session of its own is told apart by the kernel, and gets a niceness again.
fn a_session_in_a_view_gives_way_to_others() {
    let place = Place::with(&[]);
    let mut view = place.view();
    if std::fs::metadata("/proc/self/autogroup").is_err() {
        return;
    }
    let until = "for n in $(seq 100); do grep -q \"nice 10\" /proc/self/autogroup && break; sleep 0.1; done";
    let said = ok(&mut view, &format!("setsid -w sh -c '{until}; cat /proc/self/autogroup'"));
    assert!(said.ends_with(" nice 10\n"), "{said}");
}

/// Two processes that could each keep the same processor busy, one in a view and one outside, share it as their
/// sessions do.
#[expect(clippy::print_stdout, reason = "the figure is for whoever reads the test's output")]
fn a_busy_view_leaves_most_of_a_processor_to_others() {
    let place = Place::with(&[]);
    let limits = Limits { processors: 1, ..place.options().limits };
    let mut view = View::start(&Options { limits, ..place.options() }).unwrap();
    let processor = ok(&mut view, "taskset -cp $$ | tr -cd '0-9\n ' | tr ' ' '\n' | tail -n 1");
    let busy = "while :; do :; done";
    let mut other = std::process::Command::new("setsid")
        .args(["taskset", "-c", processor.trim(), "sh", "-c", busy])
        .spawn()
        .unwrap();
    let taken = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", other.id())).unwrap();
        stat.split(' ').nth(13).unwrap().parse::<u64>().unwrap() * 10
    };
    let before = taken();
    let output = sh(&mut view, &format!("timeout 4 sh -c '{busy}'"));
    let (of_other, of_view) = (taken() - before, output.spent.processor.as_millis());
    other.kill().unwrap();
    other.wait().unwrap();
    println!("of one processor: {of_other} ms beside the view, {of_view} ms in it");
    assert!(4 * of_view < u128::from(of_other), "{of_view} ms in the view, {of_other} ms beside it");
}

fn it_keeps_to_its_processors() {
    let place = Place::with(&[]);
    let all = place.options();
    let own = ok(&mut View::start(&all).unwrap(), "nproc");
    for (processors, expected) in [(1, "1\n"), (0, "1\n"), (100_000, own.as_str())] {
        let limits = Limits { processors, ..all.limits };
        let mut view = View::start(&Options { limits, ..place.options() }).unwrap();
        assert_eq!(ok(&mut view, "nproc"), expected);
    }
}

fn child_of(parent: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}

fn a_command_writes_and_nothing_changes() {
    let place = Place::with(&[("a.txt", "old"), ("sub/b.txt", "b")]);
    let before = state(&place.work());
    let mut view = place.view();
    let said = ok(&mut view, "echo new > a.txt && rm -r sub && mkdir -p c/d && echo x > c/d/e && cat a.txt");
    assert_eq!(said, "new\n");
    assert_eq!(ok(&mut view, "cat c/d/e; ls"), "x\na.txt\nc\n");
    assert_eq!(state(&place.work()), before);
    view.end();
    assert_eq!(state(&place.work()), before);
}

fn a_view_is_where_the_workspace_is() {
    let place = Place::with(&[("sub/b.txt", "b")]);
    let mut view = place.view();
    assert_eq!(view.workspace(), place.work());
    assert_eq!(ok(&mut view, "pwd"), format!("{}\n", place.work().display()));
    let sub = Command { directory: path("sub"), ..Command::shell("pwd; cat b.txt", PATIENCE) };
    let output = view.run(&sub).unwrap();
    assert_eq!(output.stdout, format!("{}/sub\nb", place.work().display()).into_bytes());
    assert_eq!(ok(&mut view, "id -u"), format!("{}\n", rustix::process::getuid().as_raw()));
}

fn output_comes_in_order_or_apart_and_is_cut() {
    let place = Place::with(&[]);
    let mut view = place.view();
    let line = "echo one; echo two >&2; echo three";
    let output = view.run(&Command::shell(line, PATIENCE)).unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"one\ntwo\nthree\n"[..], &b""[..]));
    let apart = Command { streams: Streams::Apart, ..Command::shell(line, PATIENCE) };
    let output = view.run(&apart).unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"one\nthree\n"[..], &b"two\n"[..]));
    let flood = Command { output: 1000, ..Command::shell("head -c 20000000 /dev/zero", PATIENCE) };
    let output = view.run(&flood).unwrap();
    assert_eq!((output.stdout.len(), output.truncated, output.end), (1000, true, End::Exited { code: 0 }));
}

fn an_end_says_what_happened() {
    let place = Place::with(&[]);
    let mut view = place.view();
    assert_eq!(sh(&mut view, "exit 7").end, End::Exited { code: 7 });
    assert_eq!(sh(&mut view, "kill -9 $$").end, End::Killed { signal: 9 });
    assert_eq!(sh(&mut view, "true").end, End::Exited { code: 0 });
}

fn a_command_that_cannot_start() {
    let place = Place::with(&[]);
    let mut view = place.view();
    for command in [
        Command::new(["no-such-program"], PATIENCE),
        Command { directory: path("gone"), ..Command::shell("true", PATIENCE) },
        Command::new(Vec::<String>::new(), PATIENCE),
        Command::shell("true\0", PATIENCE),
    ] {
        let error = view.run(&command).unwrap_err();
        assert!(matches!(error, ShadowError::Command { .. }), "{error}");
    }
    assert_eq!(ok(&mut view, "echo there"), "there\n");
}

fn time_that_is_up_ends_the_view() {
    let place = Place::with(&[]);
    for line in ["sleep 100", "yes", "while :; do :; done", "trap '' TERM HUP; (setsid sleep 100) & wait"] {
        let mut view = place.view();
        let started = Instant::now();
        let output = view.run(&Command::shell(line, Duration::from_millis(300))).unwrap();
        assert_eq!(output.end, End::TimeUp, "{line}");
        assert!(started.elapsed() < PATIENCE, "{line}");
        assert!(view.has_ended());
        assert_eq!(view.run(&Command::shell("true", PATIENCE)).unwrap_err(), ShadowError::Ended);
    }
}

fn what_a_command_leaves_behind_is_ended() {
    let place = Place::with(&[]);
    let mut view = place.view();
    assert_eq!(ok(&mut view, "(setsid sleep 1000 &) ; (sleep 1000 &) ; echo started"), "started\n");
    let left = ok(&mut view, "ls -d /proc/[0-9]* | wc -l");
    // At most these are left: the view's first process, the shell, `ls` and `wc`.
    assert!(left.trim().parse::<u32>().unwrap() <= 4, "{left}");
}

fn a_view_is_ended_from_another_thread() {
    let place = Place::with(&[]);
    let mut view = place.view();
    let kill_handle = view.kill_handle().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let thread = std::thread::spawn(move || {
        // Once the command has printed something, it has begun.
        std::io::Read::read_exact(&mut &reader, &mut [0]).unwrap();
        kill_handle.kill();
    });
    let command = Command::shell("echo x; sleep 1000", PATIENCE);
    let outcome = view.run_into(&command, &mut |_, _| std::io::Write::write_all(&mut &writer, b"x").unwrap());
    assert_eq!(outcome.unwrap_err(), ShadowError::Ended);
    thread.join().unwrap();
}

fn the_environment_is_what_the_caller_gives() {
    let place = Place::with(&[]);
    let mut view = place.view();
    let command = Command::new(["/usr/bin/env"], PATIENCE)
        .with_variable("PATH", "/bin")
        .with_variable("A", "1=2")
        .with_variable("A", "3=4");
    let said = String::from_utf8(view.run(&command).unwrap().stdout).unwrap();
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=3=4", "PATH=/bin"]);
}

fn support_is_found_by_trying() {
    let place = Place::with(&[]);
    assert!(matches!(support(&place.options()), Support::Views { .. }));
    let gone = Options::new(place.work().join("gone"));
    assert!(matches!(support(&gone), Support::None { .. }));
    let no_entry = Options { program: "/bin/true".into(), ..place.options() };
    let error = View::start(&no_entry).unwrap_err().to_string();
    assert!(error.contains("headstart_shadow::entry"), "{error}");
}

fn room_is_bounded() {
    let place = Place::with(&[("a", "a")]);
    let limits = Limits { bytes: 4 << 20, files: 100, file_bytes: 64 << 20, ..Limits::default() };
    let options = Options { limits, ..place.options() };
    let start = || View::start(&options).unwrap();
    for folder in [".", "/tmp", "/dev/shm", "$HOME", "/var/tmp"] {
        let mut view = start();
        let line = format!("cd {folder} && head -c 8000000 /dev/zero > big");
        let command = Command::shell(line, PATIENCE).with_variable("HOME", place.home());
        let output = view.run(&command).unwrap();
        assert!(!output.end.is_success() && output.refused.quota, "{folder}: {output:?}");
        assert!(view.usage().unwrap().0 <= limits.bytes, "{folder}");
    }
    let mut view = start();
    let output = sh(&mut view, "for n in $(seq 3000); do : > f$n || exit 3; done");
    assert!(!output.end.is_success() && output.refused.quota, "{output:?}");
}

/// The time and memory of a process that its parent did not wait for count, too.
fn what_a_command_took() {
    let burn = "$n = 100 << 20; $x = 'x' x $n; 1 while (times)[0] + (times)[1] < 0.3;\n";
    let place = Place::with(&[("burn.pl", burn)]);
    let mut view = place.view();
    let line = "perl burn.pl & (setsid perl burn.pl; echo > done) & wait; while ! test -e done; do :; done";
    let spent = sh(&mut view, line).spent;
    let millis = spent.processor.as_millis();
    assert!((600..20_000).contains(&millis), "{spent:?}");
    assert!((100 << 20..1 << 30).contains(&spent.peak_bytes), "{spent:?}");
    let spent = sh(&mut view, "true").spent;
    assert!(spent.processor.as_millis() < 200, "{spent:?}");
}
