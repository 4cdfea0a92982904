//! Build output on disk: it is private to its view, is limited in size, and lies over finished layers that were built
//! from the workspace as it is on disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headstart_overlay_fs::{ChangeSet, Quota};
use headstart_shadow::{
    BuildLayer, BuildRoom, Command, End, Options, ReadRules, ShadowError, View, build_folders, remove_folder,
};
use headstart_workspace_path::WorkspacePath;
use tempfile::TempDir;

use crate::output::sysroot;
use crate::place::{PATIENCE, Place, Test, lines, ok, path};

pub(crate) const TESTS: &[Test] = &[
    ("build_output_is_on_the_disk_and_private", on_the_disk_and_private),
    ("what_is_staged_in_build_output_is_read_back", staged_in_build_output),
    ("a_finished_layer_is_seen_and_never_written", a_finished_layer),
    ("too_much_build_output_ends_the_command", too_much),
    ("too_much_build_output_ends_the_program", too_much_of_a_program),
    ("folders_of_build_output_are_found_and_no_links", found_folders),
    ("a_tool_that_compares_seconds_over_a_finished_layer_sees_every_content", seconds_over_a_layer),
    ("cargo_over_a_finished_layer_sees_every_content", cargo_over_a_layer),
];

/// A test that needs make.
pub(crate) const WITH_PROGRAMS: &[Test] =
    &[("make_over_a_finished_layer_sees_every_content", make_over_a_layer)];

/// A temporary folder for rooms, outside the workspace.
pub(crate) struct Rooms(TempDir);

impl Rooms {
    pub(crate) fn new() -> Self {
        Self(tempfile::Builder::new().prefix("shadow-rooms-").tempdir_in("/var/tmp").unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A room for the build output in `target`, over these layers.
    fn room(&self, name: &str, below: &[PathBuf]) -> BuildRoom {
        let folder = self.path().join(name);
        fs::create_dir(&folder).unwrap();
        BuildRoom {
            folder,
            layers: vec![BuildLayer { path: path("target"), below: below.to_vec() }],
            bytes: 1 << 30,
            measured: self.path().to_owned(),
        }
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        // Overlayfs leaves folders that nobody may open, so these are removed by a function that changes their modes
        // first.
        for entry in fs::read_dir(self.path()).unwrap() {
            remove_folder(&entry.unwrap().path()).unwrap();
        }
    }
}

fn view(options: &Options, build: BuildRoom) -> View {
    View::start(&Options { build: Some(build), ..options.clone() }).unwrap()
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().try_into().unwrap()
}

fn on_the_disk_and_private() {
    for is_there in [false, true] {
        let place = Place::with(&[("Cargo.toml", "")]);
        if is_there {
            place.write("target/old", "old\n");
            place.settle();
        }
        let rooms = Rooms::new();
        let mut one = view(&place.options(), rooms.room("one", &[]));
        let mut other = view(&place.options(), rooms.room("other", &[]));
        ok(
            &mut one,
            "mkdir -p target/deep && head -c 20000000 /dev/zero > target/deep/big && ln target/deep/big target/twin && echo x > seen",
        );
        assert!(one.usage().unwrap().0 < 1 << 20, "it is not in memory");
        assert_eq!(fs::metadata(rooms.path().join("one/0/upper/deep/big")).unwrap().len(), 20_000_000);
        let back = place.read_back(&mut one);
        assert_eq!(lines(&back.changes), ["write seen - \"x\\n\", was nothing"]);
        assert_eq!(back.ignored, [path("target")]);
        assert_eq!(ok(&mut other, "ls target"), if is_there { "old\n" } else { "" });
        let back = place.read_back(&mut other);
        assert!(back.changes.is_empty() && back.ignored.is_empty(), "{back:?}");
        assert_eq!(place.work().join("target").exists(), is_there);
        if is_there {
            ok(&mut one, "rm target/old && echo new > target/new");
            assert_eq!(fs::read_to_string(place.work().join("target/old")).unwrap(), "old\n");
            assert!(
                place.read_back(&mut one).changes.changes.iter().all(|change| change.path == path("seen"))
            );
        }
        drop((one, other));
        remove_folder(&rooms.path().join("one")).unwrap();
        assert!(!rooms.path().join("one").exists());
        remove_folder(&rooms.path().join("one")).unwrap();
    }
}

fn staged_in_build_output() {
    let place = Place::with(&[("target/kept", "1\n"), ("target/sub/gone", "1\n")]);
    let staged = place.staged(async |overlay| {
        overlay.write(&path("target/kept"), b"2\n".to_vec()).await.unwrap();
        overlay.write(&path("target/new/deep"), b"3\n".to_vec()).await.unwrap();
        overlay.remove(&path("target/sub/gone")).await.unwrap();
    });
    let rooms = Rooms::new();
    let mut view = view(&place.options(), rooms.room("one", &[]));
    view.show(&staged).unwrap();
    assert_eq!(
        ok(&mut view, "cat target/kept target/new/deep; ls target/sub; echo x > target/other"),
        "2\n3\n"
    );
    let back = place.read_back(&mut view);
    let mut told = lines(&back.changes);
    told.sort();
    assert_eq!(
        told,
        [
            "delete target/sub/gone, was File",
            "write target/kept - \"2\\n\", was File",
            "write target/new/deep - \"3\\n\", was nothing"
        ]
    );
    let keep = ReadRules { keep: vec![path("target/other")], ..ReadRules::new(Quota::default()) };
    let kept = view.read_back(&place.tree(), &keep).unwrap();
    assert!(kept.changes.changes.iter().any(|change| change.path == path("target/other")));
}

fn a_finished_layer() {
    let place = Place::with(&[("target/a", "disk\n"), ("target/b", "disk\n")]);
    let rooms = Rooms::new();
    let mut first = view(&place.options(), rooms.room("first", &[]));
    ok(&mut first, "echo layer > target/a; rm target/b; echo layer > target/c");
    first.end();
    let layer = [rooms.path().join("first/0/upper")];
    let mut second = view(&place.options(), rooms.room("second", &layer));
    assert_eq!(ok(&mut second, "cat target/*"), "layer\nlayer\n");
    ok(&mut second, "echo view > target/a; rm target/c; echo back > target/b");
    assert_eq!(ok(&mut second, "cat target/*"), "view\nback\n");
    let mut third = view(&place.options(), rooms.room("third", &layer));
    assert_eq!(ok(&mut third, "cat target/*"), "layer\nlayer\n");
    assert!(place.read_back(&mut third).ignored.is_empty(), "it wrote nothing");
}

fn too_much() {
    let place = Place::with(&[("target/a", "")]);
    let rooms = Rooms::new();
    let room = BuildRoom { bytes: 4 << 20, ..rooms.room("one", &[]) };
    let mut view = view(&place.options(), room);
    let line = "for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero > target/$i; done; sleep 1000";
    let output = view.run(&Command::shell(line, PATIENCE)).unwrap();
    assert_eq!(output.end, End::Disk);
    assert!(output.refused.quota && view.has_ended());
}

fn too_much_of_a_program() {
    let place = Place::with(&[("target/a", "")]);
    let rooms = Rooms::new();
    let room = BuildRoom { bytes: 4 << 20, ..rooms.room("one", &[]) };
    let mut view = view(&place.options(), room);
    let command = |line: &str| Command::shell(line, PATIENCE);
    let within = view.start_program(&command("head -c 1000000 /dev/zero > target/1; sleep 3; echo done"));
    assert_eq!(std::io::read_to_string(within.unwrap().stdout).unwrap(), "done\n");
    view.running().unwrap();
    let line = "for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero > target/$i; done; sleep 1000";
    let program = view.start_program(&command(line)).unwrap();
    assert_eq!(std::io::read_to_string(program.stdout).unwrap(), "");
    assert_eq!(view.running().unwrap_err(), ShadowError::Disk);
    assert_eq!(view.show(&ChangeSet::default()).unwrap_err(), ShadowError::Disk);
    assert!(view.has_ended());
}

fn found_folders() {
    let place = Place::with(&[
        (".gitignore", "/venv\n/web/node_modules\n"),
        ("Cargo.toml", ""),
        ("target/x", ""),
        ("web/node_modules/x", ""),
        ("web/deep/node_modules/x", ""),
        ("venv/x", ""),
        ("gen/x", ""),
        ("plain/target/x", ""),
        ("outside/x", ""),
    ]);
    symlink("../outside", place.work().join("web/.venv")).unwrap();
    symlink("outside", place.work().join("linked")).unwrap();
    fs::create_dir(place.work().join("outside/node_modules")).unwrap();
    let found = |more: &[WorkspacePath]| -> Vec<String> {
        build_folders(&place.work(), more).iter().map(ToString::to_string).collect()
    };
    let more = [path("gen"), path("not/there"), path("linked/node_modules"), path("web")];
    assert_eq!(found(&more), ["target", "venv", "outside/node_modules", "web/node_modules", "gen"]);
    fs::remove_dir_all(place.work().join("target")).unwrap();
    assert_eq!(found(&[])[0], "target", "it is coming");
    symlink("outside", place.work().join("target")).unwrap();
    assert!(!found(&[]).contains(&"target".to_owned()));
    place.settle();
    // If a caller names a link all the same, the view has no separate folder for it.
    let rooms = Rooms::new();
    let mut view = view(&place.options(), rooms.room("one", &[]));
    ok(&mut view, "echo x > target/leaked");
    assert!(!place.work().join("outside/leaked").exists());
    assert_eq!(place.read_back(&mut view).changes.changes[0].path, path("outside/leaked"));
}

/// Checks build output across several views. Each view begins over the layer that was built from the workspace as it is
/// on disk, and then goes through contents, among them ones that were there before.
fn goes_through(place: &Place, options: &Options, file: &str, build: &Command, text: fn(&str) -> String) {
    let rooms = Rooms::new();
    let staged = |value: &str| {
        place.staged(async |overlay| overlay.write(&path(file), text(value).into_bytes()).await.unwrap())
    };
    let gives = |view: &mut View, expected: &str| {
        let output = view.run(build).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.end.is_success(), "{said}");
        assert_eq!(said.trim().lines().last(), Some(expected), "{said}");
    };
    let mut filling = view(options, rooms.room("fill", &[]));
    gives(&mut filling, "1");
    filling.end();
    let (layer, done) = ([rooms.path().join("fill/0/upper")], now());
    for (number, values) in
        [&["", "2", "", "3"][..], &["2", ""], &["", ""], &["3", "2", "3", ""]].iter().enumerate()
    {
        let mut view = view(options, rooms.room(&number.to_string(), &layer));
        view.renew(done, &[]).unwrap();
        for value in *values {
            if value.is_empty() {
                view.show(&ChangeSet::default()).unwrap();
                gives(&mut view, "1");
            } else {
                view.show(&staged(value)).unwrap();
                gives(&mut view, value);
            }
        }
    }
    // The user changes the file on disk, with a tool that gives it an old modification time.
    fs::write(place.work().join(file), text("4")).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3_600);
    fs::File::options().write(true).open(place.work().join(file)).unwrap().set_modified(old).unwrap();
    let mut view = view(options, rooms.room("later", &layer));
    view.renew(done, &[path(file), path("not/there")]).unwrap();
    gives(&mut view, "4");
    let back = place.read_back(&mut view);
    assert!(
        back.changes.changes.iter().all(|change| change.path != path(file)),
        "{:?}",
        lines(&back.changes)
    );
}

fn make_over_a_layer() {
    let makefile = "target/out: value\n\tcp value target/out\n";
    let place = Place::with(&[("Makefile", makefile), ("value", "1\n"), ("target/x", "")]);
    let build = Command::shell("make -s target/out && cat target/out", PATIENCE);
    goes_through(&place, &place.options(), "value", &build, |value| format!("{value}\n"));
}

fn seconds_over_a_layer() {
    let place = Place::with(&[("value", "1\n"), ("target/x", "")]);
    let line = "if test ! -e target/out || test \"$(stat -c %Y value)\" -gt \"$(stat -c %Y target/out)\"; then cp value target/out; fi; cat target/out";
    goes_through(&place, &place.options(), "value", &Command::shell(line, PATIENCE), |value| {
        format!("{value}\n")
    });
}

fn cargo_over_a_layer() {
    let text = |value: &str| format!("fn main() {{ println!(\"{value}\"); }}");
    let manifest = "[package]\nname = \"value\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let place = Place::with(&[("Cargo.toml", manifest), ("src/main.rs", &text("1"))]);
    let options = Options { show: vec![sysroot()], ..place.options() };
    let path = format!("{}/bin:/usr/bin:/bin", sysroot().display());
    let build = Command::shell("cargo run -q --offline", PATIENCE).with_variable("PATH", path);
    goes_through(&place, &options, "src/main.rs", &build, text);
}
