//! Accepts work ahead in each state that it can be in. Checks what the accept gives, and that a turn in the foreground
//! continues from there.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Fixture, Reply, accepted, call, calls, edit, says, spawn, write};
use futures::executor::{LocalPool, block_on};
use headstart_forked_query::{
    BackgroundModel, FinishReason, Message, ModelError, ModelEvent, Opaque, Part, ProviderRelation, Role,
    check_pairing,
};
use headstart_speculation::{
    Acceptance, Accepted, AtBoundary, Consent, Ending, Finished, Limit, Limits, Status, Transcript,
};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

const EDITED: &[u8] = b"pub fn one() -> u32 {\n    2\n}\n";

fn touch() -> ModelEvent {
    call("shell", &json!({ "command": "touch x" }))
}

/// Continues in the foreground with what an accept gave. Returns the whole turn.
fn go_on(fixture: &Fixture, given: &Accepted) -> Transcript {
    let transcript = given.transcript.clone();
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    check_pairing(&turn.transcript().messages).unwrap();
    turn.transcript()
}

fn asked_for_answers(fixture: &Fixture) -> usize {
    fixture.model.requests.lock().unwrap().iter().filter(|request| request.response_schema.is_none()).count()
}

/// Runs the same prompt and answers, all in the foreground.
fn in_foreground(answers: Vec<Reply>, consents: &[Consent]) -> (Transcript, Fixture) {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
    fixture.host.consents.lock().unwrap().extend(consents.iter().cloned());
    let transcript = Transcript::new("do it");
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    let transcript = turn.transcript();
    (transcript, fixture)
}

#[test]
fn at_a_boundary_the_turn_goes_on_without_asking_the_model_again() {
    // Ids that the provider does not give are the same as in a turn that never ran ahead.
    let answers =
        || vec![calls([edit(), touch(), touch()]), calls([touch(), write("a", "b")]), says("Done.")];
    let consents = [Consent::Run, Consent::Decline, Consent::Run];
    let fixture = Fixture::new(ApprovalMode::AutoEdit, answers());
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending.status(), Status::Boundary);
    let given = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(
        fixture.tree.snapshot()["src/lib.rs"],
        EDITED,
        "the finished part is there before the question"
    );
    assert_eq!(asked_for_answers(&fixture), 1);
    fixture.host.consents.lock().unwrap().extend(consents.clone());
    let whole = go_on(&fixture, &given);
    assert_eq!(asked_for_answers(&fixture), 3);

    let (expected, direct) = in_foreground(answers(), &consents);
    assert_eq!(whole, expected);
    assert_eq!(fixture.tree.snapshot(), direct.tree.snapshot());
    assert_eq!(*fixture.host.asked.lock().unwrap(), *direct.host.asked.lock().unwrap());
    assert_eq!(
        fixture.model.requests.lock().unwrap().last().unwrap().messages,
        direct.model.requests.lock().unwrap().last().unwrap().messages
    );
}

#[test]
fn a_joined_run_that_comes_to_a_boundary_goes_on_as_well() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), touch()]), says("Done.")]);
    let (speculation, driver, _events) = fixture.start("do it");
    assert_eq!(speculation.status(), Status::Running);
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    let given = accepted(pool.run_until(speculation.accept()).unwrap());
    assert_eq!(given.ending.status(), Status::Boundary);
    assert!(fixture.host.asked.lock().unwrap().is_empty(), "nobody is asked while it runs ahead");
    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    go_on(&fixture, &given);
    assert_eq!(fixture.host.asked.lock().unwrap().len(), 1);
    assert_eq!(asked_for_answers(&fixture), 2);
}

#[test]
fn a_host_may_want_nothing_of_what_stopped_at_a_boundary() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), touch()])]);
    *fixture.host.at_boundary.lock().unwrap() = AtBoundary::Discard;
    let before = fixture.tree.snapshot();
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(block_on(fixture.engine.accept(&finished)).unwrap(), Acceptance::Discarded);
    assert_eq!(block_on(speculation.accept()).unwrap(), Acceptance::Discarded);
    assert_eq!(fixture.tree.snapshot(), before);
    assert_eq!(speculation.status(), Status::Aborted, "nothing of it is kept");
    assert!(speculation.changes().is_empty());

    // Work that was completed is not affected.
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    *fixture.host.at_boundary.lock().unwrap() = AtBoundary::Discard;
    accepted(block_on(fixture.speculate("do it").0.accept()).unwrap());
}

/// Each limit that can end a run in the middle, and a provider that fails: the finished part is given, and a turn in
/// the foreground continues it to the result that it would have had without the limit.
#[test]
fn work_that_stopped_early_is_given_and_gone_on_with() {
    let answers = || {
        let looks = call("ls", &json!({ "path": "." }));
        vec![calls([edit()]), calls([looks, write("a", "four")]), says("Done.")]
    };
    let (expected, direct) = in_foreground(answers(), &[]);
    let limits: [fn(&mut Limits); 4] = [
        |limits| limits.turns = 1,
        |limits| limits.messages = 4,
        |limits| limits.tokens = 150,
        |limits| limits.staged.files = 1,
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let mut fixture = Fixture::new(ApprovalMode::AutoEdit, answers());
        limit(&mut fixture.engine.limits);
        let (speculation, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending.status(), Status::Exhausted, "{number}");
        let given = accepted(block_on(speculation.accept()).unwrap());
        assert_eq!(fixture.tree.snapshot()["src/lib.rs"], EDITED);
        fixture.engine.limits = Limits::default();
        assert_eq!(go_on(&fixture, &given), expected, "{number}");
        assert_eq!(fixture.tree.snapshot(), direct.tree.snapshot());
        assert_eq!(asked_for_answers(&fixture), 3, "{number}: no answer is asked for twice");
    }

    let error =
        ModelError::Server { provider: "test".into(), status: 500, message: "no".into(), retry_after: None };
    for stumbles in [Reply::Fails(error), Reply::Cut, says("")] {
        let mut stumbling = answers();
        stumbling.insert(1, stumbles);
        let fixture = Fixture::new(ApprovalMode::AutoEdit, stumbling);
        let (speculation, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending.status(), Status::Failed);
        let given = accepted(block_on(speculation.accept()).unwrap());
        assert_eq!(go_on(&fixture, &given), expected);
    }
}

#[test]
fn work_that_the_clock_stopped_is_given_and_gone_on_with() {
    let never = Arc::new(AtomicBool::new(false));
    let answers = [calls([edit()]), Reply::Hangs(never), says("Done.")];
    let fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
    let (speculation, driver, _events) = fixture.start("do it");
    fixture.host.time_is_up.store(true, Ordering::SeqCst);
    block_on(driver);
    let given = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(given.ending, Ending::Exhausted { limit: Limit::Time });
    fixture.host.time_is_up.store(false, Ordering::SeqCst);
    let whole = go_on(&fixture, &given);
    assert_eq!(whole.messages.last(), Some(&Message::text(Role::Model, "Done.")));
}

/// Such an answer also ends a turn in the foreground, so there is nothing to continue.
#[test]
fn an_answer_that_the_provider_cut_is_given_as_it_is() {
    let cut =
        Reply::Events(vec![ModelEvent::Text("and so".into()), ModelEvent::Finished(FinishReason::Length)]);
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), cut]);
    let (speculation, _) = fixture.speculate("do it");
    let given = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(given.ending, Ending::Exhausted { limit: Limit::Output });
    assert_eq!(given.transcript.messages.last(), Some(&Message::text(Role::Model, "and so")));
}

/// The provider gives no ids here. A call after the accept must not have the id of another call, neither of a pending
/// one nor of one long ago.
#[test]
fn calls_after_an_accept_have_ids_of_their_own() {
    let look = || call("ls", &json!({ "path": "." }));
    let fixture =
        Fixture::new(ApprovalMode::AutoEdit, [calls([touch(), look()]), calls([look()]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    let given = accepted(block_on(speculation.accept()).unwrap());
    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    go_on(&fixture, &given);

    // The fork for another model keeps only the end of a long conversation.
    let mut history = Vec::new();
    for number in 0..30 {
        let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([look()]), says("Done.")]);
        let request = headstart_forked_query::ModelRequest { messages: history.clone(), ..fixture.request() };
        let transcript = Transcript::new(&format!("look {number}"));
        let (turn, _events) =
            fixture.engine.turn(fixture.model.clone(), request, transcript, Limits::default());
        assert_eq!(block_on(turn.run()), Ending::Completed);
        history.extend(turn.transcript().messages);
    }
    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([look(), look()]), says("Done.")]);
    fixture.engine.background = BackgroundModel::fast(fixture.model.clone(), "fast", ProviderRelation::Same);
    let params = fixture.params_of(&history);
    assert!(params.fork(&fixture.engine.background).messages.len() < history.len());
    let (speculation, driver, _events) = fixture.engine.start("s1", &params, "do it").unwrap();
    block_on(driver);
    let given = accepted(block_on(speculation.accept()).unwrap());
    history.extend(given.transcript.messages);
    check_pairing(&history).unwrap();
}

/// What the model wants sent back with an answer is part of that answer's message in the next request, and in what an
/// accept gives. It is also there if the answer is cut. An answer that consists of nothing else makes no message.
#[test]
fn what_the_model_wants_back_stays_with_its_answer() {
    let opaque = || Opaque {
        format: "chat".into(),
        model: "m".into(),
        data: json!([{"raw": {"reasoning_content": "hm"}}]),
    };
    let look = || call("ls", &json!({ "path": "." }));
    // A call that needs consent follows one that does not.
    let thinks = || calls([ModelEvent::Text("So.".into()), ModelEvent::Opaque(opaque()), look(), touch()]);
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [thinks(), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    let given = accepted(block_on(speculation.accept()).unwrap());
    let answer = &given.transcript.messages[1];
    assert_eq!((answer.parts.first(), answer.tool_calls().count()), (Some(&Part::Opaque(opaque())), 1));
    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    let whole = go_on(&fixture, &given);
    assert_eq!((whole.messages[1].opaque(), whole.messages[1].tool_calls().count()), (Some(&opaque()), 2));
    let requests = fixture.model.requests.lock().unwrap();
    let last = requests.iter().rfind(|request| request.response_schema.is_none()).unwrap();
    assert!(last.messages.contains(&whole.messages[1]), "{last:?}");

    let silent = Reply::Events(vec![ModelEvent::Opaque(opaque()), ModelEvent::Finished(FinishReason::Stop)]);
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [silent]);
    let (speculation, _) = fixture.speculate("do it");
    assert_eq!(block_on(speculation.accept()).unwrap(), Acceptance::Nothing);
}

#[test]
fn nothing_is_given_where_nothing_was_done() {
    for answer in [Reply::Cut, says(" \n")] {
        let fixture = Fixture::new(ApprovalMode::AutoEdit, [answer]);
        let (speculation, finished) = fixture.speculate("do it");
        assert!(!Finished::has_results(&finished));
        assert_eq!(block_on(speculation.accept()).unwrap(), Acceptance::Nothing);
    }
}
