//! Processes that were prepared in advance serve for any view of the same program. If they do not fit, others are
//! started.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use headstart_shadow::{Limits, Options, Prepared, View};
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{PATIENCE, Place, Test, ok, sh};

pub(crate) const TESTS: &[Test] = &[
    ("what_is_prepared_serves_for_any_options", what_is_prepared_serves_for_any_options),
    ("what_was_prepared_and_has_died_is_not_used", what_was_prepared_and_has_died_is_not_used),
    ("what_was_prepared_for_another_program_is_not_used", what_was_prepared_for_another_program_is_not_used),
    ("what_is_prepared_and_not_used_leaves_nothing", what_is_prepared_and_not_used_leaves_nothing),
];

pub(crate) fn prepared() -> Prepared {
    Prepared::new(Path::new("/proc/self/exe")).unwrap()
}

fn child_of(parent: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// The first process in the namespaces. Waits until there is one.
fn first_of(prepared: &Prepared) -> u32 {
    let started = Instant::now();
    loop {
        if let Some(child) = child_of(prepared.process()) {
            return child;
        }
        assert!(started.elapsed() < PATIENCE, "nothing is prepared");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a process has ended. A zombie counts as ended.
fn is_gone(process: u32) {
    let started = Instant::now();
    while fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(started.elapsed() < PATIENCE, "{process} is left");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn what_is_prepared_serves_for_any_options() {
    let (one, other) = (Place::with(&[("file", "one")]), Place::with(&[("file", "other")]));
    for place in [&one, &other] {
        let prepared = prepared();
        let process = prepared.process();
        // Files that were made after the processes were prepared are seen, too.
        place.write("later", "later");
        place.settle();
        let limits = Limits { file_bytes: 1 << 20, ..Limits::default() };
        let mut view = View::start_with(&Options { limits, ..place.options() }, Some(prepared)).unwrap();
        assert_eq!(view.process(), process);
        let mine = fs::read_to_string(place.work().join("file")).unwrap();
        assert_eq!(ok(&mut view, "cat file later; echo new > file"), format!("{mine}later"));
        let much = sh(&mut view, "head -c 2M /dev/zero > big");
        assert!(!much.end.is_success(), "{much:?}");
        view.end();
        assert_eq!(fs::read_to_string(place.work().join("file")).unwrap(), mine);
        is_gone(process);
    }
}

fn what_was_prepared_and_has_died_is_not_used() {
    let place = Place::with(&[("file", "old")]);
    for which in [Prepared::process, first_of] {
        let prepared = prepared();
        let (first, process) = (first_of(&prepared), prepared.process());
        let victim = Pid::from_raw(i32::try_from(which(&prepared)).unwrap()).unwrap();
        kill_process(victim, Signal::KILL).unwrap();
        [first, process].into_iter().for_each(is_gone);
        let mut view = View::start_with(&place.options(), Some(prepared)).unwrap();
        assert_ne!(view.process(), process);
        assert_eq!(ok(&mut view, "cat file"), "old");
    }
}

fn what_was_prepared_for_another_program_is_not_used() {
    let place = Place::with(&[("file", "old")]);
    let prepared = prepared();
    let (first, process) = (first_of(&prepared), prepared.process());
    let program = std::env::current_exe().unwrap();
    let mut view = View::start_with(&Options { program, ..place.options() }, Some(prepared)).unwrap();
    assert_ne!(view.process(), process);
    assert_eq!(ok(&mut view, "cat file"), "old");
    [first, process].into_iter().for_each(is_gone);
}

fn what_is_prepared_and_not_used_leaves_nothing() {
    let place = Place::with(&[("file", "old")]);
    let before = crate::state::state(&place.work());
    // Dropped at once, and when the processes already wait.
    for wait in [false, true] {
        let prepared = prepared();
        let process = prepared.process();
        let first = if wait { Some(first_of(&prepared)) } else { child_of(process) };
        drop(prepared);
        [Some(process), first].into_iter().flatten().for_each(is_gone);
    }
    assert_eq!(crate::state::state(&place.work()), before);
}
