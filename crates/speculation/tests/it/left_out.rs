//! What a command of work ahead wrote where an accept does not reach.

use futures::executor::block_on;
use headstart_overlay_fs::{LeftOut, Torn};
use headstart_speculation::Ending;
use headstart_tool_gate::{ApprovalMode, Decision, Reason};
use headstart_toolbox::ScriptedRun;
use serde_json::json;

use crate::shadow::{ViewFixture, changed, verdict, with_views};
use crate::support::{accepted, calls, path, says, shell};

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
