//! Build tools in a view never give the result of another content, whatever was built before and however fast contents change.

use std::process;

use headstart_overlay_fs::ChangeSet;
use headstart_shadow::{Command, Options, View};

use crate::output::sysroot;
use crate::place::{PATIENCE, Place, Test, path};

pub(crate) const TESTS: &[Test] = &[
    ("make_sees_every_content", make_sees_every_content),
    ("a_tool_that_compares_seconds_sees_every_content", a_tool_that_compares_seconds),
    ("cargo_sees_every_content", cargo_sees_every_content),
    ("python_sees_every_content", python_sees_every_content),
    ("what_was_built_in_one_view_is_not_in_another", what_was_built_in_one_view),
];

const MAKEFILE: &str = "out: value\n\tcp value out\n";
const MAKE: &str = "make -s && cat out";
const SECONDS: &str = "if test ! -e out || test \"$(stat -c %Y value)\" -gt \"$(stat -c %Y out)\"; then cp value out; fi; cat out";

/// Goes through contents, back and forth, and builds after each change of what is staged. An empty one is what is on disk.
fn goes_through(place: &Place, mut view: View, file: &str, build: &Command, text: fn(&str) -> String) {
    for value in ["", "2", "", "3", "2", "", "", "2"] {
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
    // Over what was built on disk, too.
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

/// What python compiled is known by the length of its source and a time in seconds.
fn python_sees_every_content() {
    let text = |value: &str| format!("V = {value}\n");
    let place = Place::with(&[("value.py", &text("1"))]);
    let run = shell(
        "python3 -c 'import value; print(value.V)' && ls __pycache__ >&2 && test -n \"$(ls __pycache__)\"",
    );
    let run = Command { streams: headstart_shadow::Streams::Apart, ..run };
    goes_through(&place, place.view(), "value.py", &run, text);
    // In the second in which its user saved and ran it.
    place.write("value.py", &text("1"));
    let status =
        process::Command::new("python3").args(["-c", "import value"]).current_dir(place.work()).status();
    assert!(status.unwrap_or_else(|error| panic!("this test needs python3: {error}")).success());
    place.settle();
    goes_through(&place, place.view(), "value.py", &run, text);
}

fn what_was_built_in_one_view() {
    let place = Place::with(&[("Makefile", MAKEFILE), ("value", "1\n")]);
    goes_through(&place, place.view(), "value", &shell(MAKE), plain);
    let mut view = place.view();
    assert_eq!(crate::place::ok(&mut view, "ls"), "Makefile\nvalue\n");
}
