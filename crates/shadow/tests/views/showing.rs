//! A view shows the workspace with exactly the staged changes.

use std::fs;

use headstart_overlay_fs::ChangeSet;

use crate::place::{Place, Test, lines, ok, path, sh};
use crate::state::state;

pub(crate) const TESTS: &[Test] = &[
    ("what_is_staged_is_shown", what_is_staged_is_shown),
    ("only_the_difference_is_shown_and_taken_back", only_the_difference_is_shown_and_taken_back),
    ("what_stands_in_the_way_is_replaced", what_stands_in_the_way_is_replaced),
    ("a_content_that_comes_back_has_a_later_time", a_content_that_comes_back_has_a_later_time),
    ("hidden_paths_are_not_there", hidden_paths_are_not_there),
    ("steps_lie_on_steps", steps_lie_on_steps),
    ("what_a_step_below_made_can_be_removed", what_a_step_below_made_can_be_removed),
];

const FILES: [(&str, &str); 4] =
    [("a.txt", "a"), ("run.sh", "#!/bin/sh\necho run"), ("sub/b.txt", "b"), ("sub/c.txt", "c")];

fn what_is_staged_is_shown() {
    let place = Place::with(&FILES);
    let staged = place.staged(async |overlay| {
        overlay.write(&path("a.txt"), b"staged".to_vec()).await.unwrap();
        overlay.write(&path("new/deep/file"), b"new".to_vec()).await.unwrap();
        overlay.set_executable(&path("new/deep/file"), true).await.unwrap();
        overlay.set_executable(&path("run.sh"), false).await.unwrap();
        overlay.remove(&path("sub")).await.unwrap();
        overlay.symlink(&path("link"), b"a.txt").await.unwrap();
        overlay.create_dir(&path("empty")).await.unwrap();
    });
    let before = state(&place.work());
    let mut view = place.view();
    view.show(&staged).unwrap();
    assert_eq!(ok(&mut view, "cat a.txt new/deep/file link; readlink link"), "stagednewstageda.txt\n");
    assert_eq!(
        ok(&mut view, "test -x new/deep/file && test ! -x run.sh && test -d empty && test ! -e sub; ls"),
        "a.txt\nempty\nlink\nnew\nrun.sh\n"
    );
    let back = place.read_back(&mut view);
    assert_eq!(lines(&back.changes), lines(&staged));
    assert_eq!(back.changes.changes, staged.changes);
    assert_eq!(state(&place.work()), before);
}

fn only_the_difference_is_shown_and_taken_back() {
    let place = Place::with(&FILES);
    let first = place.staged(async |overlay| {
        overlay.write(&path("a.txt"), b"first".to_vec()).await.unwrap();
        overlay.write(&path("new"), b"new".to_vec()).await.unwrap();
        overlay.remove(&path("sub")).await.unwrap();
    });
    let mut view = place.view();
    view.show(&first).unwrap();
    ok(&mut view, "test ! -e sub && test -e new");
    let inode = ok(&mut view, "stat -c %i-%Y new");
    let second = place.staged(async |overlay| {
        overlay.write(&path("new"), b"new".to_vec()).await.unwrap();
        overlay.set_executable(&path("run.sh"), false).await.unwrap();
    });
    view.show(&second).unwrap();
    assert_eq!(ok(&mut view, "cat a.txt sub/b.txt sub/c.txt; test ! -x run.sh"), "abc");
    assert_eq!(ok(&mut view, "stat -c %i-%Y new"), inode, "what did not change was written again");
    view.show(&ChangeSet::default()).unwrap();
    ok(&mut view, "test ! -e new && test -x run.sh");
    assert_eq!(lines(&place.read_back(&mut view).changes), [""; 0]);
}

fn what_stands_in_the_way_is_replaced() {
    let place = Place::with(&FILES);
    let mut view = place.view();
    ok(
        &mut view,
        "rm -r sub a.txt; ln -s /etc sub; mkdir -p a.txt/x/y; chmod 0 a.txt/x; mkfifo run; rm run.sh; mkfifo run.sh",
    );
    let staged = place.staged(async |overlay| {
        overlay.write(&path("a.txt"), b"staged".to_vec()).await.unwrap();
        overlay.write(&path("sub/b.txt"), b"staged".to_vec()).await.unwrap();
        overlay.write(&path("run.sh"), b"staged".to_vec()).await.unwrap();
    });
    view.show(&staged).unwrap();
    assert_eq!(
        ok(&mut view, "cat a.txt sub/b.txt run.sh; test ! -L sub && test -f run.sh"),
        "stagedstagedstaged"
    );
    assert!(fs::read_dir("/etc").unwrap().all(|entry| entry.unwrap().file_name() != "b.txt"));
}

fn a_content_that_comes_back_has_a_later_time() {
    let place = Place::with(&FILES);
    let mut view = place.view();
    let staged =
        place.staged(async |overlay| overlay.write(&path("a.txt"), b"staged".to_vec()).await.unwrap());
    let build = "if test ! -e out || test \"$(stat -c %Y a.txt)\" -gt \"$(stat -c %Y out)\"; then cp a.txt out; fi; cat out";
    // Changes come at once, and the tool compares whole seconds.
    for _ in 0..3 {
        view.show(&staged).unwrap();
        assert_eq!(ok(&mut view, build), "staged");
        view.show(&ChangeSet::default()).unwrap();
        assert_eq!(ok(&mut view, build), "a");
    }
}

fn hidden_paths_are_not_there() {
    let place = Place::with(&[(".env", "TOKEN=1"), ("keys/id", "key"), ("a", "a")]);
    let mut view = place.view();
    view.hide(&[path(".env"), path("keys"), path("gone")]).unwrap();
    let output = sh(&mut view, "cat .env keys/id; ls -A; mkdir keys; echo x > keys/id");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("TOKEN"), "{output:?}");
    let back = place.read_back(&mut view);
    assert_eq!(lines(&back.changes), [""; 0]);
    // Nobody may think that it is done.
    let torn = back.torn.map(|torn| (torn.removed, torn.written));
    assert_eq!(torn, Some((Vec::new(), vec!["keys".to_owned()])));

    let mut view = place.view();
    view.hide(&[path(".env")]).unwrap();
    ok(&mut view, "mv a .env");
    let torn = place.read_back(&mut view).torn.map(|torn| (torn.removed, torn.written));
    assert_eq!(torn, Some((vec![path("a")], vec![".env".to_owned()])));
    view.hide(&[path(".env")]).unwrap();
    ok(&mut view, "mkdir b");
    assert_eq!(place.read_back(&mut view).torn, None);
}

fn steps_lie_on_steps() {
    let place = Place::with(&FILES);
    let below = std::sync::Arc::new(headstart_overlay_fs::Overlay::new(
        std::sync::Arc::new(place.tree()),
        headstart_overlay_fs::Quota::default(),
    ));
    futures::executor::block_on(async {
        below.write(&path("a.txt"), b"one".to_vec()).await.unwrap();
        below.write(&path("new"), b"one".to_vec()).await.unwrap();
        below.remove(&path("sub/c.txt")).await.unwrap();
    });
    let mut view = place.view();
    view.show_below(&below.change_set()).unwrap();
    assert_eq!(ok(&mut view, "cat a.txt new; ls sub"), "oneoneb.txt\n");
    ok(&mut view, "echo two > new; rm sub/b.txt; mkdir made");
    let rules = headstart_shadow::ReadRules::new(headstart_overlay_fs::Quota::default());
    let back = view.read_back(&*below, &rules).unwrap();
    let expected =
        ["delete sub/b.txt, was File", "folder made, was nothing", "write new - \"two\\n\", was File"];
    assert_eq!(lines(&back.changes), expected);
    let both = below.change_set().then(&back.changes);
    place.commit(&both);
    assert_eq!(fs::read_to_string(place.work().join("new")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(place.work().join("a.txt")).unwrap(), "one");
    // The folder is still there, and its former content is not.
    assert_eq!(fs::read_dir(place.work().join("sub")).unwrap().count(), 0);
}

fn what_a_step_below_made_can_be_removed() {
    let place = Place::with(&FILES);
    let below = std::sync::Arc::new(headstart_overlay_fs::Overlay::new(
        std::sync::Arc::new(place.tree()),
        headstart_overlay_fs::Quota::default(),
    ));
    futures::executor::block_on(async {
        for name in ["a.txt", "new", "made/one", "made/two", "whole/of/it"] {
            below.write(&path(name), b"below".to_vec()).await.unwrap();
        }
    });
    let mut view = place.view();
    view.show_below(&below.change_set()).unwrap();
    let rules = headstart_shadow::ReadRules::new(headstart_overlay_fs::Quota::default());
    assert_eq!(lines(&view.read_back(&*below, &rules).unwrap().changes), [""; 0]);
    ok(&mut view, "rm -r new made/one whole; printf alpha > a.txt");
    let back = view.read_back(&*below, &rules).unwrap();
    let expected = [
        "delete whole/of/it, was File",
        "delete whole/of, was Directory",
        "delete whole, was Directory",
        "delete new, was File",
        "delete made/one, was File",
        "write a.txt - \"alpha\", was File",
    ];
    assert_eq!(lines(&back.changes), expected);
}
