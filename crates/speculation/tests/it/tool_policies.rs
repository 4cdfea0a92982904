//! A user's policies for tools, in turns and in work ahead.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::Ordering;

use futures::StreamExt;
use futures::executor::block_on;
use headstart_forked_query::{ModelEvent, Part, ToolOutcome};
use headstart_speculation::{Acceptance, Consent, Ending, Event, Events, Limits, Transcript};
use headstart_tool_gate::{ApprovalMode, Reason, ToolPolicies, ToolPolicy, ToolTable};
use serde_json::json;

use crate::support::{Fixture, call, calls, read, says, write};

const MODES: [ApprovalMode; 5] = [
    ApprovalMode::Plan,
    ApprovalMode::Chat,
    ApprovalMode::Default,
    ApprovalMode::AutoEdit,
    ApprovalMode::Yolo,
];

fn fixture(mode: ApprovalMode, policy: Option<(&str, ToolPolicy)>, event: &ModelEvent) -> Fixture {
    let fixture = Fixture::new(mode, [calls([event.clone()]), says("Done.")]);
    let tools = policy.iter().map(|(name, policy)| ((*name).to_owned(), *policy)).collect();
    let table = ToolTable { tools, ..ToolTable::default() };
    let policies = ToolPolicies::new(table, ToolTable::default(), &[]).unwrap();
    fixture.host.rules.lock().unwrap().tool_policies = policies;
    fixture
}

/// Runs one call in a turn whose user agrees. Returns whether the user was asked, and what became of the call.
fn turn(fixture: &Fixture) -> String {
    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    let transcript = Transcript::new("do it");
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    let asked = !fixture.host.asked.lock().unwrap().is_empty();
    let parts = turn.transcript().messages.into_iter().flat_map(|message| message.parts);
    let mut outcome = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.outcome),
        _ => None,
    });
    let what = match outcome.next_back().unwrap() {
        ToolOutcome::Output(_) => "runs",
        ToolOutcome::Error(message) if message.contains("is not available") => "excluded",
        ToolOutcome::Error(_) => "refused",
    };
    format!("{}{what}", if asked { "asks, " } else { "" })
}

#[test]
fn a_turn_goes_by_the_policy_in_every_mode() {
    let events = [
        ("read_file", read("README.md")),
        ("edit", call("edit", &json!({"file_path": "README.md", "old_string": "sample", "new_string": "x"}))),
        ("shell", call("shell", &json!({"command": "cargo test"}))),
    ];
    let policies = [None, Some(ToolPolicy::Ask), Some(ToolPolicy::Automatic), Some(ToolPolicy::Exclude)];
    let mut lines = Vec::new();
    for (name, event) in &events {
        for policy in policies {
            let row = MODES.map(|mode| turn(&fixture(mode, policy.map(|policy| (*name, policy)), event)));
            let said = policy.map_or("-", ToolPolicy::as_str);
            lines.push(format!("{name} {said}: {}", row.join(" | ")));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn work_ahead_stops_where_its_user_wants_to_be_asked() {
    for (policy, reason) in [(ToolPolicy::Ask, Reason::Policy), (ToolPolicy::Exclude, Reason::ExcludedTool)] {
        let fixture = fixture(ApprovalMode::AutoEdit, Some(("read_file", policy)), &read("README.md"));
        let (_, finished) = fixture.speculate("do it");
        let Ending::Boundary { verdict } = &finished.ending else { panic!("{:?}", finished.ending) };
        assert_eq!(verdict.reason, reason);
    }
    // A policy that makes a tool automatic in a turn changes nothing ahead.
    let fixture =
        fixture(ApprovalMode::Default, Some(("edit", ToolPolicy::Automatic)), &write("NEW.md", "x"));
    let (_, finished) = fixture.speculate("do it");
    assert!(matches!(finished.ending, Ending::Boundary { .. }), "{:?}", finished.ending);
}

/// An edit that a user wants to be asked about is staged ahead like any other, and the user is asked when they take it.
#[test]
fn edits_are_asked_about_when_they_are_taken() {
    let fixture =
        fixture(ApprovalMode::AutoEdit, Some(("write_file", ToolPolicy::Ask)), &write("NEW.md", "x"));
    fixture.host.rules.lock().unwrap().ahead_writes = headstart_tool_gate::AheadWrites::Ask;
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    let Acceptance::NeedsApproval(asks) = block_on(speculation.accept()).unwrap() else {
        panic!("nobody was asked")
    };
    let accepted = block_on(speculation.accept_with(&asks.approve())).unwrap();
    assert!(matches!(accepted, Acceptance::Accepted(_)), "{accepted:?}");
}

/// A rule that changed between the work and its accept counts at the accept.
#[test]
fn a_tool_that_is_excluded_meanwhile_withdraws_the_work() {
    let fixture = fixture(ApprovalMode::AutoEdit, None, &write("NEW.md", "x"));
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    let table = ToolTable { tools: vec![("write_file".into(), ToolPolicy::Exclude)], ..ToolTable::default() };
    fixture.host.rules.lock().unwrap().tool_policies =
        ToolPolicies::new(table, ToolTable::default(), &[]).unwrap();
    let acceptance = block_on(speculation.accept()).unwrap();
    assert!(matches!(acceptance, Acceptance::Withdrawn { .. }), "{acceptance:?}");
}

/// The last state of the call, and the policy that was reported with it.
fn decided(events: Events) -> String {
    let states = block_on(events.collect::<Vec<_>>()).into_iter().filter_map(|event| match event {
        Event::CallState(state) => Some(serde_json::to_value(state).unwrap()),
        _ => None,
    });
    let states: Vec<_> = states.collect();
    assert!(states[0].get("policy").is_none(), "nothing was judged yet: {states:?}");
    let last = states.last().unwrap();
    let says = last.pointer("/policy/says").and_then(|says| says.as_str()).unwrap_or("-");
    format!("{} {says}", last["state"].as_str().unwrap())
}

#[test]
fn the_policy_that_decides_is_told_with_the_call() {
    use ApprovalMode::{AutoEdit, Default, Yolo};
    use ToolPolicy::{Ask, Automatic, Exclude};
    let test = || call("shell", &json!({"command": "cargo test"}));
    let secret = || call("write_file", &json!({"file_path": ".env", "content": "x"}));
    let cases = [
        (Default, None, test(), "done -"),
        (Default, Some(("shell", Automatic)), test(), "done automatic"),
        (Yolo, Some(("shell", Automatic)), test(), "done -"),
        (Default, Some(("shell", Ask)), test(), "done -"),
        (Yolo, Some(("shell", Ask)), test(), "done ask"),
        (Default, Some(("shell", Exclude)), test(), "errored exclude"),
        (Default, Some(("read_file", Ask)), read("README.md"), "done ask"),
        (Default, Some(("read_file", Automatic)), read("README.md"), "done -"),
        (AutoEdit, Some(("write_file", Ask)), write("NEW.md", "x"), "done ask"),
        (Default, Some(("write_file", Automatic)), secret(), "done -"),
    ];
    for (mode, policy, event, expected) in cases {
        let fixture = fixture(mode, policy, &event);
        fixture.host.reports_call_states.store(true, Ordering::SeqCst);
        fixture.host.consents.lock().unwrap().push_back(Consent::Run);
        let transcript = Transcript::new("do it");
        let (turn, events) =
            fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, Limits::default());
        assert_eq!(block_on(turn.run()), Ending::Completed);
        assert_eq!(decided(events), expected, "{mode:?} {policy:?}");
    }
    let fixture = fixture(AutoEdit, Some(("read_file", Ask)), &read("README.md"));
    fixture.host.reports_call_states.store(true, Ordering::SeqCst);
    let (_speculation, driver, events) = fixture.start("do it");
    block_on(driver);
    assert_eq!(decided(events), "boundary ask");
}
