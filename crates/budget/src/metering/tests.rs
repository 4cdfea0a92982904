use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::executor::block_on;
use headstart_forked_query::{BackgroundModel, CacheSafeParams, Prices, ToolCall};
use headstart_overlay_fs::MemoryTree;
use headstart_providers::{Recording, Replay};
use headstart_speculation::{Acceptance, Consent, Driver, Engine, Host, Limits};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict};
use headstart_toolbox::Toolbox;

use super::*;
use crate::ledger::{Kind, Source};
use crate::policy::Tariff;

const NOW: u64 = 1_790_000_000_000;
const GUESS: Guess<'_> = Guess { text: "run the tests", said: Some(70) };

struct Program;

#[async_trait::async_trait]
impl Host for Program {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _time: Duration) {
        std::future::pending::<()>().await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext { mode: ApprovalMode::AutoEdit, workspace: "/project".into(), ..GateContext::default() }
    }

    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Decline
    }
}

/// Work that writes a file of ten bytes, and asks what comes next.
fn work() -> (Speculation, Driver) {
    let recording = r#"{"turns": [
        {"toolCalls": [{"name": "write_file", "args": {"file_path": "a", "content": "ten bytes\n"}}], "usage": {"inputTokens": 100, "outputTokens": 9}},
        {"text": "Done.", "usage": {"inputTokens": 120, "outputTokens": 1}}
    ], "suggestions": [{"text": "run the tests", "usage": {"inputTokens": 130, "outputTokens": 4}}]}"#;
    let recording = Recording::parse(recording).unwrap();
    let engine = Engine {
        background: BackgroundModel::main(Arc::new(Replay::instant(recording)), "m"),
        toolbox: Toolbox::standard(None),
        workspace: Arc::new(MemoryTree::new()),
        gate: Arc::new(Gate::new()),
        host: Arc::new(Program),
        limits: Limits::default(),
    };
    let params = CacheSafeParams::new(None, engine.toolbox.schemas(), &[], "m");
    let (speculation, driver, _events) = engine.start("s1", &params, "add a file").unwrap();
    (speculation, driver)
}

fn metering(mode: Mode) -> Metering {
    let entries = EntryBuilder::new(Source::Chat, Tariff::new("m", Prices::default()));
    let policy = Policy { mode, ..Policy::default() };
    Metering::new(entries, policy, Habits::default(), &[])
}

fn written(metering: &mut Metering) -> Vec<Entry> {
    metering.take_pending_writes().entries
}

#[test]
fn what_is_to_be_kept_is_given_once_and_in_order() {
    let mut metering = metering(Mode::Auto);
    metering.record_suggestion(NOW, "a", Some(GUESS), QueryCost::default(), None);
    metering.record_candidate(NOW, "b", Guess { text: "commit this", said: None }, "a");
    metering.record_decision(NOW + 5, "a", Outcome::Ignored);
    let pending_writes = metering.take_pending_writes();
    let [Entry::Suggestion(first), Entry::Suggestion(second), Entry::Outcome(outcome_entry)] =
        pending_writes.entries.as_slice()
    else {
        panic!("{pending_writes:?}")
    };
    assert_eq!((&*first.id, first.kind, first.work.at), ("a", Kind::Verify, NOW));
    assert_eq!((&*second.id, second.candidate_of.as_deref()), ("b", Some("a")));
    assert_eq!(
        (&*outcome_entry.id, outcome_entry.at, outcome_entry.outcome),
        ("a", NOW + 5, Outcome::Ignored)
    );
    assert!(first.prompt.is_none(), "no text is kept unless the host says so");
    assert!(!pending_writes.habit_updates.is_empty(), "that it was not taken is one");
    assert_eq!(metering.take_pending_writes(), PendingWrites::default());
}

#[test]
fn the_texts_of_prompts_are_kept_without_their_secrets() {
    let entries = EntryBuilder::new(Source::Command, Tariff::new("m", Prices::default()));
    let scrubber = headstart_providers::Scrubber::default();
    let entry = entries.with_prompts(scrubber).suggestion(
        NOW,
        "a",
        Some(Guess {
            text: "use sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789 for the tests",
            said: None,
        }),
        QueryCost::default(),
        None,
    );
    let Entry::Suggestion(suggested) = entry else { panic!("{entry:?}") };
    let prompt = suggested.prompt.unwrap();
    assert!(prompt.starts_with("use ") && prompt.ends_with(" for the tests"), "{prompt}");
    assert!(!prompt.contains("abcdefghijklm"), "{prompt}");
}

#[test]
fn a_machine_without_anything_to_spare_counts_in_auto_mode_only() {
    for (mode, answer) in [(Mode::Auto, Err(SkipReason::Battery)), (Mode::Always, Ok(()))] {
        let mut metering = metering(mode);
        metering.set_machine(Some(SkipReason::Battery));
        assert_eq!(metering.ask_or_record(NOW), answer);
        assert_eq!(metering.allow_run(NOW, "a", GUESS, Beside::default()).is_some(), answer.is_ok());
        metering.set_machine(None);
        assert_eq!(metering.ask_or_record(NOW), Ok(()));
    }
}

#[test]
fn why_a_suggestion_did_not_run_stands_beside_what_became_of_it() {
    let mut metering = metering(Mode::Auto);
    metering.set_machine(Some(SkipReason::Load));
    assert_eq!(metering.allow_run(NOW, "a", GUESS, Beside::default()), None);
    metering.record_decision(NOW, "a", Outcome::Accepted);
    metering.record_decision(NOW, "a", Outcome::Accepted);
    let skip_codes: Vec<_> = written(&mut metering)
        .into_iter()
        .map(|entry| match entry {
            Entry::Outcome(outcome_entry) => outcome_entry.skip_code,
            entry => panic!("{entry:?}"),
        })
        .collect();
    assert_eq!(skip_codes, [Some(SkipReason::Load.code().to_owned()), None]);
}

#[test]
fn a_reason_is_reported_once_and_not_before_the_first_suggestion() {
    let mut metering = metering(Mode::Auto);
    assert!(!metering.should_report(SkipReason::Battery));
    metering.note_shown();
    assert!(metering.should_report(SkipReason::Battery) && !metering.should_report(SkipReason::Battery));
    assert!(metering.should_report(SkipReason::Load));
    let lost = SkipReason::Limit { limit: Policy::default().limit };
    assert!(metering.should_report(lost) && !metering.should_report(lost));
    metering.grant();
    assert!(metering.should_report(lost), "what was granted may be used up again");
    assert!(!metering.should_report_error(&ModelError::Yielded));
}

#[test]
fn a_run_is_written_once_and_then_what_came_of_it() {
    let mut metering = metering(Mode::Auto);
    let (speculation, driver) = work();
    let mut meter = RunMeter::new(NOW, "s1");
    block_on(driver);
    metering.record_run(NOW + 10, &mut meter, &speculation);
    metering.record_run(NOW + 20, &mut meter, &speculation);
    let entries = written(&mut metering);
    let [Entry::Speculation(run)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((run.work.at, run.staged_files, run.staged_bytes), (NOW + 10, 1, 10));
    // By then the query for what comes next was a part of the same run.
    assert_eq!((run.work.tokens.input_tokens, run.work.unmeasured), (350, 0));
    let Ok(Acceptance::Accepted(accepted)) = block_on(speculation.accept()) else { panic!("not accepted") };
    metering.record_run_outcome(
        NOW + 30,
        &mut meter,
        &speculation,
        Outcome::Accepted,
        accepted.time_saved_ms,
    );
    let entries = written(&mut metering);
    let [Entry::Outcome(outcome_entry)] = entries.as_slice() else { panic!("{entries:?}") };
    let finished = speculation.finished().now_or_never().unwrap();
    assert_eq!(outcome_entry.changes, Some(finished.changes.digest()));
}

#[test]
fn work_that_is_dropped_half_way_says_how_long_it_took_and_what_it_lacks() {
    let mut metering = metering(Mode::Auto);
    let (speculation, driver) = work();
    let mut meter = RunMeter::new(NOW, "s1");
    metering.record_run_outcome(NOW + 700, &mut meter, &speculation, Outcome::Replaced, 0);
    speculation.abort();
    drop(driver);
    let entries = written(&mut metering);
    let [Entry::Speculation(run), Entry::Outcome(outcome_entry)] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!((run.work.work_ms, run.work.unmeasured), (700, 1));
    assert_eq!((outcome_entry.outcome, outcome_entry.changes), (Outcome::Replaced, None));
    // A clock that was set back must not cause a failure.
    let (speculation, _driver) = work();
    metering.record_run_outcome(
        NOW - 9_000,
        &mut RunMeter::new(NOW, "s2"),
        &speculation,
        Outcome::Aborted,
        0,
    );
}
