//! A deny rule keeps a path closed, and does not hinder work on other paths.

use futures::executor::block_on;
use headstart_speculation::{Acceptance, Consent, Ending, Limits, Transcript};
use headstart_tool_gate::{ApprovalMode, DenyRules, Reason};
use serde_json::json;

use crate::support::{Fixture, call, calls, path, read, says, write};

#[test]
fn what_a_rule_closes_is_not_read_and_withdraws_nothing() {
    let searches = || {
        [
            call("ls", &json!({})),
            call("grep", &json!({ "pattern": "old" })),
            call("glob", &json!({ "pattern": "**/*.rs" })),
            call("ls", &json!({ "path": "secret" })),
            read("link/k"),
            read("src/lib.rs"),
        ]
    };
    for rule in [".*", ".gitignore", "**/.git*", "secret", "secret/", "secret/*", "secret/**"] {
        for search in searches() {
            let answers = [calls([search.clone()]), calls([write("NEW.md", "x")]), says("Done.")];
            let fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
            for (name, content) in [(".gitignore", "a\n"), ("secret/k", "old"), ("secret/.gitignore", "b\n")]
            {
                fixture.tree.write(&path(name), content);
            }
            fixture.tree.link(&path("link"), "secret");
            fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns([rule]).unwrap();
            let (speculation, finished) = fixture.speculate("do it");
            if finished.ending != Ending::Completed {
                continue; // The gate itself knew that the rule closes what was asked for.
            }
            let acceptance = block_on(speculation.accept()).unwrap();
            assert!(matches!(acceptance, Acceptance::Accepted(_)), "{rule} {search:?}: {acceptance:?}");
        }
    }
}

#[test]
fn what_holds_a_secret_by_its_name_is_asked_about_and_never_touched_ahead() {
    let reads =
        || [read(".env"), read("keys/a.pem"), call("grep", &json!({ "pattern": "K", "path": ".env" }))];
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Plan, ApprovalMode::Yolo] {
        for secret in reads() {
            let fixture = Fixture::new(mode, [calls([secret.clone()]), says("Done.")]);
            fixture.tree.write(&path(".env"), "KEY=hush\n");
            fixture.tree.write(&path("keys/a.pem"), "KEY=hush\n");
            let (_, finished) = fixture.speculate("do it");
            let Ending::Boundary { verdict, .. } = &finished.ending else { panic!("{:?}", finished.ending) };
            assert_eq!(verdict.reason, Reason::SecretPath);
            assert!(!format!("{:?}", finished.transcript).contains("hush"));
        }
        // A search comes across such files and leaves them out. A link to such a file does not open it.
        for search in [call("grep", &json!({ "pattern": "KEY" })), read("notes.txt")] {
            let fixture = Fixture::new(mode, [calls([search]), says("Done.")]);
            fixture.tree.write(&path(".env"), "KEY=hush\n");
            fixture.tree.link(&path("notes.txt"), ".env");
            let (_, finished) = fixture.speculate("do it");
            assert_eq!(finished.ending, Ending::Completed);
            assert!(!format!("{:?}", finished.transcript).contains("hush"));
        }
    }
}

#[test]
fn in_a_turn_the_user_says_whether_a_secret_is_read() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Plan] {
        for (consent, is_read) in [(Consent::Run, true), (Consent::Decline, false)] {
            for secret in [read(".env"), call("grep", &json!({ "pattern": "KEY", "path": ".env" }))] {
                let fixture = Fixture::new(mode, [calls([secret]), says("Done.")]);
                fixture.tree.write(&path(".env"), "KEY=hush\n");
                fixture.host.consents.lock().unwrap().push_back(consent.clone());
                let (turn, _events) = fixture.engine.turn(
                    fixture.model.clone(),
                    fixture.request(),
                    Transcript::new("show it"),
                    Limits::default(),
                );
                block_on(turn.run());
                let transcript = turn.transcript();
                assert_eq!(format!("{transcript:?}").contains("hush"), is_read, "{mode:?} {transcript:?}");
            }
        }
    }
}
