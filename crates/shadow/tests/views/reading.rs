//! What commands wrote is read back as a change set that can be committed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use headstart_overlay_fs::{CommitOutcome, Quota};
use headstart_shadow::{NotStagedReason, ReadRules, ShadowError};

use crate::place::{Place, Test, lines, ok, path};
use crate::state::state;

pub(crate) const TESTS: &[Test] = &[
    ("what_was_written_comes_back_and_is_committed", what_was_written_comes_back),
    ("what_is_as_before_is_no_change", what_is_as_before_is_no_change),
    ("folders_and_files_change_places", folders_and_files_change_places),
    ("what_cannot_be_staged_is_named", what_cannot_be_staged_is_named),
    ("what_somebody_else_changed_is_not_staged", what_somebody_else_changed_is_not_staged),
    ("what_is_too_much_is_an_error", what_is_too_much_is_an_error),
];

/// Tests of tiers in which the view has what git ignores from the beginning.
pub(crate) const IGNORED: &[Test] = &[("what_git_ignores_is_left_out", what_git_ignores_is_left_out)];

fn what_was_written_comes_back() {
    let place = Place::with(&[("a", "a"), ("b", "b"), ("sub/c", "c"), ("sub/d", "d"), ("keep/e", "e")]);
    let mut view = place.view();
    ok(
        &mut view,
        "echo A > a; chmod +x b; rm -r sub; mv keep/e moved; mkdir -p new/empty; ln -s a link; printf '\\377\\0' > bytes",
    );
    let back = place.read_back(&mut view);
    let expected = [
        "delete sub/d, was File",
        "delete sub/c, was File",
        "delete sub, was Directory",
        "delete keep/e, was File",
        "write a - \"A\\n\", was File",
        "write b x \"b\", was File",
        "write bytes - \"\u{fffd}\\0\", was nothing",
        "link link -> a, was nothing",
        "write moved - \"e\" from keep/e, was nothing",
        "folder new, was nothing",
        "folder new/empty, was nothing",
    ];
    assert_eq!(lines(&back.changes), expected);
    let before = state(&place.work());
    assert_eq!(lines(&place.read_back(&mut view).changes), expected, "a second look differs");
    assert_eq!(state(&place.work()), before);
    place.commit_all(&back.changes);
    let work = place.work();
    assert_eq!(fs::read_to_string(work.join("a")).unwrap(), "A\n");
    assert_eq!(fs::metadata(work.join("b")).unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!work.join("sub").exists() && work.join("new/empty").is_dir() && work.join("moved").exists());
}

fn what_is_as_before_is_no_change() {
    let place = Place::with(&[("a", "a"), ("sub/c", "c"), ("run", "#!/bin/sh")]);
    let mut view = place.view();
    ok(
        &mut view,
        "touch a; cp a x; mv x a; rm -r sub; mkdir sub; printf c > sub/c; chmod g+w a; chmod g-w a; chmod -x run; chmod +x run; mkdir t; rmdir t",
    );
    let back = place.read_back(&mut view);
    assert_eq!((lines(&back.changes), back.git, back.not_staged.len()), (Vec::new(), false, 0));
}

fn folders_and_files_change_places() {
    let place = Place::with(&[("file", "f"), ("folder/a", "a"), ("folder/b/c", "c"), ("other/x", "x")]);
    std::os::unix::fs::symlink("file", place.work().join("link")).unwrap();
    place.settle();
    let mut view = place.view();
    ok(
        &mut view,
        "rm file; mkdir file; echo in > file/in; rm -r folder; echo f > folder; rm link; echo l > link; rm -r other; ln -s file other",
    );
    let back = place.read_back(&mut view);
    let expected = [
        "delete other/x, was File",
        "delete folder/b/c, was File",
        "delete folder/b, was Directory",
        "delete folder/a, was File",
        "folder file, was File",
        "write file/in - \"in\\n\", was nothing",
        "write folder - \"f\\n\", was Directory",
        "write link - \"l\\n\", was Symlink",
        "link other -> file, was Directory",
    ];
    assert_eq!(lines(&back.changes), expected);
    place.commit_all(&back.changes);
    assert_eq!(fs::read_to_string(place.work().join("file/in")).unwrap(), "in\n");
    assert_eq!(fs::read_link(place.work().join("other")).unwrap().to_str(), Some("file"));
}

fn what_git_ignores_is_left_out() {
    let place = Place::with(&[
        (".gitignore", "target/\n*.log\n!keep.log\n/only\n"),
        ("sub/.gitignore", "*.tmp\n"),
        ("target/old", "old"),
        ("src/main", "m"),
        (".git/HEAD", "ref"),
    ]);
    let mut view = place.view();
    ok(
        &mut view,
        "mkdir -p target/debug deep/target; echo x | tee target/debug/y deep/target/z a.log keep.log only sub/only sub/a.tmp a.tmp src/new > .git/index; rm -r target/old",
    );
    let back = place.read_back(&mut view);
    let expected = [
        "write a.tmp - \"x\\n\", was nothing",
        "folder deep, was nothing",
        "write keep.log - \"x\\n\", was nothing",
        "write src/new - \"x\\n\", was nothing",
        "write sub/only - \"x\\n\", was nothing",
    ];
    assert_eq!(lines(&back.changes), expected);
    let ignored: Vec<String> = back.ignored.iter().map(ToString::to_string).collect();
    assert_eq!(ignored, ["a.log", "deep/target", "only", "sub/a.tmp", "target"]);
    assert!(back.git);
    let keep = ReadRules { keep: vec![path("target/debug")], ..ReadRules::new(Quota::default()) };
    let kept = lines(&view.read_back(&place.tree(), &keep).unwrap().changes);
    assert!(kept.contains(&"write target/debug/y - \"x\\n\", was nothing".to_owned()), "{kept:?}");
    assert!(!kept.iter().any(|line| line.contains("target/old")), "{kept:?}");
}

fn what_cannot_be_staged_is_named() {
    let place = Place::with(&[("a", "a")]);
    let mut view = place.view();
    ok(
        &mut view,
        "mkfifo fifo; echo s > setuid; chmod 6755 setuid; ln -s /etc/passwd out; ln -s ../.. up; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"socket\") or die $!'",
    );
    let back = place.read_back(&mut view);
    let named: Vec<(String, NotStagedReason)> =
        back.not_staged.iter().map(|not| (not.path.to_string(), not.why)).collect();
    let named: Vec<(&str, NotStagedReason)> = named.iter().map(|(path, why)| (path.as_str(), *why)).collect();
    let expected = [
        ("fifo", NotStagedReason::Fifo),
        ("out", NotStagedReason::LinkLeadsOut),
        ("setuid", NotStagedReason::SpecialBits),
        ("socket", NotStagedReason::Socket),
        ("up", NotStagedReason::LinkLeadsOut),
    ];
    assert_eq!(named, expected);
    let staged = lines(&back.changes);
    assert_eq!(staged, ["write setuid x \"s\\n\", was nothing"]);
    ok(&mut view, "ln a b");
    let error = view.read_back(&place.tree(), &ReadRules::new(Quota::default())).unwrap_err();
    assert!(
        matches!(&error, ShadowError::HardLinks { path } if path.to_string() == "a" || path.to_string() == "b"),
        "{error}"
    );
}

fn what_somebody_else_changed_is_not_staged() {
    let place = Place::with(&[("a", "a"), ("b", "b"), ("sub/c", "c"), ("d", "d"), ("sub2/e", "e")]);
    let mut view = place.view();
    place.write("a", "theirs");
    fs::remove_file(place.work().join("sub/c")).unwrap();
    place.write("d", "theirs");
    ok(&mut view, "echo ours > a; echo ours > b; echo ours > sub/c; rm d; echo ours > sub2/e");
    let back = place.read_back(&mut view);
    let meanwhile: Vec<String> = back.changed_meanwhile.iter().map(ToString::to_string).collect();
    assert_eq!(meanwhile, ["a", "d", "sub/c"]);
    assert_eq!(
        lines(&back.changes),
        ["write b - \"ours\\n\", was File", "write sub2/e - \"ours\\n\", was File"]
    );
    // A change keeps the base that it had when it was found, so a later edit by somebody else is a conflict and is not
    // overwritten.
    place.write("b", "theirs");
    ok(&mut view, "echo again >> b");
    let back = place.read_back(&mut view);
    assert!(matches!(place.commit(&back.changes), CommitOutcome::Conflict(_)));
    assert_eq!(fs::read_to_string(place.work().join("b")).unwrap(), "theirs");
}

fn what_is_too_much_is_an_error() {
    let place = Place::with(&[("a", "a")]);
    let mut view = place.view();
    ok(
        &mut view,
        "mkdir -p n; cd n; for i in $(seq 50); do echo $i > f$i; done; head -c 100000 /dev/zero > big",
    );
    let quota = Quota::default();
    for (quota, unit) in [
        (Quota { files: 20, ..quota }, "files"),
        (Quota { bytes: 1000, file_bytes: 1 << 20, ..quota }, "bytes"),
        (Quota { file_bytes: 1000, ..quota }, "bytes in one file"),
        (Quota { depth: 0, ..quota }, "names in a path"),
    ] {
        let error = view.read_back(&place.tree(), &ReadRules::new(quota)).unwrap_err().to_string();
        assert!(error.contains(unit), "{error}");
    }
    assert_eq!(place.read_back(&mut view).changes.changes.len(), 52);
    // The same of folders that are gone: a repository may have more in one another than a thread has stack for.
    let place = Place::with(&[(&format!("{}x", "d/".repeat(1_500)), "")]);
    let mut view = place.view();
    ok(&mut view, "rm -r d");
    let error = view.read_back(&place.tree(), &ReadRules::new(quota)).unwrap_err().to_string();
    assert!(error.contains("names in a path"), "{error}");
}
