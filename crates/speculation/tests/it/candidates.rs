//! Several suggestions at a time: each runs over an overlay of its own, one is taken, the others leave nothing behind.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::executor::{LocalPool, block_on};
use headstart_followup_state::{Suggestion, filter};
use headstart_speculation::ledger::Outcome;
use headstart_speculation::{Acceptance, Candidates, Limits, Speculation, Status};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

use crate::support::{Answer, Bench, call, calls, says, spawn};

const TEXTS: [&str; 2] = ["add a note", "add another note"];

fn writes(content: &str) -> Answer {
    calls([call("write_file", &json!({ "file_path": "note.txt", "content": content }))])
}

/// Starts both, the first as far as it goes before the second begins.
fn start_both(bench: &Bench, pool: &mut LocalPool) -> Candidates<Speculation> {
    let named = TEXTS.map(|text| (text.replace(' ', "-"), filter(text).unwrap()));
    let mut candidates = Candidates::new(named);
    for candidate in &mut candidates {
        let prompt = candidate.suggestion.as_str();
        let (speculation, driver, _events) =
            bench.engine.start(&*candidate.id, &bench.params(), prompt).unwrap();
        candidate.work = Some(speculation);
        spawn(pool, driver);
        pool.run_until_stalled();
    }
    candidates
}

#[test]
fn each_has_an_overlay_of_its_own_and_taking_one_drops_the_request_of_the_other() {
    let dropped = Arc::new(AtomicBool::new(false));
    let script =
        [writes("one\n"), Answer::Hangs(Arc::clone(&dropped)), writes("two\n"), says("It is there.")];
    let bench = Bench::new(ApprovalMode::AutoEdit, script);
    let before = bench.tree.snapshot();
    let mut pool = LocalPool::new();
    let mut candidates = start_both(&bench, &mut pool);

    let staged = |text: &str| {
        let work = candidates.get(text).and_then(|candidate| candidate.work.clone()).unwrap();
        (work.status(), work.changes().diff())
    };
    let (first, second) = (staged(TEXTS[0]), staged(TEXTS[1]));
    assert_eq!((first.0, second.0), (Status::Running, Status::Completed));
    assert!(first.1.contains("+one") && !first.1.contains("two"), "{}", first.1);
    assert!(second.1.contains("+two") && !second.1.contains("one"), "{}", second.1);
    assert_eq!(bench.tree.snapshot(), before);

    candidates.saw(TEXTS[0]);
    for (given_up, outcome) in candidates.keep_only(" add another note.") {
        let work = given_up.work.unwrap();
        work.abort();
        assert_eq!((outcome, work.status()), (Outcome::Replaced, Status::Aborted));
        assert!(work.changes().is_empty());
        assert_eq!(block_on(work.accept()).unwrap(), Acceptance::Nothing);
    }
    assert!(dropped.load(Ordering::SeqCst), "its request ends with it");
    assert_eq!(bench.tree.snapshot(), before);

    let taken = candidates.take(TEXTS[1]).unwrap().work.unwrap();
    let Acceptance::Accepted(accepted) = block_on(taken.accept()).unwrap() else { panic!("taken") };
    assert_eq!(accepted.transcript.messages[0].to_text(), TEXTS[1]);
    assert_eq!(bench.tree.snapshot()["note.txt"], b"two\n");
    assert!(candidates.is_empty());
}

#[test]
fn giving_all_up_leaves_nothing_of_any() {
    let flags = [false; 2].map(|raised| Arc::new(AtomicBool::new(raised)));
    let [first, second] = flags.each_ref().map(|flag| Answer::Hangs(Arc::clone(flag)));
    let bench = Bench::new(ApprovalMode::AutoEdit, [writes("one\n"), first, writes("two\n"), second]);
    let before = bench.tree.snapshot();
    let mut pool = LocalPool::new();
    let mut candidates = start_both(&bench, &mut pool);
    for (given_up, _) in candidates.give_up(Outcome::Aborted) {
        given_up.work.unwrap().abort();
    }
    assert!(flags.iter().all(|flag| flag.load(Ordering::SeqCst)));
    pool.run();
    assert_eq!(bench.tree.snapshot(), before);
}

#[test]
fn the_question_after_the_work_asks_for_as_many_as_the_host_wants() {
    for (candidates, expected) in [(1, &[][..]), (2, &["push it"]), (3, &["push it", "tag it"])] {
        let mut bench = Bench::new(ApprovalMode::AutoEdit, [writes("one\n"), says("It is there.")]);
        bench.engine.limits = Limits { candidates, ..Limits::default() };
        let answer =
            if candidates == 1 { "commit this" } else { "commit this\npush it\ncommit this.\ntag it" };
        bench.model.suggest(answer);
        let (speculation, _) = bench.speculate(TEXTS[0]);
        assert_eq!(block_on(speculation.next()).as_ref().map(Suggestion::as_str), Some("commit this"));
        let others = speculation.other_candidates();
        assert_eq!(others.iter().map(Suggestion::as_str).collect::<Vec<_>>(), expected);
    }
}
