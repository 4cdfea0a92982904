//! Build tools in a view never give the result of an earlier content, whatever was built before and however quickly
//! contents change.

use std::process;

use headstart_overlay_fs::{ChangeSet, Overlay};
use headstart_shadow::{Command, Options, View};

use crate::output::sysroot;
use crate::place::{PATIENCE, Place, Test, path};

pub(crate) const TESTS: &[Test] = &[
    ("a_tool_that_compares_seconds_sees_every_content", a_tool_that_compares_seconds),
    ("what_is_built_as_a_second_begins_is_older_than_what_is_shown_then", built_as_a_second_begins),
    ("what_is_shown_as_a_second_begins_is_newer_than_what_was_built", shown_as_a_second_begins),
    ("what_comes_back_in_another_place_is_newer_than_what_was_built", comes_back_in_another_place),
    ("cargo_sees_every_content", cargo_sees_every_content),
    ("what_was_built_in_one_view_is_not_in_another", what_was_built_in_one_view),
];

/// Tests that need make and python3.
pub(crate) const WITH_PROGRAMS: &[Test] = &[
    ("make_sees_every_content", make_sees_every_content),
    ("python_sees_every_content", python_sees_every_content),
];

const MAKEFILE: &str = "out: value\n\tcp value out\n";
const MAKE: &str = "make -s && cat out";
const SECONDS: &str = "if test ! -e out || test \"$(stat -c %Y value)\" -gt \"$(stat -c %Y out)\"; then cp value out; fi; cat out";

/// Builds after each of several changes of what is staged, among them contents that were there before. An empty value
/// stands for the content on disk.
fn goes_through(place: &Place, view: View, file: &str, build: &Command, text: fn(&str) -> String) {
    goes_through_these(&["", "2", "", "3", "2", "", "", "2"], place, view, file, build, text);
}

fn goes_through_these(
    values: &[&str],
    place: &Place,
    mut view: View,
    file: &str,
    build: &Command,
    text: fn(&str) -> String,
) {
    for &value in values {
        let staged = if value.is_empty() {
            ChangeSet::default()
        } else {
            place.staged(async |overlay| overlay.write(&path(file), text(value).into_bytes()).await.unwrap())
        };
        view.show(&staged).unwrap();
        let output = view.run(build).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.end.is_success(), "{said}");
        let expected = if value.is_empty() { "1" } else { value };
        assert_eq!(said.trim().lines().last(), Some(expected), "{said}");
    }
}

fn shell(line: &str) -> Command {
    Command::shell(line, PATIENCE)
}

fn plain(value: &str) -> String {
    format!("{value}\n")
}

fn make_sees_every_content() {
    let place = Place::with(&[("Makefile", MAKEFILE), ("value", "1\n")]);
    goes_through(&place, place.view(), "value", &shell(MAKE), plain);
    // The same must hold over what was already built on disk.
    process::Command::new("make")
        .current_dir(place.work())
        .status()
        .unwrap_or_else(|error| panic!("this test needs make: {error}"));
    place.settle();
    goes_through(&place, place.view(), "value", &shell(MAKE), plain);
}

fn a_tool_that_compares_seconds() {
    let place = Place::with(&[("value", "1\n")]);
    goes_through(&place, place.view(), "value", &shell(SECONDS), plain);
}

/// Files are stamped by two clocks: the kernel may stamp a result by the exact clock, while the coarse clock, by which
/// it stamps most files, still shows the second before.
fn built_as_a_second_begins() {
    const BUILD: &str = "
        if test ! -e out || test \"$(stat -c %Y value)\" -gt \"$(stat -c %Y out)\"; then
            read -r value < value; : > out; test -s out
            second=${EPOCHREALTIME%.*}; while test ${EPOCHREALTIME%.*} = $second; do :; done
            echo \"$value\" > out
        fi
        read -r value < out; echo \"$value\"";
    let place = Place::with(&[("value", "1\n")]);
    let build = Command::new(["/bin/bash", "-c", BUILD], PATIENCE);
    goes_through_these(&["", "2", ""], &place, place.view(), "value", &build, plain);
}

/// A shown file may be stamped by the coarse clock while it still shows the second before. This happens with an empty
/// file, because nothing is written to it after its times were read.
fn shown_as_a_second_begins() {
    const BUILD: &str = "
        if test ! -e out; then echo without > out; fi
        if test -e value && test \"$(stat -c %Y value)\" -gt \"$(stat -c %Y out)\"; then echo with > out; fi
        cat out";
    let place = Place::with(&[]);
    let mut view = place.view();
    let staged = place.staged(async |overlay| overlay.write(&path("value"), Vec::new()).await.unwrap());
    let second = || rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    for _ in 0..2 {
        assert_eq!(crate::place::ok(&mut view, &format!("rm -f out; {BUILD}")), "without\n");
        let before = second();
        while second() == before {}
        view.show(&staged).unwrap();
        assert_eq!(crate::place::ok(&mut view, BUILD), "with\n");
        view.show(&ChangeSet::default()).unwrap();
    }
}

/// `cp -p` gives a result the time of its source, and that time may lie in the next second.
fn comes_back_in_another_place() {
    const BUILD: &str = "
        if test ! -e out || { test -e value && test $(stat -c %Y value) -gt $(stat -c %Y out); }; then
            cp -p value out
        fi
        cat out";
    let place = Place::with(&[]);
    let mut view = place.view();
    for value in ["1", "2", "3", "4"] {
        let staged =
            async |overlay: &Overlay| overlay.write(&path("value"), plain(value).into_bytes()).await.unwrap();
        view.show(&place.staged(staged)).unwrap();
        assert_eq!(crate::place::ok(&mut view, BUILD).trim(), value);
        view.show(&ChangeSet::default()).unwrap();
    }
}

fn cargo_sees_every_content() {
    let main = |value: &str| format!("fn main() {{ println!(\"{value}\"); }}");
    let manifest = "[package]\nname = \"value\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let place =
        Place::with(&[("Cargo.toml", manifest), (".gitignore", "target"), ("src/main.rs", &main("1"))]);
    let options = Options { show: vec![sysroot()], ..place.options() };
    let view = View::start(&options).unwrap();
    let path = format!("{}/bin:/usr/bin:/bin", sysroot().display());
    let build = shell("cargo run -q --offline").with_variable("PATH", path);
    goes_through(&place, view, "src/main.rs", &build, |value| {
        format!("fn main() {{ println!(\"{value}\"); }}")
    });
}

/// Python recognizes what it compiled by the length of the source and by a time in whole seconds, so a change of the
/// same length within a second is the hardest case.
fn python_sees_every_content() {
    let text = |value: &str| format!("V = {value}\n");
    let place = Place::with(&[("value.py", &text("1"))]);
    let run = shell(
        "python3 -c 'import value; print(value.V)' && ls __pycache__ >&2 && test -n \"$(ls __pycache__)\"",
    );
    let run = Command { streams: headstart_shadow::Streams::Apart, ..run };
    goes_through(&place, place.view(), "value.py", &run, text);
    // The compiled file is from the same second in which the user saved and ran the source.
    place.write("value.py", &text("1"));
    let status =
        process::Command::new("python3").args(["-c", "import value"]).current_dir(place.work()).status();
    assert!(status.unwrap_or_else(|error| panic!("this test needs python3: {error}")).success());
    place.settle();
    goes_through(&place, place.view(), "value.py", &run, text);
}

fn what_was_built_in_one_view() {
    let place = Place::with(&[("value", "1\n")]);
    goes_through(&place, place.view(), "value", &shell(SECONDS), plain);
    let mut view = place.view();
    assert_eq!(crate::place::ok(&mut view, "ls"), "value\n");
}
