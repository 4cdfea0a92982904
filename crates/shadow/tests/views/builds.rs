//! Build tools in a view never give the result of another content, whatever was built before and however fast contents change.

use std::path::PathBuf;
use std::process::Command;

use headstart_overlay_fs::ChangeSet;
use headstart_shadow::{Options, View};

use crate::place::{PATIENCE, Place, Test, path};

pub(crate) const TESTS: &[Test] = &[
    ("make_sees_every_content", make_sees_every_content),
    ("a_tool_that_compares_seconds_sees_every_content", a_tool_that_compares_seconds),
    ("cargo_sees_every_content", cargo_sees_every_content),
    ("what_was_built_in_one_view_is_not_in_another", what_was_built_in_one_view),
];

const MAKEFILE: &str = "out: value\n\tcp value out\n";
const MAKE: &str = "make -s && cat out";
const SECONDS: &str = "if test ! -e out || test \"$(stat -c %Y value)\" -gt \"$(stat -c %Y out)\"; then cp value out; fi; cat out";

/// Goes through contents, back and forth, and builds after each change of what is staged. An empty one is what is on disk.
fn goes_through(place: &Place, mut view: View, file: &str, build: &str, text: fn(&str) -> String) {
    for value in ["", "2", "", "3", "2", "", "", "2"] {
        let staged = if value.is_empty() {
            ChangeSet::default()
        } else {
            place.staged(async |overlay| overlay.write(&path(file), text(value).into_bytes()).await.unwrap())
        };
        view.show(&staged).unwrap();
        let command = headstart_shadow::Command::shell(build, PATIENCE)
            .with_variable("PATH", programs())
            .with_variable("CARGO_NET_OFFLINE", "true");
        let output = view.run(&command).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.end.is_success(), "{build}: {said}");
        let expected = if value.is_empty() { "1" } else { value };
        assert_eq!(said.trim().lines().last(), Some(expected), "{build}: {said}");
    }
}

/// The folder of the compiler itself, and the system's.
fn programs() -> std::ffi::OsString {
    let mut paths = vec![sysroot().join("bin")];
    paths.extend(["/usr/bin", "/bin"].map(PathBuf::from));
    std::env::join_paths(paths).unwrap()
}

fn sysroot() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs rustc: {error}"));
    String::from_utf8(output.stdout).unwrap().trim().into()
}

fn plain(value: &str) -> String {
    format!("{value}\n")
}

fn make_sees_every_content() {
    let place = Place::with(&[("Makefile", MAKEFILE), ("value", "1\n")]);
    goes_through(&place, place.view(), "value", MAKE, plain);
    // Over what was built on disk, too.
    Command::new("make")
        .current_dir(place.work())
        .status()
        .unwrap_or_else(|error| panic!("this test needs make: {error}"));
    place.settle();
    goes_through(&place, place.view(), "value", MAKE, plain);
}

fn a_tool_that_compares_seconds() {
    let place = Place::with(&[("value", "1\n")]);
    goes_through(&place, place.view(), "value", SECONDS, plain);
}

fn cargo_sees_every_content() {
    let main = |value: &str| format!("fn main() {{ println!(\"{value}\"); }}");
    let manifest = "[package]\nname = \"value\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let place =
        Place::with(&[("Cargo.toml", manifest), (".gitignore", "target"), ("src/main.rs", &main("1"))]);
    let options = Options { show: vec![sysroot()], ..place.options() };
    let view = View::start(&options).unwrap();
    goes_through(&place, view, "src/main.rs", "cargo run -q --offline", |value| {
        format!("fn main() {{ println!(\"{value}\"); }}")
    });
}

fn what_was_built_in_one_view() {
    let place = Place::with(&[("Makefile", MAKEFILE), ("value", "1\n")]);
    goes_through(&place, place.view(), "value", MAKE, plain);
    let mut view = place.view();
    assert_eq!(crate::place::ok(&mut view, "ls"), "Makefile\nvalue\n");
}
