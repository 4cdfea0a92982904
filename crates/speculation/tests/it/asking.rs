//! Edits that are staged in a mode that asks: none of them is in the workspace before the user agrees to exactly these
//! edits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{OsTree, Tree};
use headstart_speculation::{
    AcceptAnswers, Acceptance, ApprovalRequest, Consent, Ending, Finished, Speculation, Status, Transcript,
};
use headstart_tool_gate::{AheadWrites, ApprovalMode, DenyRules, Reason};
use serde_json::json;

use crate::support::{Fixture, Reply, accepted, call, calls, edit, path, read, says, write};

/// A host in default mode that asks when the user takes the work.
fn fixture(answers: impl IntoIterator<Item = Reply>) -> Fixture {
    let fixture = Fixture::new(ApprovalMode::Default, answers);
    fixture.host.rules.lock().unwrap().ahead_writes = AheadWrites::Ask;
    fixture
}

fn edits() -> [Reply; 2] {
    [calls([edit(), write("NEW.md", "x\n")]), says("Done.")]
}

fn asked(speculation: &Speculation) -> ApprovalRequest {
    match block_on(speculation.accept()).unwrap() {
        Acceptance::NeedsApproval(asks) => asks,
        other => panic!("not asked: {other:?}"),
    }
}

#[test]
fn nothing_is_written_before_the_users_yes_and_then_all_of_it() {
    let fixture = fixture(edits());
    let before = fixture.tree.snapshot();
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    let first = asked(&speculation);
    assert_eq!(asked(&speculation), first, "whoever does not answer is asked again");
    assert_eq!(fixture.tree.snapshot(), before);
    let paths: Vec<_> = first.changes().summary().iter().map(|row| row.path.to_string()).collect();
    assert_eq!(paths, ["NEW.md", "src/lib.rs"]);
    assert_eq!(first.pending_call(), None);

    let given = accepted(block_on(speculation.accept_with(&first.approve())).unwrap());
    assert_eq!((given.ending, given.changes.len()), (Ending::Completed, 2));
    assert_eq!(fixture.tree.snapshot()["NEW.md"], b"x\n");
}

#[test]
fn a_host_that_never_heard_of_it_stops_at_the_first_edit() {
    let fixture = Fixture::new(ApprovalMode::Default, edits());
    let before = fixture.tree.snapshot();
    let (speculation, finished) = fixture.speculate("do it");
    let Ending::Boundary { verdict } = &finished.ending else { panic!("{:?}", finished.ending) };
    assert_eq!(verdict.reason, Reason::WriteToolNoAuto);
    assert!(finished.changes.is_empty());
    assert_eq!(accepted(block_on(speculation.accept()).unwrap()).changes, []);
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn plan_mode_stages_nothing() {
    let fixture = fixture(edits());
    fixture.host.rules.lock().unwrap().mode = ApprovalMode::Plan;
    let (_, finished) = fixture.speculate("do it");
    assert_eq!((finished.ending.status(), finished.changes.is_empty()), (Status::Boundary, true));
}

/// Rules that change between the question and the answer count when the answer is given.
#[test]
fn a_yes_does_not_outlive_the_rules_under_which_it_was_asked() {
    type ExternalChange = fn(&Fixture);
    let cases: [(&str, ExternalChange); 4] = [
        ("plan", |fixture| fixture.host.rules.lock().unwrap().mode = ApprovalMode::Plan),
        ("no staging", |fixture| fixture.host.rules.lock().unwrap().ahead_writes = AheadWrites::Boundary),
        ("deny", |fixture| {
            fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns(["NEW.md"]).unwrap();
        }),
        ("deny a read", |fixture| {
            fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns(["README.md"]).unwrap();
        }),
    ];
    for (name, meanwhile) in cases {
        let fixture = fixture([calls([read("README.md"), edit(), write("NEW.md", "x\n")]), says("Done.")]);
        let before = fixture.tree.snapshot();
        let (speculation, _) = fixture.speculate("do it");
        let answers = asked(&speculation).approve();
        meanwhile(&fixture);
        let acceptance = block_on(speculation.accept_with(&answers)).unwrap();
        assert!(matches!(acceptance, Acceptance::Withdrawn { .. }), "{name}: {acceptance:?}");
        assert_eq!(fixture.tree.snapshot(), before, "{name}");
    }
}

#[test]
fn a_yes_counts_for_what_was_shown_only() {
    let fixture = fixture([edits(), [calls([write("OTHER.md", "y\n")]), says("Done.")]].concat());
    let before = fixture.tree.snapshot();
    let (first, finished) = fixture.speculate("do it");
    let (second, _) = fixture.speculate("do something else");
    let answers = asked(&first).approve();
    for answers in [&AcceptAnswers::default(), &answers] {
        let acceptance = block_on(second.accept_with(answers)).unwrap();
        assert!(matches!(acceptance, Acceptance::NeedsApproval(_)), "{acceptance:?}");
    }
    // A record that was changed after it was shown needs a new question.
    let tampers: [fn(&mut Finished); 2] = [
        |finished| finished.changes.changes[0].path = path("evil.sh"),
        |finished| finished.id = "another".to_owned(),
    ];
    for tamper in tampers {
        let mut tampered = (*finished).clone();
        tamper(&mut tampered);
        let acceptance = block_on(fixture.engine.accept_with(&tampered, &answers)).unwrap();
        assert!(matches!(acceptance, Acceptance::NeedsApproval(_)), "{acceptance:?}");
    }
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn an_edit_while_the_question_stands_is_kept_or_a_conflict() {
    for (now, fits) in
        [("pub fn one() -> u32 {\n    7\n}\n", false), ("// mine\n\npub fn one() -> u32 {\n    1\n}\n", true)]
    {
        let fixture = fixture(edits());
        let (speculation, _) = fixture.speculate("do it");
        let answers = asked(&speculation).approve();
        fixture.tree.write(&path("src/lib.rs"), now);
        let mine = fixture.tree.snapshot();
        match block_on(speculation.accept_with(&answers)).unwrap() {
            Acceptance::Accepted(given) => {
                assert!(fits, "{now}");
                assert_eq!(given.merged, [path("src/lib.rs")]);
                let text = fixture.tree.snapshot()["src/lib.rs"].clone();
                assert_eq!(text, b"// mine\n\npub fn one() -> u32 {\n    2\n}\n");
            }
            Acceptance::Conflict(_) if !fits => assert_eq!(fixture.tree.snapshot(), mine),
            other => panic!("{now}: {other:?}"),
        }
    }
}

#[test]
fn whoever_gives_the_work_up_while_they_are_asked_gets_nothing_of_it() {
    let fixture = fixture(edits());
    let before = fixture.tree.snapshot();
    let (speculation, _) = fixture.speculate("do it");
    let answers = asked(&speculation).approve();
    speculation.abort();
    assert_eq!(speculation.status(), Status::Aborted);
    assert_eq!(block_on(speculation.accept_with(&answers)).unwrap(), Acceptance::Nothing);
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn the_call_at_which_it_stopped_is_named_and_handed_over_after_the_yes() {
    let command = call("shell", &json!({ "command": "touch made.txt" }));
    let fixture = fixture([calls([edit(), command]), says("never")]);
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending.status(), Status::Boundary);
    let asks = asked(&speculation);
    assert_eq!(asks.pending_call().map(|call| call.name.as_str()), Some("shell"));
    let given = accepted(block_on(speculation.accept_with(&asks.approve())).unwrap());
    assert_eq!(given.transcript.pending_call().map(|call| call.name.as_str()), Some("shell"));
    assert_eq!(given.changes.len(), 1);
}

#[test]
fn what_writes_nothing_is_not_asked_about() {
    let fixture = fixture([calls([read("README.md")]), says("It is a sample.")]);
    let (speculation, _) = fixture.speculate("look");
    accepted(block_on(speculation.accept()).unwrap());
}

#[test]
fn what_asks_in_every_mode_stops_the_work_as_before() {
    for (name, reason) in [
        (".git/hooks/pre-commit", Reason::ProtectedPath),
        (".headstart/config.toml", Reason::ProtectedPath),
        (".vscode/tasks.json", Reason::ProtectedPath),
        ("web/AGENTS.md", Reason::ProtectedPath),
        ("../outside", Reason::OutsideWorkspace),
    ] {
        let fixture = fixture([calls([write(name, "x")]), says("never")]);
        let (_, finished) = fixture.speculate("do it");
        let Ending::Boundary { verdict } = &finished.ending else { panic!("{name}") };
        assert_eq!((verdict.reason, finished.changes.is_empty()), (reason, true), "{name}");
    }
}

#[test]
fn a_mode_that_was_lowered_meanwhile_asks_and_one_that_was_raised_does_not() {
    let lowered = fixture(edits());
    lowered.host.rules.lock().unwrap().mode = ApprovalMode::AutoEdit;
    let (speculation, _) = lowered.speculate("do it");
    lowered.host.rules.lock().unwrap().mode = ApprovalMode::Default;
    let before = lowered.tree.snapshot();
    let asks = asked(&speculation);
    assert_eq!(lowered.tree.snapshot(), before);
    accepted(block_on(speculation.accept_with(&asks.approve())).unwrap());

    let raised = fixture(edits());
    let (speculation, _) = raised.speculate("do it");
    raised.host.rules.lock().unwrap().mode = ApprovalMode::AutoEdit;
    accepted(block_on(speculation.accept()).unwrap());
}

#[test]
fn a_turn_in_the_foreground_asks_for_each_edit_as_ever() {
    let fixture = fixture(edits());
    fixture.host.consents.lock().unwrap().extend([Consent::Decline, Consent::Stop]);
    let before = fixture.tree.snapshot();
    let (turn, _events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("do it"),
        fixture.engine.limits,
    );
    assert_eq!(block_on(turn.run()).status(), Status::Boundary);
    let asked: Vec<_> = fixture.host.asked.lock().unwrap().iter().map(|call| call.name.clone()).collect();
    assert_eq!(asked, ["edit", "write_file"]);
    assert_eq!(fixture.tree.snapshot(), before);
}

/// Tools for files reach nothing outside the workspace, so a yes would be of no use.
#[test]
fn nobody_is_asked_about_a_file_that_no_yes_can_reach() {
    let fixture = fixture([calls([read("/etc/passwd"), write("../x.txt", "x\n")]), says("I see.")]);
    fixture.host.rules.lock().unwrap().mode = ApprovalMode::AutoEdit;
    let (turn, _events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("do it"),
        fixture.engine.limits,
    );
    assert_eq!(block_on(turn.run()).status(), Status::Completed);
    assert!(fixture.host.asked.lock().unwrap().is_empty());
    let requests = fixture.model.requests.lock().unwrap();
    let told = serde_json::to_string(&requests.last().unwrap().messages).unwrap();
    assert_eq!(told.matches("outside the workspace; use a path inside it").count(), 2, "{told}");
}

#[test]
fn a_disk_is_as_untouched_as_memory_until_the_yes() {
    let folder = tempfile::tempdir().unwrap();
    let before = "pub fn one() -> u32 {\n    1\n}\n";
    let tree = Arc::new(OsTree::open(folder.path()).unwrap());
    let fixture = Fixture::over(
        Arc::<OsTree>::clone(&tree),
        Arc::default(),
        ApprovalMode::AutoEdit,
        [
            calls([write("src/lib.rs", before)]),
            says("Done."),
            calls([edit(), write("NEW.md", "x\n")]),
            says("Done."),
        ],
    );
    accepted(block_on(fixture.speculate("begin").0.accept()).unwrap());
    fixture.host.rules.lock().unwrap().mode = ApprovalMode::Default;
    fixture.host.rules.lock().unwrap().ahead_writes = AheadWrites::Ask;
    let now = |name: &str| block_on(tree.read(&path(name))).ok();

    let (speculation, _) = fixture.speculate("do it");
    let asks = asked(&speculation);
    assert_eq!((now("src/lib.rs").as_deref(), now("NEW.md")), (Some(before.as_bytes()), None));
    accepted(block_on(speculation.accept_with(&asks.approve())).unwrap());
    assert_eq!(now("NEW.md").as_deref(), Some(&b"x\n"[..]));
    assert_ne!(now("src/lib.rs").as_deref(), Some(before.as_bytes()));
}
