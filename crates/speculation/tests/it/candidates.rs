//! Several suggestions at a time: each runs over its own overlay. If one is taken, the others leave nothing behind.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::executor::{LocalPool, block_on};
use headstart_followup_state::Suggestion;
use headstart_speculation::{Acceptance, Limits, Speculation, Status};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

use crate::support::{Fixture, Reply, call, calls, says, spawn};

const TEXTS: [&str; 2] = ["add a note", "add another note"];

fn writes(content: &str) -> Reply {
    calls([call("write_file", &json!({ "file_path": "note.txt", "content": content }))])
}

/// Starts both. The first one runs as far as it can before the second begins.
fn start_both(fixture: &Fixture, pool: &mut LocalPool) -> [Speculation; 2] {
    TEXTS.map(|prompt| {
        let (speculation, driver, _events) = fixture.engine.start(prompt, &fixture.params(), prompt).unwrap();
        spawn(pool, driver);
        pool.run_until_stalled();
        speculation
    })
}

#[test]
fn each_has_an_overlay_of_its_own_and_taking_one_drops_the_request_of_the_other() {
    let dropped = Arc::new(AtomicBool::new(false));
    let script = [writes("one\n"), Reply::Hangs(Arc::clone(&dropped)), writes("two\n"), says("It is there.")];
    let fixture = Fixture::new(ApprovalMode::AutoEdit, script);
    let before = fixture.tree.snapshot();
    let mut pool = LocalPool::new();
    let [first, second] = start_both(&fixture, &mut pool);

    assert_eq!((first.status(), second.status()), (Status::Running, Status::Completed));
    let [one, two] = [&first, &second].map(|work| work.changes().diff());
    assert!(one.contains("+one") && !one.contains("two"), "{one}");
    assert!(two.contains("+two") && !two.contains("one"), "{two}");
    assert_eq!(fixture.tree.snapshot(), before);

    first.abort();
    assert_eq!(first.status(), Status::Aborted);
    assert!(first.changes().is_empty());
    assert_eq!(block_on(first.accept()).unwrap(), Acceptance::Nothing);
    assert!(dropped.load(Ordering::SeqCst), "its request ends with it");
    assert_eq!(fixture.tree.snapshot(), before);

    let Acceptance::Accepted(accepted) = block_on(second.accept()).unwrap() else { panic!("taken") };
    assert_eq!(accepted.transcript.messages[0].to_text(), TEXTS[1]);
    assert_eq!(fixture.tree.snapshot()["note.txt"], b"two\n");
}

#[test]
fn giving_all_up_leaves_nothing_of_any() {
    let flags = [false; 2].map(|raised| Arc::new(AtomicBool::new(raised)));
    let [first, second] = flags.each_ref().map(|flag| Reply::Hangs(Arc::clone(flag)));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [writes("one\n"), first, writes("two\n"), second]);
    let before = fixture.tree.snapshot();
    let mut pool = LocalPool::new();
    for work in start_both(&fixture, &mut pool) {
        work.abort();
    }
    assert!(flags.iter().all(|flag| flag.load(Ordering::SeqCst)));
    pool.run();
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn the_question_after_the_work_asks_for_as_many_as_the_host_wants() {
    let all = ["commit this", "push it", "tag it"];
    for candidates in 1..=3 {
        let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [writes("one\n"), says("It is there.")]);
        fixture.engine.limits = Limits { candidates, ..Limits::default() };
        let answer =
            if candidates == 1 { "commit this" } else { "commit this\npush it\ncommit this.\ntag it" };
        fixture.model.suggest(answer);
        let (speculation, _) = fixture.speculate(TEXTS[0]);
        let next = block_on(speculation.next()).unwrap();
        assert_eq!(next.iter().map(Suggestion::as_str).collect::<Vec<_>>(), all[..candidates]);
    }
}
