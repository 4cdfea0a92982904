//! Where nothing confines a command, none runs that nobody was asked about.

use std::sync::atomic::Ordering;

use futures::executor::block_on;
use headstart_speculation::{Consent, Ending, Limits, Transcript};
use headstart_tool_gate::{ApprovalMode, Decision};
use serde_json::json;

use crate::support::{Fixture, call, calls, read, says};

fn fixture(mode: ApprovalMode) -> Fixture {
    let answers = [calls([read("README.md"), call("shell", &json!({ "command": "ls" }))]), says("Done.")];
    let fixture = Fixture::new(mode, answers);
    fixture.host.confines_nothing.store(true, Ordering::SeqCst);
    fixture
}

#[test]
fn ahead_it_is_a_boundary_although_it_only_reads() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Plan, ApprovalMode::Yolo] {
        let (_, finished) = fixture(mode).speculate("look");
        let Ending::Boundary { verdict } = &finished.ending else { panic!("{:?}", finished.ending) };
        assert_eq!(verdict.decision, Decision::Boundary);
        assert!(verdict.detail.contains("confines"), "{}", verdict.detail);
        assert!(!format!("{:?}", finished.transcript).contains("ran ls"), "{mode:?}");
    }
}

#[test]
fn in_a_turn_the_user_says_whether_it_runs() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Plan] {
        for (consent, runs) in [(Consent::Run, true), (Consent::Decline, false)] {
            let fixture = fixture(mode);
            fixture.host.consents.lock().unwrap().push_back(consent);
            let (turn, _events) = fixture.engine.turn(
                fixture.model.clone(),
                fixture.request(),
                Transcript::new("look"),
                Limits::default(),
            );
            assert_eq!(block_on(turn.run()), Ending::Completed);
            assert_eq!(fixture.host.asked.lock().unwrap().len(), 1, "the file needs no question");
            assert_eq!(format!("{:?}", turn.transcript()).contains("ran ls"), runs, "{mode:?}");
        }
    }
}

/// Its user has said yes to everything.
#[test]
fn in_yolo_mode_a_turn_asks_nothing() {
    let fixture = fixture(ApprovalMode::Yolo);
    let (turn, _events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("look"),
        Limits::default(),
    );
    assert_eq!(block_on(turn.run()), Ending::Completed);
    assert!(fixture.host.asked.lock().unwrap().is_empty());
    assert!(format!("{:?}", turn.transcript()).contains("ran ls"));
}
