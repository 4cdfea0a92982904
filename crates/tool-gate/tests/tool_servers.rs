//! Attacks by tools of servers and through them. Whatever such a tool says of itself or is called with, it does not run
//! ahead unless its user trusts it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use headstart_tool_gate::{
    ApprovalMode, CallRef, Decision, Declaration, DenyRules, EffectKind, Gate, GateContext, PolicyOrigin,
    Reason, StandingConsent, ToolPolicies, ToolPolicy, ToolTable,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const READER: &str = "mcp__files__read";
const WRITER: &str = "mcp__files__write";

fn context(mode: ApprovalMode) -> GateContext {
    GateContext {
        mode,
        workspace: "/home/ada/project".to_owned(),
        deny: DenyRules::from_patterns(["private/"]).unwrap(),
        tools: vec![Declaration::of_server(READER, true), Declaration::of_server(WRITER, false)],
        ..GateContext::default()
    }
}

fn args(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

const MODES: [ApprovalMode; 4] =
    [ApprovalMode::Default, ApprovalMode::Plan, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

#[test]
fn a_tool_of_a_server_is_a_boundary_ahead_in_every_mode() {
    for mode in MODES {
        let args = args(&json!({ "path": "src/lib.rs" }));
        let call = CallRef { name: WRITER, args: &args };
        for verdict in
            [Gate::new().judge(call, &context(mode)), Gate::new().judge_ahead(call, &context(mode))]
        {
            assert_eq!(
                (verdict.decision, verdict.reason),
                (Decision::Boundary, Reason::ServerTool),
                "{mode:?}"
            );
        }
    }
}

#[test]
fn one_that_its_user_vouches_for_runs_with_harmless_arguments() {
    for value in [
        json!({}),
        json!({ "path": "src/lib.rs" }),
        json!({ "path": "/home/ada/project/src" }),
        json!({ "query": "what is and/or in Rust?", "limit": 3 }),
    ] {
        let args = args(&value);
        let verdict =
            Gate::new().judge_ahead(CallRef { name: READER, args: &args }, &context(ApprovalMode::Default));
        assert_eq!((verdict.decision, verdict.reason), (Decision::Allow, Reason::ReadOnly), "{value}");
        assert_eq!(support::texts(&verdict.reads), ["."], "it may read all there is");
    }
}

#[test]
fn its_arguments_reach_nothing_that_is_closed() {
    let cases = [
        (json!({ "path": ".env" }), Reason::SecretPath),
        (json!({ "path": "./config/../.env" }), Reason::SecretPath),
        (json!({ "paths": ["src", { "deep": [".env"] }] }), Reason::SecretPath),
        (json!({ ".env": true }), Reason::SecretPath),
        (json!({ "uri": "file:///home/ada/project/.env" }), Reason::SecretPath),
        (json!({ "uri": "FILE:///home/ada/project/%2Eenv" }), Reason::SecretPath),
        (json!({ "path": " .env " }), Reason::SecretPath),
        (json!({ "command": "cat '.env'" }), Reason::SecretPath),
        (json!({ "command": "cat <.env" }), Reason::SecretPath),
        (json!({ "path": "private/plan.txt" }), Reason::DeniedPath),
        (json!({ "command": "cat private/plan.txt" }), Reason::SecretPath),
        (json!({ "path": "/etc/passwd" }), Reason::OutsideWorkspace),
        (json!({ "path": "../other" }), Reason::OutsideWorkspace),
        (json!({ "path": "~/.ssh/id_rsa" }), Reason::SecretPath),
        (json!({ "path": "~/notes" }), Reason::OutsideWorkspace),
        (json!({ "uri": "file:///etc/passwd" }), Reason::OutsideWorkspace),
        (json!({ "text": "see /etc/passwd please" }), Reason::OutsideWorkspace),
    ];
    for (value, reason) in cases {
        let args = args(&value);
        let verdict =
            Gate::new().judge_ahead(CallRef { name: READER, args: &args }, &context(ApprovalMode::Yolo));
        assert_eq!(
            (verdict.decision, verdict.reason),
            (Decision::Boundary, reason),
            "{value}: {}",
            verdict.detail
        );
    }
    // A path that a deny rule closes is refused for the other kind of tool, too, and nothing is asked.
    let args = args(&json!({ "path": "private/plan.txt" }));
    let verdict = Gate::new().judge(CallRef { name: WRITER, args: &args }, &context(ApprovalMode::Yolo));
    assert_eq!(verdict.reason, Reason::DeniedPath);
    // The user is asked about a file that holds a secret, whatever a policy says. In plan mode nothing is asked,
    // because the tool may do more than read.
    let args = self::args(&json!({ "path": ".env" }));
    let verdict = Gate::new().judge(CallRef { name: WRITER, args: &args }, &context(ApprovalMode::Yolo));
    assert_eq!(verdict.reason, Reason::SecretPath);
    assert!(verdict.effects.iter().any(|effect| effect.kind == EffectKind::Unknown));
}

#[test]
fn a_flood_of_arguments_is_looked_at_in_no_time_and_does_not_run() {
    let many: Vec<_> = (0..20_000).map(|number| json!(format!("word {number}"))).collect();
    for value in [json!({ "many": many }), json!({ "long": "a ".repeat(200_000) })] {
        let args = args(&value);
        let verdict =
            Gate::new().judge_ahead(CallRef { name: READER, args: &args }, &context(ApprovalMode::Yolo));
        assert_eq!((verdict.decision, verdict.reason), (Decision::Boundary, Reason::Limit));
    }
}

#[test]
fn no_declaration_changes_a_built_in_tool() {
    for name in ["shell", "Bash", "write_file", "edit", "read_file"] {
        let mut context = context(ApprovalMode::Default);
        let args = args(
            &json!({ "command": "rm -rf .", "file_path": ".env", "content": "x", "old_string": "a", "new_string": "b" }),
        );
        let call = CallRef { name, args: &args };
        let before = Gate::new().judge_ahead(call, &context);
        context.tools = vec![Declaration::of_server(name, true)];
        assert_eq!(Gate::new().judge_ahead(call, &context), before, "{name}");
        assert!(context.declaration(name).unwrap().is_built_in());
    }
}

#[test]
fn a_policy_answers_for_turns_and_never_for_work_ahead() {
    let table =
        ToolTable { tools: vec![("mcp__files__*".into(), ToolPolicy::Automatic)], ..ToolTable::default() };
    let mut context = context(ApprovalMode::Default);
    context.tool_policies = ToolPolicies::new(table, ToolTable::default(), &[]).unwrap();
    let args = args(&json!({ "path": "src" }));
    let call = CallRef { name: WRITER, args: &args };
    let verdict = Gate::new().judge(call, &context);
    assert_eq!(Gate::new().standing_consent(&verdict, call, &context), StandingConsent::Yes);
    assert_eq!(Gate::new().judge_ahead(call, &context).decision, Decision::Boundary);
    // A project may require a question for the trusted tool, or exclude it. Both also count ahead.
    for policy in [ToolPolicy::Ask, ToolPolicy::Exclude] {
        let table = ToolTable { tools: vec![("mcp__*".into(), policy)], ..ToolTable::default() };
        context.tool_policies = ToolPolicies::new(ToolTable::default(), table, &[]).unwrap();
        assert!(!context.tool_policies.of(PolicyOrigin::Project).tools.is_empty());
        let call = CallRef { name: READER, args: &args };
        assert_eq!(Gate::new().judge_ahead(call, &context).decision, Decision::Boundary, "{policy:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn an_argument_that_holds_a_closed_path_never_runs_ahead(before in "[a-z ]{0,8}", after in "[a-z ]{0,8}", key in "[a-z]{1,6}", deep in 0_usize..4) {
        let mut value = json!(format!("{before} .env {after}"));
        for _ in 0..deep {
            value = json!([{ "x": value }]);
        }
        let args = args(&json!({ key: value }));
        for mode in MODES {
            let verdict = Gate::new().judge_ahead(CallRef { name: READER, args: &args }, &context(mode));
            prop_assert_eq!(verdict.decision, Decision::Boundary);
        }
    }

    #[test]
    fn declarations_of_servers_widen_nothing_else(name in "(mcp__[a-z]{1,4}__[a-z]{1,4}|shell|edit|deploy)", other in "[a-z_]{1,12}") {
        let mut plain = context(ApprovalMode::Default);
        plain.tools.clear();
        let declared = GateContext { tools: vec![Declaration::of_server(&name, true)], ..plain.clone() };
        prop_assume!(name != other);
        let args = args(&json!({ "path": "src/lib.rs", "command": "touch x" }));
        let call = CallRef { name: &other, args: &args };
        prop_assert_eq!(Gate::new().judge_ahead(call, &plain), Gate::new().judge_ahead(call, &declared));
        prop_assert_eq!(Gate::new().judge(call, &plain), Gate::new().judge(call, &declared));
    }
}
