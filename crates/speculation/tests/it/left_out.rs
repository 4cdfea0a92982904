//! What a command of work ahead wrote where an accept does not reach.

use futures::executor::block_on;
use headstart_overlay_fs::{Change, ChangeKind, LeftOut, Torn};
use headstart_speculation::{Acceptance, Ending};
use headstart_tool_gate::{ApprovalMode, Decision, Reason};
use headstart_toolbox::ScriptedRun;
use serde_json::json;

use crate::shadow::{ViewFixture, changed, results, verdict, with_views};
use crate::support::{accepted, calls, path, read, says, shell};

#[test]
fn half_of_a_move_is_a_boundary() {
    let ViewFixture { fixture, views } =
        with_views(ApprovalMode::AutoEdit, [calls([shell("gzip README.md")]), says("Done.")]);
    let torn = Torn { removed: vec![path("README.md")], written: vec!["README.md.gz".to_owned()] };
    let moved = ScriptedRun::new("", 0).removing(path("README.md"));
    views.play("gzip README.md", moved.with(|answer| answer.torn = Some(torn)));
    let (_, finished) = fixture.speculate("do it");
    let why = "gzip README.md takes README.md away, and a copy of it may be in README.md.gz, which an accept does not bring";
    assert_eq!(verdict(&finished), (Decision::Boundary, Reason::WritesOutside, why.to_owned()));
    assert_eq!(changed(&finished), [""; 0]);
    assert_eq!(views.held(), [], "what it did there is gone");
}

/// A view may end between two commands, and with it what only it had.
#[test]
fn a_copy_in_a_view_that_is_gone_is_no_copy() {
    let copied = LeftOut { path: "store".to_owned(), folder: true, written: 1, ..LeftOut::default() };
    for (is_new, cache) in [(true, false), (false, false), (true, true)] {
        let ViewFixture { fixture, views } = with_views(
            ApprovalMode::AutoEdit,
            [calls([shell("cp README.md store/"), shell("rm README.md")]), says("Done.")],
        );
        let copied = LeftOut { cache, ..copied.clone() };
        let first = ScriptedRun::new("", 0).with(|answer| answer.left_out = vec![copied]);
        views.play("cp README.md store/", first);
        let second = ScriptedRun::new("", 0).removing(path("README.md"));
        views.play("rm README.md", second.with(|answer| answer.is_new_view = is_new));
        let (_, finished) = fixture.speculate("do it");
        if is_new && !cache {
            let why = "rm README.md takes README.md away, and a copy of it may be in store, which an accept does not bring";
            assert_eq!(verdict(&finished), (Decision::Boundary, Reason::WritesOutside, why.to_owned()));
        } else {
            assert_eq!(finished.ending, Ending::Completed);
        }
        assert_eq!(finished.not_kept.len(), usize::from(is_new), "what is gone stays named");
    }
}

#[test]
fn what_an_accept_does_not_bring_is_part_of_the_result() {
    let ViewFixture { fixture, views } =
        with_views(ApprovalMode::AutoEdit, [calls([shell("migrate")]), says("Done.")]);
    let row = LeftOut { path: "db.sqlite3".to_owned(), written: 1, ..LeftOut::default() };
    views.play("migrate", ScriptedRun::new("done\n", 0).with(|answer| answer.left_out = vec![row.clone()]));
    let (_, finished) = fixture.speculate("do it");
    assert_eq!((&finished.ending, &finished.not_kept), (&Ending::Completed, &vec![row.clone()]));
    let record = serde_json::to_value(&*finished).unwrap();
    assert_eq!(record["notKept"], json!([{ "path": "db.sqlite3", "written": 1 }]));
    assert_eq!(accepted(block_on(fixture.engine.accept(&finished)).unwrap()).not_kept, [row]);
}

fn file(name: &str, content: &str) -> Change {
    let kind = ChangeKind::Write {
        content: content.as_bytes().to_vec().into(),
        executable: false,
        moved_from: None,
    };
    Change { path: path(name), base: None, base_content: None, kind, mode: None }
}

/// A command that wrote a database and a note, of which an accept brings neither by itself.
fn keeping(mode: ApprovalMode) -> ViewFixture {
    let with_views = with_views(mode, [calls([shell("migrate")]), says("Done.")]);
    let row = |path: &str| LeftOut { path: path.to_owned(), written: 1, ..LeftOut::default() };
    let ran = ScriptedRun::new("done\n", 0).with(|answer| {
        answer.left_out = vec![row("db.sqlite3"), row("secret.pem"), row("run.log")];
        answer.keepable = vec![file("db.sqlite3", "rows"), file("secret.pem", "key"), file("run.log", "ran")];
    });
    with_views.views.play("migrate", ran);
    with_views
}

#[test]
fn what_is_left_out_comes_along_if_its_user_says_so() {
    let ViewFixture { fixture, .. } = keeping(ApprovalMode::Default);
    let (speculation, finished) = fixture.speculate("do it");
    // What the rules close is never offered.
    assert_eq!(finished.keepable.len(), 2);
    assert_eq!(LeftOut::list_unkept(&finished.not_kept).as_deref(), Some("secret.pem: the rules close it"));
    let Acceptance::NeedsApproval(asks) = block_on(speculation.accept()).unwrap() else {
        panic!("not asked")
    };
    assert!(asks.can_keep() && asks.changes().is_empty(), "{asks:?}");
    let given = accepted(block_on(speculation.accept_with(&asks.approve_and_keep())).unwrap());
    let paths: Vec<_> = given.changes.iter().map(|row| row.path.to_string()).collect();
    assert_eq!(paths, ["db.sqlite3", "run.log"]);
    assert_eq!(given.not_kept.iter().map(LeftOut::words).collect::<Vec<_>>(), ["secret.pem"]);
    assert_eq!(fixture.tree.snapshot()["db.sqlite3"], b"rows");
    assert_eq!(fixture.tree.snapshot().get("secret.pem"), None);
}

#[test]
fn a_yes_alone_keeps_nothing_and_neither_replaces_what_its_user_saved() {
    let ViewFixture { fixture, .. } = keeping(ApprovalMode::Default);
    let (speculation, _) = fixture.speculate("do it");
    let Acceptance::NeedsApproval(asks) = block_on(speculation.accept()).unwrap() else {
        panic!("not asked")
    };
    fixture.tree.write(&path("run.log"), "my own");
    let refused = block_on(speculation.accept_with(&asks.approve_and_keep())).unwrap();
    assert!(matches!(refused, Acceptance::Conflict(_)), "{refused:?}");
    assert_eq!(fixture.tree.snapshot().get("db.sqlite3"), None, "all or nothing");
    let given = accepted(block_on(speculation.accept_with(&asks.approve())).unwrap());
    assert_eq!((given.changes.len(), given.not_kept.len()), (0, 3));
    assert_eq!(fixture.tree.snapshot()["run.log"], b"my own");
}

/// Nobody knows whether the rest of it was in the view that is gone.
#[test]
fn what_two_views_wrote_is_not_kept() {
    let ViewFixture { fixture, views } =
        with_views(ApprovalMode::Default, [calls([shell("one"), shell("two")]), says("Done.")]);
    let row = |path: &str| LeftOut { path: path.to_owned(), written: 1, ..LeftOut::default() };
    views.play("one", ScriptedRun::new("", 0).with(|answer| answer.left_out = vec![row("dist"), row("log")]));
    let second = ScriptedRun::new("", 0).with(|answer| {
        answer.is_new_view = true;
        answer.left_out = vec![row("dist"), row("run.db")];
        answer.keepable = vec![file("dist/a", "a"), file("run.db", "b")];
    });
    views.play("two", second);
    let (_, finished) = fixture.speculate("do it");
    let kept: Vec<_> = finished.keepable.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(kept, ["run.db"]);
    let unkept = LeftOut::list_unkept(&finished.not_kept);
    assert_eq!(unkept.as_deref(), Some("dist: its view has ended, log: its view has ended"));
}

#[test]
fn a_mode_without_questions_keeps_nothing_by_itself() {
    let ViewFixture { fixture, .. } = keeping(ApprovalMode::AutoEdit);
    let (_, finished) = fixture.speculate("do it");
    let given = accepted(block_on(fixture.engine.accept(&finished)).unwrap());
    assert_eq!((given.changes.len(), given.not_kept.len()), (0, 3));
}

/// A later call finds what an earlier command wrote, or it is told why not: never what is on disk in its place.
#[test]
fn what_a_command_left_out_is_read_where_it_is() {
    let row = LeftOut { path: "log".to_owned(), folder: true, written: 1, ..LeftOut::default() };
    let ViewFixture { fixture, views } = with_views(
        ApprovalMode::AutoEdit,
        [
            calls([
                shell("build"),
                shell("cat log/a"),
                shell("grep -r a ."),
                read("log/a"),
                read("README.md"),
            ]),
            says("Done."),
        ],
    );
    let left_out =
        |output: &str| ScriptedRun::new(output, 0).with(|answer| answer.left_out = vec![row.clone()]);
    views.play("build", left_out("built\n"));
    views.play("cat log/a", left_out("as it is in the view"));
    views.play("grep -r a .", left_out("log/a:as\n"));
    let (_, finished) = fixture.speculate("do it");
    let results = results(&finished);
    assert!(results[1].starts_with("as it is in the view"), "{results:?}");
    assert!(results[2].starts_with("log/a:as"), "{results:?}");
    let refused = "a command of this work changed log/a, and only commands see that: use one for it";
    assert!(results[3].contains(refused), "{results:?}");
    assert!(!results[4].contains("only commands"), "{results:?}");
    assert_eq!((finished.ending.clone(), views.real_runs()), (Ending::Completed, Vec::new()));
}

#[test]
fn what_was_left_out_in_a_view_that_is_gone_is_a_boundary() {
    let row = LeftOut { path: "out.log".to_owned(), written: 1, ..LeftOut::default() };
    let ViewFixture { fixture, views } = with_views(
        ApprovalMode::AutoEdit,
        [calls([shell("build"), shell("format"), shell("cat out.log")]), says("Done.")],
    );
    views.play("build", ScriptedRun::new("", 0).with(|answer| answer.left_out = vec![row]));
    views.play("format", ScriptedRun::new("", 0).with(|answer| answer.is_new_view = true));
    let (_, finished) = fixture.speculate("do it");
    let why = "it may read out.log, which a command of this work changed in a view that has ended";
    assert_eq!(verdict(&finished), (Decision::Boundary, Reason::ReadsStaged, why.to_owned()));
}

/// What git ignores stays on disk, so nothing can take the place of the folder that holds it.
#[test]
fn a_folder_that_keeps_a_file_is_not_replaced() {
    for (left, is_refused) in [("src/cache/x", true), ("src.log", false)] {
        let ViewFixture { fixture, views } =
            with_views(ApprovalMode::AutoEdit, [calls([shell("pack src")]), says("Done.")]);
        let row = LeftOut { path: left.to_owned(), ..LeftOut::default() };
        let packed = ScriptedRun::new("", 0).removing(path("src")).writing(path("src"), "one file\n");
        views.play("pack src", packed.with(|answer| answer.left_out = vec![row]));
        let (_, finished) = fixture.speculate("do it");
        let why = format!("src is a folder, and an accept does not remove {left} in it");
        assert_eq!(results(&finished)[0].contains(&why), is_refused, "{:?}", results(&finished));
        assert_eq!(changed(&finished).is_empty(), is_refused);
    }
}
