//! A host's own tools, which the gate judges by what the host declares about them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use headstart_tool_gate::{
    Access, AheadWrites, ApprovalMode, CallRef, Decision, Declaration, Gate, GateContext, Reason, built_in,
};
use headstart_workspace_path::WorkspacePath;
use serde_json::{Value, json};

const MODES: [ApprovalMode; 4] =
    [ApprovalMode::Default, ApprovalMode::Plan, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

fn declaring(mode: ApprovalMode) -> GateContext {
    let tools = vec![
        Declaration::reads("find_code", &["path"]),
        Declaration::stages("rename", &["path", "paths"]),
        Declaration::stages_with("fix", "apply", &["path"]),
    ];
    GateContext { mode, tools, ..support::denying(&["closed/"]) }
}

fn judge(context: &GateContext, name: &str, args: &Value) -> (Decision, Reason, Vec<String>) {
    let verdict = Gate::new().judge(CallRef { name, args: args.as_object().unwrap() }, context);
    (verdict.decision, verdict.reason, support::texts(&verdict.writes))
}

#[test]
fn one_that_reads_runs_in_every_mode_at_paths_that_are_open() {
    use Decision::{Allow, Boundary};
    let cases = [
        (json!({}), Allow, Reason::ReadOnly),
        (json!({"path": null, "query": "../.."}), Allow, Reason::ReadOnly),
        (json!({"path": "src"}), Allow, Reason::ReadOnly),
        (json!({"path": ["src", "/ws/tests"]}), Allow, Reason::ReadOnly),
        (json!({"path": "../a"}), Boundary, Reason::OutsideWorkspace),
        (json!({"path": ["src", "/etc"]}), Boundary, Reason::OutsideWorkspace),
        (json!({"path": "closed/a"}), Boundary, Reason::DeniedPath),
        (json!({"path": ["src", "closed"]}), Boundary, Reason::DeniedPath),
        (json!({"path": ".env"}), Boundary, Reason::SecretPath),
        (json!({"path": {"a": "src"}}), Allow, Reason::InvalidArgument),
        (json!({"path": ["src", 3]}), Allow, Reason::InvalidArgument),
        (json!({"path": ""}), Allow, Reason::InvalidArgument),
    ];
    for mode in MODES {
        for (args, decision, reason) in &cases {
            let verdict = judge(&declaring(mode), "find_code", args);
            assert_eq!(verdict, (*decision, *reason, vec![]), "{mode:?} {args}");
        }
    }
}

#[test]
fn one_that_is_always_about_a_folder_is_judged_there() {
    use Decision::Boundary;
    let declaring =
        |mode, folder| GateContext { tools: vec![Declaration::stages_at("note", folder)], ..declaring(mode) };
    for mode in MODES {
        // The place counts, whatever the arguments say.
        for args in [json!({}), json!({"path": "src/a.rs", "at": "src"})] {
            assert_eq!(judge(&declaring(mode, "closed/notes"), "note", &args).1, Reason::DeniedPath);
            let (decision, reason, _) = judge(&declaring(mode, ".headstart/rules"), "note", &args);
            let asks = !mode.edits_files();
            let expected = if asks { Reason::WriteToolNoAuto } else { Reason::ProtectedPath };
            assert_eq!((decision, reason), (Boundary, expected), "{mode:?}");
        }
    }
    let (decision, _, writes) = judge(&declaring(ApprovalMode::AutoEdit, "notes"), "note", &json!({}));
    assert_eq!((decision, writes), (Decision::Redirect, vec!["notes".to_owned()]));
}

/// That such a command only reads does not allow it, because it runs on when nobody looks any more.
#[test]
fn a_command_in_the_background_is_for_its_user_alone() {
    for mode in MODES {
        let tools = vec![Declaration::runs_in_background("run"), Declaration::serves_session("output")];
        let context = GateContext { mode, views: true, tools, ..declaring(mode) };
        for (command, reason) in [
            ("ls", Reason::NonTerminating),
            ("touch a", Reason::Writes),
            ("cat closed/a", Reason::DeniedPath),
        ] {
            let args = json!({ "command": command });
            let call = CallRef { name: "run", args: args.as_object().unwrap() };
            for verdict in [Gate::new().judge(call, &context), Gate::new().judge_ahead(call, &context)] {
                assert_eq!(verdict.decision, Decision::Boundary, "{mode:?} {command}");
                if cfg!(feature = "shell") {
                    assert_eq!(verdict.reason, reason, "{mode:?} {command}: {}", verdict.detail);
                }
            }
        }
        let args = json!({ "number": 1 });
        let call = CallRef { name: "output", args: args.as_object().unwrap() };
        assert_eq!(Gate::new().judge(call, &context).decision, Decision::Allow);
        assert_eq!(Gate::new().judge_ahead(call, &context).decision, Decision::Boundary);
    }
}

#[test]
fn one_that_stages_is_an_edit() {
    use Decision::{Allow, Boundary, Redirect};
    let cases = [
        (json!({"path": "src/a.rs", "to": "b"}), Redirect, Reason::StagedWrite),
        (json!({"to": "b"}), Redirect, Reason::StagedWrite),
        (json!({"path": "a", "paths": [".git/hooks/pre-commit"]}), Boundary, Reason::ProtectedPath),
        (json!({"path": ".headstart/config.toml"}), Boundary, Reason::ProtectedPath),
        (json!({"paths": ["a", "closed/b"]}), Boundary, Reason::DeniedPath),
        (json!({"path": "id_rsa"}), Boundary, Reason::SecretPath),
        (json!({"path": "/etc/a"}), Boundary, Reason::OutsideWorkspace),
        (json!({"path": 3}), Allow, Reason::InvalidArgument),
    ];
    for (args, decision, reason) in &cases {
        for mode in [ApprovalMode::AutoEdit, ApprovalMode::Yolo] {
            let verdict = judge(&declaring(mode), "rename", args);
            assert_eq!((verdict.0, verdict.1), (*decision, *reason), "{args}");
            assert_eq!(verdict.2.is_empty(), *decision != Redirect, "{args}");
        }
        for mode in [ApprovalMode::Default, ApprovalMode::Plan] {
            let asks = if *decision == Redirect {
                (Boundary, Reason::WriteToolNoAuto)
            } else {
                (*decision, *reason)
            };
            let verdict = judge(&declaring(mode), "rename", args);
            let asked_with_a_warning = *reason == Reason::ProtectedPath;
            let expected = if asked_with_a_warning { (Boundary, Reason::WriteToolNoAuto) } else { asks };
            assert_eq!((verdict.0, verdict.1), expected, "{mode:?} {args}");
        }
    }
}

#[test]
fn ahead_of_the_user_it_is_staged_where_an_edit_is() {
    let args = json!({"path": "a"});
    let call = |name| CallRef { name, args: args.as_object().unwrap() };
    for mode in MODES {
        for ahead_writes in [AheadWrites::Boundary, AheadWrites::Ask] {
            let context = GateContext { ahead_writes, ..declaring(mode) };
            let (own, edit) = (
                Gate::new().judge_ahead(call("rename"), &context),
                Gate::new().judge_ahead(call("edit"), &context),
            );
            assert_eq!((own.decision, own.reason), (edit.decision, edit.reason), "{mode:?} {ahead_writes:?}");
            assert_eq!(Gate::new().judge_ahead(call("find_code"), &context).decision, Decision::Allow);
        }
    }
}

#[test]
fn one_that_stages_with_an_argument_reads_without_it() {
    let context = declaring(ApprovalMode::AutoEdit);
    assert_eq!(judge(&context, "fix", &json!({"path": "a"})).1, Reason::ReadOnly);
    assert_eq!(judge(&context, "fix", &json!({"path": "a", "apply": null})).1, Reason::ReadOnly);
    assert_eq!(judge(&context, "fix", &json!({"path": "a", "apply": 0})).1, Reason::StagedWrite);
    assert_eq!(judge(&context, "fix", &json!({"path": "a", "apply": false})).1, Reason::StagedWrite);
}

/// A declaration gives verdicts on calls that had none, and changes no other verdict.
#[test]
fn a_declaration_changes_no_verdict_but_its_own() {
    let aliases = [
        "read_file",
        "Read",
        "grep",
        "glob",
        "ls",
        "LS",
        "edit",
        "replace",
        "write_file",
        "Write",
        "shell",
        "Bash",
        "run_shell_command",
    ];
    let others = ["find", "FIND_CODE", "find_code ", "mcp__find_code", "MultiEdit", "task", ""];
    let calls = [
        json!({"file_path": ".git/config", "command": "rm -rf .", "path": ".."}),
        json!({"command": "rm -rf ."}),
        json!({"command": "cat .env"}),
        json!({"file_path": ".env"}),
        json!({"file_path": "src/a.rs", "pattern": "*"}),
        json!({}),
    ];
    for mode in MODES {
        let without = support::denying(&["closed/"]);
        let without = GateContext { mode, views: true, ahead_writes: AheadWrites::Ask, ..without };
        let mut tools: Vec<_> = aliases.iter().map(|name| Declaration::reads(name, &[])).collect();
        tools.extend(aliases.iter().map(|name| Declaration::stages(name, &[])));
        tools.push(Declaration::reads("find_code", &[]));
        let with = GateContext { tools, ..without.clone() };
        for name in aliases.into_iter().chain(others) {
            for args in &calls {
                let call = CallRef { name, args: args.as_object().unwrap() };
                assert_eq!(
                    Gate::new().judge(call, &with),
                    Gate::new().judge(call, &without),
                    "{name} {args}"
                );
                assert_eq!(
                    Gate::new().judge_ahead(call, &with),
                    Gate::new().judge_ahead(call, &without),
                    "{name} {args}"
                );
            }
        }
        assert!(aliases.iter().all(|name| with.declaration(name).unwrap().is_built_in()));
    }
}

/// A path is judged like a call of the built-in tool that reads or writes it.
#[test]
fn a_path_is_judged_as_the_plain_call_on_it() {
    for mode in MODES {
        for ahead_writes in [AheadWrites::Boundary, AheadWrites::Ask] {
            let context = GateContext { ahead_writes, ..declaring(mode) };
            for path in ["a", "closed/a", ".env", ".git/hooks/x", "sub/.Headstart/config.toml", "."] {
                for (access, tool) in
                    [(Access::Read, &built_in::READ_FILE), (Access::Write, &built_in::WRITE_FILE)]
                {
                    let args = json!({"file_path": path});
                    let call = CallRef { name: &tool.name, args: args.as_object().unwrap() };
                    assert_eq!(
                        Gate::new().judge_path(access, &WorkspacePath::parse(path).unwrap(), &context),
                        Gate::new().judge_ahead(call, &context),
                        "{mode:?} {ahead_writes:?} {access:?} {path}"
                    );
                }
            }
        }
    }
}
