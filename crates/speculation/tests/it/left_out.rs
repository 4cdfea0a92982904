//! What a command of work ahead wrote where an accept does not reach.

use futures::executor::block_on;
use headstart_overlay_fs::{LeftOut, Torn};
use headstart_speculation::Ending;
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
    let copied = LeftOut { path: "store".to_owned(), folder: true, written: 1, more: false, cache: false };
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
    let row = LeftOut { path: "db.sqlite3".to_owned(), folder: false, written: 1, more: false, cache: false };
    views.play("migrate", ScriptedRun::new("done\n", 0).with(|answer| answer.left_out = vec![row.clone()]));
    let (_, finished) = fixture.speculate("do it");
    assert_eq!((&finished.ending, &finished.not_kept), (&Ending::Completed, &vec![row.clone()]));
    let record = serde_json::to_value(&*finished).unwrap();
    assert_eq!(record["notKept"], json!([{ "path": "db.sqlite3", "written": 1 }]));
    assert_eq!(accepted(block_on(fixture.engine.accept(&finished)).unwrap()).not_kept, [row]);
}

/// A later call finds what an earlier command wrote, or it is told why not: never what is on disk in its place.
#[test]
fn what_a_command_left_out_is_read_where_it_is() {
    let row = LeftOut { path: "log".to_owned(), folder: true, written: 1, more: false, cache: false };
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
    let row = LeftOut { path: "out.log".to_owned(), folder: false, written: 1, more: false, cache: false };
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
        let row = LeftOut { path: left.to_owned(), folder: false, written: 0, more: false, cache: false };
        let packed = ScriptedRun::new("", 0).removing(path("src")).writing(path("src"), "one file\n");
        views.play("pack src", packed.with(|answer| answer.left_out = vec![row]));
        let (_, finished) = fixture.speculate("do it");
        let why = format!("src is a folder, and an accept does not remove {left} in it");
        assert_eq!(results(&finished)[0].contains(&why), is_refused, "{:?}", results(&finished));
        assert_eq!(changed(&finished).is_empty(), is_refused);
    }
}
