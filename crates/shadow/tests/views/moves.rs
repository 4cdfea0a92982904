//! What a command takes away, and what it writes where a commit does not reach, belong together: both come back, or
//! neither.

use std::collections::BTreeSet;

use headstart_overlay_fs::{LeftOut, Quota};
use headstart_shadow::{BuildLayer, BuildRoom, Options, ReadBack, ReadRules, ShadowError, Tier, View};

use crate::output::git;
use crate::place::{Place, Test, lines, ok, path, tier};

pub(crate) const TESTS: &[Test] = &[
    ("a_move_to_an_ignored_place_is_whole", whole_moves),
    ("a_move_in_several_commands_is_whole", moves_in_several_commands),
    ("a_removal_alone_is_a_removal", removals),
    ("a_copy_that_no_change_set_can_bring_is_named", torn_moves),
    ("what_is_left_out_is_named_with_how_much_it_is", rows_of_what_is_left_out),
    ("what_can_be_kept_comes_whole_or_says_why_not", keepable_places),
    ("a_name_of_a_file_with_several_is_told", several_names),
    ("what_git_has_may_be_removed_beside_a_build", removals_that_git_has),
    ("a_folder_that_git_has_moves_as_a_whole_or_is_told", moves_of_folders_that_git_has),
    ("what_was_shown_in_a_view_moves_along", moves_of_what_is_shown),
    ("a_large_copy_of_what_was_only_edited_is_told", large_copies_of_what_was_edited),
];
/// For views that are copies without what git ignores.
pub(crate) const COPY: &[Test] = &[(
    "an_ignored_file_that_a_copy_lacks_is_not_replaced",
    an_ignored_file_that_a_copy_lacks_is_not_replaced,
)];
/// For views in which build output has a place of its own.
pub(crate) const BUILD: &[Test] = &[("a_move_into_build_output_on_a_disk_is_whole", moves_into_build_output)];

const IGNORED: (&str, &str) = (".gitignore", "*.pack\nstore/\nsecond/\n.env.*\n");

fn brought(back: &ReadBack) -> Vec<String> {
    back.brought.iter().map(ToString::to_string).collect()
}

fn left_out(back: &ReadBack) -> Vec<String> {
    back.left_out.iter().map(LeftOut::words).collect()
}

fn torn(back: &ReadBack) -> (Vec<String>, Vec<String>) {
    let torn = back.torn.as_ref().unwrap_or_else(|| panic!("it is not torn: {back:?}"));
    (torn.removed.iter().map(ToString::to_string).collect(), torn.written.clone())
}

fn whole_moves() {
    let files =
        [IGNORED, ("a.txt", "one"), ("sub/b.txt", "two"), ("store/old", "kept"), ("store/a.txt", "older")];
    for (line, expected) in [
        ("tr a-z A-Z < a.txt > a.pack && rm a.txt", vec!["a.pack"]),
        ("mv a.txt second.pack", vec!["second.pack"]),
        ("mkdir -p second && mv sub second/", vec!["second/sub/b.txt"]),
        ("mv a.txt store/a.txt", vec!["store/a.txt"]),
        ("cat a.txt >> store/old && : > a.txt", vec!["store/old"]),
        ("cp a.txt a.pack && echo changed > a.txt", vec!["a.pack"]),
        ("ln -s sub/b.txt c && mv c c.pack && rm a.txt", vec!["c.pack"]),
        ("mv sub x && rm -r x && echo all > x.pack", vec!["x.pack"]),
        ("rm a.txt && ln -s sub a.txt && echo one > a.pack", vec!["a.pack"]),
        ("mkdir -p dist && printf '{}' > package.json && mv a.txt dist/", vec!["dist/a.txt"]),
        ("mkdir -p node_modules/m && mv sub/b.txt node_modules/m/index.js", vec!["node_modules/m/index.js"]),
        // What is only overwritten is as much taken away from the disk.
        ("tr a-z A-Z < a.txt > a.pack; echo another > a.txt", vec!["a.pack"]),
        ("printf '{}' > package.json; mkdir dist && mv a.txt dist/ && echo two > a.txt", vec!["dist/a.txt"]),
        ("mv a.txt t.pack && mv sub/b.txt a.txt && mv t.pack sub/b.txt", vec![]),
        ("mv a.txt t.pack && mv store/old a.txt && mv t.pack store/old", vec!["store/old"]),
        // What comes along takes away what is in its place.
        ("mv store/a.txt second.pack && mv a.txt store/a.txt", vec!["second.pack", "store/a.txt"]),
    ] {
        // A copy does not have what git ignores, and it is not known what would become of it.
        if tier() == Tier::Copy && line.contains(" store/") {
            continue;
        }
        let place = Place::with(&files);
        let mut view = place.view();
        ok(&mut view, line);
        let back = place.read_back(&mut view);
        assert_eq!(
            (brought(&back), &back.torn, left_out(&back)),
            (expected.iter().map(ToString::to_string).collect(), &None, Vec::new()),
            "{line}"
        );
        place.commit_all(&back.changes);
        for name in expected {
            let content = ok(&mut view, &format!("cat {name}"));
            let there = std::fs::read_to_string(place.work().join(name)).unwrap();
            assert_eq!(there, content, "{line}");
        }
        // Nothing more comes back of what is on disk now.
        assert!(place.read_back(&mut place_view(&place)).changes.is_empty(), "{line}");
    }
}

fn place_view(place: &Place) -> View {
    place.settle();
    place.view()
}

fn an_ignored_file_that_a_copy_lacks_is_not_replaced() {
    let place = Place::with(&[IGNORED, ("a.txt", "one"), ("store/old", "kept")]);
    let mut view = place.view();
    ok(&mut view, "mkdir store; cat a.txt >> store/old; rm a.txt");
    assert_eq!(torn(&place.read_back(&mut view)), (vec!["a.txt".to_owned()], vec!["store/".to_owned()]));
}

fn moves_in_several_commands() {
    for (steps, expected) in [
        (&["mkdir -p store && cp a.txt store/", "rm a.txt"][..], &["store/a.txt"][..]),
        (&["mkdir -p store && cp a.txt store/", "echo one > a.txt"], &["store/a.txt"]),
        (&["tr a-z A-Z < a.txt > a.pack", "echo something else > a.txt"], &["a.pack"]),
        (&["mkdir target; cp a.txt target/", "echo something else > a.txt"], &["target/a.txt"]),
        (&["echo made > b.pack", "rm b.pack; echo new > b.txt", "rm -r b.txt"], &[]),
        (&["echo made > b.txt", "tr a-z A-Z < b.txt > b.pack && rm b.txt"], &["b.pack"]),
        (&["echo made > b.txt", "mkdir target && mv b.txt target/"], &["target/b.txt"]),
        (&["mkdir b; echo made > b/c; : > b/d", "mkdir store && mv b store/"], &["store/b/c", "store/b/d"]),
        (&["tr a-z A-Z < a.txt > a.pack", "echo x > new.txt", "rm a.txt"], &["a.pack"]),
        (&["mv a.txt b.txt", "mv b.txt b.pack"], &["b.pack"]),
        (&["mv a.txt a.pack", "mkdir store && mv a.pack store/"], &["store/a.pack"]),
        (&["tr a-z A-Z < a.txt > a.out && rm a.txt", "mv a.out a.pack"], &["a.pack"]),
    ] {
        let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("a.txt", "one and only")]);
        let mut view = place.view();
        let mut all = Vec::new();
        for step in steps {
            ok(&mut view, step);
            let back = place.read_back(&mut view);
            assert_eq!(back.torn, None, "{steps:?}");
            all.push(back);
        }
        let last = all.last().unwrap();
        let written: Vec<_> =
            lines(&last.changes).into_iter().filter(|line| line.starts_with("write")).collect();
        for path in expected {
            assert!(
                written.iter().any(|line| line.starts_with(&format!("write {path} "))),
                "{steps:?}: {written:?}"
            );
        }
    }
    // Once it is known where everything is, a build is only a build.
    let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("a.txt", "one and only")]);
    let mut view = place.view();
    for step in ["tr a-z A-Z < a.txt > a.pack && rm a.txt", "mkdir target && echo built > target/x"] {
        ok(&mut view, step);
        assert_eq!(place.read_back(&mut view).torn, None, "{step}");
    }
    // Until what may be the copy goes there too.
    ok(&mut view, "tr A-Z a-z < a.pack | tr -d ' ' > target/y; rm a.pack");
    assert_eq!(torn(&place.read_back(&mut view)), (vec!["a.txt".to_owned()], vec!["target/".to_owned()]));
}

fn removals() {
    let place =
        Place::with(&[IGNORED, ("Cargo.toml", ""), ("a.txt", "one"), ("b.txt", "two"), ("store/c", "c")]);
    let mut view = place.view();
    ok(&mut view, "rm a.txt; mkdir sub; mv b.txt sub/; rm -f store/c");
    let back = place.read_back(&mut view);
    let expected = ["delete b.txt, was File", "delete a.txt, was File", "folder sub, was nothing"];
    assert_eq!(lines(&back.changes)[..3], expected);
    assert_eq!((&back.torn, brought(&back).len()), (&None, 0));
    // What a later command writes has nothing to do with it.
    ok(&mut view, "mkdir -p target store/new; echo 1 > target/x; echo 2 > store/new/x; echo 3 > y.pack");
    let back = place.read_back(&mut view);
    assert_eq!((&back.torn, brought(&back).len()), (&None, 0));
}

fn torn_moves() {
    let many = "mkdir -p store; for i in $(seq 70); do echo $i > store/$i; done; rm a.txt";
    for (line, written) in [
        (many, "store/"),
        ("rm a.txt; head -c 17000000 /dev/zero > big.pack", "big.pack"),
        ("tr a-z A-Z < a.txt > /tmp/a; rm a.txt", "/tmp/a"),
        ("mv a.txt /dev/shm/", "/dev/shm/a.txt"),
        ("mkdir -p ~/.config/x && mv a.txt ~/.config/x/", "/.config/x/a.txt"),
        ("mkdir target; tr a-z A-Z < a.txt > target/a; : > a.txt", "target/"),
        ("echo 1 > x.pack; ln x.pack y.pack; rm a.txt", "x.pack"),
        ("ln -s /etc/x out; rm a.txt", "out"),
    ] {
        let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("a.txt", "one"), ("b.txt", "two")]);
        let mut view = place.view();
        ok(&mut view, &format!("export HOME={}; {line}", place.home().display()));
        let (removed, to) = torn(&place.read_back(&mut view));
        assert_eq!(removed, ["a.txt"], "{line}");
        assert!(to.iter().any(|to| to.ends_with(written)), "{line}: {to:?}");
    }
}

fn rows_of_what_is_left_out() {
    let place = Place::with(&[
        IGNORED,
        ("Cargo.toml", ""),
        (".env.local", "A=1"),
        ("store/a", "a"),
        ("second/b", "b"),
    ]);
    for (line, expected) in [
        ("echo 1 > x.pack", &["x.pack"][..]),
        ("mkdir -p store; echo 1 > store/b; echo 2 > store/c", &["store/ (2 files)"]),
        ("echo A=2 > .env.local; mkdir target; echo 1 > target/x", &[".env.local", "target/ (1 file)"]),
        // Neither a new time nor the same content is a change.
        ("touch store/a; cp store/a x; cat x > store/a; rm x", &[]),
    ] {
        // A copy does not have what git ignores.
        if tier() == Tier::Copy && line.contains("touch") {
            continue;
        }
        let mut view = place.view();
        ok(&mut view, line);
        let back = place.read_back(&mut view);
        assert_eq!(left_out(&back), expected, "{line}");
        assert_eq!(back.changes.changes.len(), 0, "{line}");
    }
    for (line, is_cache) in [
        ("mkdir -p node_modules/.cache/x; echo 1 > node_modules/.cache/x/y", true),
        ("mkdir -p node_modules/x; echo 1 > node_modules/x/index.js", false),
        ("mkdir target; echo 1 > target/x", true),
        ("echo 1 > x.pack", false),
    ] {
        let mut view = place.view();
        ok(&mut view, line);
        let caches: Vec<_> = place.read_back(&mut view).left_out.iter().map(|row| row.cache).collect();
        assert_eq!(caches, [is_cache], "{line}");
    }
    // A copy does not have what git ignores, so nothing of it can be removed there.
    if tier() != Tier::Copy {
        let mut view = place.view();
        ok(&mut view, "rm -r store .env.local");
        assert_eq!(
            left_out(&place.read_back(&mut view)),
            ["the removal of .env.local", "removed files of store/"]
        );
    }
}

fn keepable_places() {
    let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("package.json", "{}"), ("store/old", "old")]);
    for (line, kept, unkept) in [
        ("mkdir dist; echo 1 > dist/a; echo 2 > x.pack; echo 3 > store/old", "dist/a store/old x.pack", None),
        // A place that is too large leaves room for the others.
        (
            "mkdir a.pack; for i in $(seq 1001); do echo $i > a.pack/$i; done; echo 2 > x.pack",
            "x.pack",
            Some("a.pack/ (1001 files): too many files; at most 1,000 files and 64 MiB are kept"),
        ),
        (
            "mkdir second; echo 1 > second/a; truncate -s 65M second/b; echo 2 > x.pack",
            "x.pack",
            Some("second/ (2 files): too much, 65 MiB; at most 1,000 files and 64 MiB are kept"),
        ),
        (
            "mkdir second; echo 1 > second/a; ln -s /etc/passwd second/b",
            "",
            Some("second/ (2 files): an accept cannot write it"),
        ),
        (
            "mkdir -p node_modules/m; echo 1 > node_modules/m/x; mkdir target; echo 1 > target/x",
            "",
            Some("node_modules/ (1 file): its tool makes it again"),
        ),
        ("mkdir store; echo 1 > store/new; rm store/old", "store/new", Some("removed files of store/")),
    ] {
        // A copy does not have what git ignores.
        if tier() == Tier::Copy && line.contains("store/old") {
            continue;
        }
        let mut view = place_view(&place);
        ok(&mut view, &format!("{line}; true"));
        let back = place.read_back(&mut view);
        let paths: Vec<_> = back.keepable.iter().map(|change| change.path.to_string()).collect();
        assert_eq!(paths.join(" "), kept, "{line}");
        assert_eq!(LeftOut::list_unkept(&back.left_out).as_deref(), unkept, "{line}");
        assert!(back.changes.is_empty(), "{line}");
    }
    // What changed on disk since the view began is nothing that the command has seen.
    if tier() != Tier::Copy {
        let mut view = place_view(&place);
        ok(&mut view, "echo 3 >> store/old; echo 1 > x.pack");
        place.write("store/old", "saved meanwhile");
        let back = place.read_back(&mut view);
        let paths: Vec<_> = back.keepable.iter().map(|change| change.path.to_string()).collect();
        assert_eq!(paths, ["x.pack"]);
        assert_eq!(
            LeftOut::list_unkept(&back.left_out).as_deref(),
            Some("store/ (1 file): it changed meanwhile")
        );
    }
}

fn several_names() {
    let place = Place::with(&[IGNORED, ("a.txt", "one"), ("sub/b.txt", "two")]);
    std::fs::hard_link(place.work().join("a.txt"), place.work().join("sub/same.txt")).unwrap();
    for (line, expected) in [
        ("echo more >> a.txt", Some("a.txt")),
        ("sed -i s/one/two/ sub/same.txt", Some("sub/same.txt")),
        ("rm sub/same.txt", Some("sub/same.txt")),
        ("rm -r sub", Some("sub/same.txt")),
        ("mv a.txt c.txt", Some("a.txt")),
        ("chmod +x a.txt", Some("a.txt")),
        ("ln sub/b.txt c.txt", Some("c.txt")),
        ("echo 1 > c; ln c d", Some("c")),
        ("touch a.txt; cp a.txt c.txt; echo x > sub/new", None),
        ("ln sub/b.txt x.pack; rm x.pack; echo more >> sub/b.txt", None),
    ] {
        let mut view = place_view(&place);
        ok(&mut view, line);
        let back = view.read_back(&place.tree(), &ReadRules::new(Quota::default()));
        let found = match &back {
            Err(ShadowError::HardLinks { path }) => Some(path.to_string()),
            Err(error) => panic!("{line}: {error}"),
            Ok(_) => None,
        };
        assert_eq!(found.as_deref(), expected, "{line}: {back:?}");
    }
}

fn moves_of_folders_that_git_has() {
    let folder = |at: &str| (0..100).map(|number| format!("{at}/{number}")).collect::<BTreeSet<_>>();
    for (line, at, told) in [
        ("mkdir build && mv lib build/", Some("build/lib"), &[][..]),
        ("mkdir store && mv lib store/in", Some("store/in"), &[]),
        ("mkdir build && tar cf build/lib.tar lib && rm -r lib", None, &["build/ (1 file)"]),
        ("mkdir target && mv lib target/", None, &["target/ (100 files)"]),
        ("tar cf /tmp/lib.tar lib && rm -r lib", None, &["/tmp/lib.tar"]),
        ("mv lib/7 /dev/shm/", None, &["/dev/shm/7"]),
    ] {
        let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("package.json", "{}"), ("lib/0", "")]);
        for number in 1..100 {
            place.write(&format!("lib/{number}"), &format!("it is {number}\n"));
        }
        git(&place, &["init", "-q"]);
        git(&place, &["add", "."]);
        place.settle();
        let mut view = place.view();
        ok(&mut view, line);
        // Also when another command ran since.
        for _ in 0..2 {
            let back = place.read_back(&mut view);
            assert_eq!(&back.torn, &None, "{line}");
            assert_eq!(left_out(&back), told, "{line}");
            let written = lines(&back.changes).into_iter();
            let written: BTreeSet<_> = written
                .filter_map(|line| Some(line.strip_prefix("write ")?.split(' ').next()?.to_owned()))
                .collect();
            assert_eq!(written, at.map(folder).unwrap_or_default(), "{line}");
            ok(&mut view, "echo");
        }
    }
}

fn moves_of_what_is_shown() {
    for (line, at) in [
        ("mv made.txt made.pack", "made.pack"),
        ("tr a-z A-Z < made.txt > made.pack; rm made.txt", "made.pack"),
        ("mkdir build && mv made.txt build/", "build/made.txt"),
        ("mv a.txt a.pack", "a.pack"),
    ] {
        let place = Place::with(&[IGNORED, ("package.json", "{}"), ("a.txt", "on disk")]);
        git(&place, &["init", "-q"]);
        git(&place, &["add", "."]);
        let staged = place.staged(async |overlay| {
            for name in ["made.txt", "a.txt"] {
                overlay.write(&path(name), format!("{name} made ahead").into_bytes()).await.unwrap();
            }
        });
        let mut view = place.view();
        view.show(&staged).unwrap();
        ok(&mut view, line);
        assert_eq!(brought(&place.read_back(&mut view)), [at], "{line}");
    }
    // What cannot come along is only told, for it never was on disk.
    let place = Place::with(&[IGNORED, ("Cargo.toml", "")]);
    let mut view = place.view();
    let made =
        place.staged(async |overlay| overlay.write(&path("made.sh"), b"made ahead".to_vec()).await.unwrap());
    view.show(&made).unwrap();
    ok(&mut view, "mkdir store; for i in $(seq 70); do echo $i > store/$i; done; rm made.sh");
    let back = place.read_back(&mut view);
    assert_eq!((&back.torn, left_out(&back)), (&None, vec!["store/ (70 files)".to_owned()]));
}

fn large_copies_of_what_was_edited() {
    let place = Place::with(&[IGNORED, ("a.txt", "only here")]);
    let mut view = place.view();
    ok(&mut view, "mkdir store; for i in $(seq 70); do echo $i > store/$i; done; echo 'only there' > a.txt");
    let back = place.read_back(&mut view);
    assert_eq!((&back.torn, left_out(&back)), (&None, vec!["store/ (70 files)".to_owned()]));
    assert_eq!(lines(&back.changes).len(), 1);
}

fn moves_into_build_output() {
    let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("a.txt", "one"), ("target/x", "x")]);
    let room = tempfile::tempdir_in("/var/tmp").unwrap();
    let layers = vec![BuildLayer { path: path("target"), below: Vec::new() }];
    let folder = room.path().join("view");
    std::fs::create_dir(&folder).unwrap();
    let build = Some(BuildRoom { folder: folder.clone(), measured: folder, layers, bytes: 1 << 30 });
    let mut view = View::start(&Options { build, ..place.options() }).unwrap();
    ok(&mut view, "mkdir target/in && mv a.txt target/in/");
    let back = place.read_back(&mut view);
    assert_eq!((brought(&back), back.torn), (vec!["target/in/a.txt".to_owned()], None));
    drop(view);
    headstart_shadow::remove_folder(&room.path().join("view")).unwrap();
}

fn removals_that_git_has() {
    let build = "mkdir -p target && echo built > target/x";
    for (is_changed, is_torn) in [(false, false), (true, true)] {
        let place = Place::with(&[IGNORED, ("Cargo.toml", ""), ("a.txt", "one"), ("b.txt", "two")]);
        git(&place, &["init", "-q"]);
        git(&place, &["add", "."]);
        if is_changed {
            place.write("a.txt", "not what git has");
            place.settle();
        }
        let mut view = place.view();
        ok(&mut view, &format!("rm a.txt && {build}"));
        let back = place.read_back(&mut view);
        assert_eq!((back.torn.is_some(), brought(&back).len()), (is_torn, 0));
        // What belongs to the same command comes along, whether git has the rest or not.
        ok(&mut view, "tr a-z A-Z < b.txt > b.pack && rm b.txt");
        if !is_torn {
            assert_eq!(brought(&place.read_back(&mut view)), ["b.pack"]);
        }
    }
}
