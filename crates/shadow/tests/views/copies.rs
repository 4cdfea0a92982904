//! Cases that only views which begin with a copy of the workspace can get wrong.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use headstart_shadow::{End, Limits, Options, ShadowError, Tier, View};

use crate::place::{Place, Test, lines, ok, path, sh, tier};

pub(crate) const TESTS: &[Test] = &[
    ("nothing_done_is_no_change", nothing_done_is_no_change),
    ("marks_of_an_overlay_mean_nothing", marks_of_an_overlay_mean_nothing),
    ("what_is_written_through_a_mapping_comes_back", what_is_written_through_a_mapping),
    ("a_time_that_is_set_back_hides_nothing", a_time_that_is_set_back),
    ("what_its_user_does_meanwhile_is_no_change_of_the_views", what_its_user_does_meanwhile),
    ("what_git_ignores_is_not_lost", what_git_ignores_is_not_lost),
    ("a_repository_is_copied_and_its_changes_are_told", a_repository_is_copied),
    ("times_and_bits_are_those_of_the_workspace", times_and_bits),
    ("links_lead_the_copy_nowhere", links_lead_nowhere),
    ("too_many_files_are_refused", too_many_files),
];

/// Tests of the copy on disk.
pub(crate) const CLONE: &[Test] = &[("the_room_of_a_clone_is_bounded", the_room_of_a_clone)];

fn changes(place: &Place, view: &mut View) -> Vec<String> {
    lines(&place.read_back(view).changes)
}

fn nothing_done_is_no_change() {
    let place = Place::with(&[("a", "a"), ("run", "#!/bin/sh\n"), ("sub/b", "b"), ("deep/er/c", "c")]);
    std::os::unix::fs::symlink("a", place.work().join("link")).unwrap();
    fs::create_dir(place.work().join("empty")).unwrap();
    fs::hard_link(place.work().join("a"), place.work().join("a2")).unwrap();
    place.settle();
    let mut view = place.view();
    assert_eq!(view.tier(), tier());
    assert_eq!(ok(&mut view, "find . -type f | sort | xargs cat; readlink link"), "aac#!/bin/sh\nba\n");
    let back = place.read_back(&mut view);
    assert_eq!((lines(&back.changes), back.not_staged.len(), back.ignored.len()), (vec![], 0, 0), "{back:?}");
    assert!(!back.git && back.changed_meanwhile.is_empty());
}

/// Compiles this program outside the workspace and runs it in it.
fn run_c(view: &mut View, source: &str) {
    ok(view, &format!("cc -x c -o /tmp/program - <<'END' && /tmp/program\n{source}\nEND"));
}

fn marks_of_an_overlay_mean_nothing() {
    let place = Place::with(&[("b", ""), ("sub/c", "c"), ("d", "d")]);
    let mut view = place.view();
    run_c(
        &mut view,
        "#include <sys/xattr.h>
        int main(void) {
            return setxattr(\"b\", \"user.overlay.whiteout\", \"y\", 1, 0)
                || setxattr(\"sub\", \"user.overlay.opaque\", \"y\", 1, 0)
                || setxattr(\"d\", \"user.overlay.redirect\", \"y\", 1, 0)
                || setxattr(\"d\", \"user.overlay.metacopy\", \"y\", 1, 0);
        }",
    );
    let back = place.read_back(&mut view);
    assert_eq!((lines(&back.changes), back.not_staged.len()), (vec![], 0));
}

fn what_is_written_through_a_mapping() {
    let place = Place::with(&[("a", "before"), ("b", "b")]);
    let mut view = place.view();
    run_c(
        &mut view,
        "#include <fcntl.h>
        #include <string.h>
        #include <sys/mman.h>
        int main(void) {
            void *mapped = mmap(0, 6, PROT_READ | PROT_WRITE, MAP_SHARED, open(\"a\", O_RDWR), 0);
            if (mapped == MAP_FAILED) return 1;
            memcpy(mapped, \"AFTER!\", 6);
        }",
    );
    assert_eq!(changes(&place, &mut view), ["write a - \"AFTER!\", was File"]);
}

fn a_time_that_is_set_back() {
    let place = Place::with(&[("a", "before"), ("b", "b")]);
    let mut view = place.view();
    ok(&mut view, "touch -r a stamp; printf AFTER! > a; touch -r stamp a; rm stamp; touch b");
    assert_eq!(changes(&place, &mut view), ["write a - \"AFTER!\", was File"]);
}

fn what_its_user_does_meanwhile() {
    let place = Place::with(&[("a", "a"), ("b", "b"), ("gone/c", "c"), ("d", "d")]);
    let mut view = place.view();
    place.write("a", "theirs");
    place.write("new", "theirs");
    place.write("b", "theirs");
    fs::remove_dir_all(place.work().join("gone")).unwrap();
    ok(&mut view, "echo ours > b; rm d");
    let back = place.read_back(&mut view);
    assert_eq!(lines(&back.changes), ["delete d, was File"]);
    assert_eq!(back.changed_meanwhile, [path("b")]);
}

fn what_git_ignores_is_not_lost() {
    let files = [
        (".gitignore", "*.log\nout/\n"),
        ("a", "a"),
        ("b.log", "b"),
        ("out/c", "c"),
        ("src/d", "d"),
        ("src/e.log", "e"),
    ];
    let place = Place::with(&files);
    let mut view = place.view();
    let shown = ok(&mut view, "find . -type f | sort");
    match tier() {
        Tier::Copy => assert_eq!(shown, "./.gitignore\n./a\n./src/d\n"),
        _ => assert_eq!(shown.lines().count(), files.len()),
    }
    assert_eq!(changes(&place, &mut view), [""; 0]);
    ok(&mut view, "rm -rf src; mkdir -p out; echo new > out/c; echo x > x.log");
    let back = place.read_back(&mut view);
    assert_eq!(lines(&back.changes), ["delete src/d, was File"]);
    assert_eq!(back.ignored, [path("out"), path("x.log")]);
}

fn a_repository_is_copied() {
    let place = Place::with(&[("a", "a"), ("kept.log", "k")]);
    let git = |line: &str| {
        let line = format!("git -c user.name=A -c user.email=a@b {line}");
        let done = std::process::Command::new("/bin/sh")
            .args(["-c", &line])
            .current_dir(place.work())
            .output()
            .unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git("init -q");
    git("add a kept.log");
    git("commit -qm one");
    place.write(".gitignore", "*.log\n");
    place.settle();
    let mut view = place.view();
    assert_eq!(ok(&mut view, "cat kept.log; git log --format=%s"), "kone\n");
    assert!(!place.read_back(&mut view).git);
    ok(&mut view, "echo b > a; git -c user.name=A -c user.email=a@b commit -qam two");
    let back = place.read_back(&mut view);
    assert!(back.git);
    assert_eq!(lines(&back.changes), ["write a - \"b\\n\", was File"]);
    let mut view = place.view();
    ok(&mut view, "rm -rf .git");
    assert!(place.read_back(&mut view).git);
}

fn times_and_bits() {
    let place = Place::with(&[("run", "#!/bin/sh\n"), ("sub/a", "a"), ("closed/b", "b")]);
    fs::set_permissions(place.work().join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_234_567_890_123);
    for name in ["run", "sub", "sub/a"] {
        fs::File::open(place.work().join(name)).unwrap().set_modified(old).unwrap();
    }
    place.settle();
    let mut view = place.view();
    let line = "stat -c '%a %.3Y %n' run sub sub/a; stat -c %a closed";
    let mode = |name: &str| place.work().join(name).metadata().unwrap().mode() & 0o777;
    let time = "1234567890.123";
    let expected = format!(
        "{:o} {time} run\n{:o} {time} sub\n{:o} {time} sub/a\n555\n",
        mode("run"),
        mode("sub"),
        mode("sub/a")
    );
    assert_eq!(ok(&mut view, line), expected);
    assert_eq!(changes(&place, &mut view), [""; 0]);
    fs::set_permissions(place.work().join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn links_lead_nowhere() {
    let place = Place::with(&[("a", "a")]);
    fs::write(place.home().join("secret"), "TOKEN").unwrap();
    for (name, target) in [("file", "secret"), ("folder", "")] {
        std::os::unix::fs::symlink(place.home().join(target), place.work().join(name)).unwrap();
    }
    place.settle();
    let mut view = place.view();
    let said = ok(
        &mut view,
        "cat file folder/secret; grep -r TOKEN . ; test -h file && test -h folder && echo links",
    );
    assert!(said.ends_with("links\n") && !said.contains("TOKEN"), "{said}");
    assert_eq!(changes(&place, &mut view), [""; 0]);
}

fn too_many_files() {
    let place = Place::with(&[]);
    for number in 0..20_001 {
        fs::write(place.work().join(number.to_string()), "").unwrap();
    }
    let error = View::start(&place.options()).unwrap_err();
    assert!(
        matches!(&error, ShadowError::Workspace { reason, .. } if reason.contains("20000 files")),
        "{error}"
    );
}

fn the_room_of_a_clone() {
    let place = Place::with(&[("a", "a")]);
    let limits = Limits { bytes: 4 << 20, files: 100, ..Limits::default() };
    let options = Options { limits, ..place.options() };
    for line in
        ["head -c 8000000 /dev/zero > big; sleep 30", "for n in $(seq 3000); do : > f$n; done; sleep 30"]
    {
        let room = Options { build: place.options().build, ..options.clone() };
        let output = sh(&mut View::start(&room).unwrap(), line);
        assert!(output.end == End::Disk && output.refused.quota, "{line}: {output:?}");
    }
}
