//! Which edits of work ahead are staged.

mod support;

use headstart_tool_gate::{AheadWrites, ApprovalMode, CallRef, Decision, Gate, GateContext, Reason};
use serde_json::json;

/// An edit that the user is asked about later is staged in default mode if auto-edit would stage it. Nothing else
/// changes: no call that runs at once, no other mode, no other tool, and no host that did not ask for this.
#[test]
fn an_edit_ahead_is_staged_in_default_mode_only_where_the_user_is_asked_when_they_take_it() {
    let cases = [
        ("edit", json!({"file_path": "a"})),
        ("write_file", json!({"file_path": "../a"})),
        ("write_file", json!({"file_path": "/etc/a"})),
        ("write_file", json!({"file_path": ".git/hooks/pre-commit"})),
        ("write_file", json!({"file_path": ".headstart/config.toml"})),
        ("write_file", json!({"file_path": ".env"})),
        ("edit", json!({"file_path": "a", "filePath": "b"})),
        ("edit", json!({})),
        ("read_file", json!({"file_path": "a"})),
        ("shell", json!({"command": "touch a"})),
        ("shell", json!({"command": "cat a"})),
        ("MultiEdit", json!({"file_path": "a"})),
        ("web_fetch", json!({})),
    ];
    for (name, args) in cases {
        for mode in [ApprovalMode::Default, ApprovalMode::Plan, ApprovalMode::AutoEdit, ApprovalMode::Yolo] {
            let context = GateContext { mode, ..support::denying(&[".env"]) };
            let asks = GateContext { ahead_writes: AheadWrites::Ask, ..context.clone() };
            let call = CallRef { name, args: args.as_object().unwrap() };
            let gate = Gate::new();
            let at_once = gate.judge(call, &context);
            assert_eq!(gate.judge(call, &asks), at_once, "{mode:?} {name} {args}");
            assert_eq!(gate.judge_ahead(call, &context), at_once, "{mode:?} {name} {args}");
            let ahead = gate.judge_ahead(call, &asks);
            if mode != ApprovalMode::Default {
                assert_eq!(ahead, at_once, "{mode:?} {name} {args}");
                continue;
            }
            let edits = gate.judge(call, &GateContext { mode: ApprovalMode::AutoEdit, ..context.clone() });
            assert_eq!((ahead.decision, &ahead.writes), (edits.decision, &edits.writes), "{name} {args}");
            let staged = ahead.decision == Decision::Redirect;
            assert_eq!(ahead.reason == Reason::StagedAsksFirst, staged, "{name} {args}");
            assert_eq!(staged, args == json!({"file_path": "a"}) && name == "edit", "{name} {args}");
        }
    }
}
