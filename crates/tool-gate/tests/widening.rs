//! A host's declaration only affects calls of the declared tool. It lets them run as far as the tool is said to read or
//! to stage what is open.

mod support;

use headstart_tool_gate::{
    Access, AheadWrites, ApprovalMode, Behaviour, CallRef, Decision, Declaration, Gate, GateContext, Reason,
    Role,
};
use headstart_workspace_path::WorkspacePath;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const OWN: [&str; 3] = ["own", "task", "web_fetch"];
const OTHERS: [&str; 6] = ["", "OWN", "own ", "Task", "MultiEdit", "mcp__own"];
const ARGUMENTS: [&str; 6] = ["path", "file_path", "command", "directory", "uri", "apply"];
const PATHS: [&str; 9] =
    ["a", "src/b", ".", "closed/a", ".env", ".git/config", "../a", "/etc/passwd", ".headstart/config.toml"];

fn names_of_built_in() -> Vec<String> {
    let aliases = "read_file_range Read ReadFile grep_search search_file_content Grep Glob list_directory LS ListFiles replace Edit Write \
                   WriteFile run_shell_command Bash Shell";
    let names = Declaration::all_built_in().iter().map(|tool| tool.name.to_string());
    names.chain(aliases.split(' ').map(str::to_owned)).collect()
}

fn every_does() -> Vec<Behaviour> {
    vec![
        Behaviour::Reads,
        Behaviour::Searches,
        Behaviour::ReadsRepository,
        Behaviour::Edits,
        Behaviour::Stages,
        Behaviour::StagesWith("apply".into()),
        Behaviour::RunsCommand,
        Behaviour::RunsInBackground,
        Behaviour::ServesSession,
        Behaviour::RunsSubTask,
        #[cfg(feature = "tool-servers")]
        Behaviour::Network,
        #[cfg(feature = "tool-servers")]
        Behaviour::Anything,
        #[cfg(feature = "tool-servers")]
        Behaviour::ReadsRealFiles,
    ]
}

/// A random declaration, and the roles of arguments that it consists of.
fn declared(names: Vec<String>) -> impl Strategy<Value = (Declaration, Vec<(Role, &'static str)>)> {
    let roles = prop::sample::select(vec![
        Role::Read,
        Role::Changed,
        Role::Pattern,
        Role::Command,
        Role::Folder,
        Role::Outlives,
        Role::Address,
    ]);
    (
        prop::sample::select(names),
        prop::sample::select(every_does()),
        prop::collection::btree_map(prop::sample::select(ARGUMENTS.to_vec()), roles, 0..4),
    )
        .prop_map(|(name, does, roles)| {
            let roles: Vec<_> = roles.into_iter().map(|(argument, role)| (role, argument)).collect();
            let bare = Declaration::new(&name, does);
            let declared = roles.iter().fold(bare, |tool, (role, argument)| tool.with(*role, argument));
            (declared, roles)
        })
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        6 => prop::sample::select(PATHS.to_vec()).prop_map(Value::from),
        2 => prop::collection::vec(prop::sample::select(PATHS.to_vec()), 0..3).prop_map(Value::from),
        1 => prop::sample::select(vec!["ls", "rm -rf .", "cat .env", "touch a"]).prop_map(Value::from),
        1 => prop::sample::select(vec![Value::Null, json!(3), json!({"a": "b"}), json!(true), json!("")]),
    ];
    let name = prop::sample::select(ARGUMENTS.to_vec()).prop_map(str::to_owned);
    prop::collection::btree_map(name, value, 0..4).prop_map(|map| map.into_iter().collect())
}

fn rules() -> impl Strategy<Value = GateContext> {
    let modes = [
        ApprovalMode::Default,
        ApprovalMode::Plan,
        ApprovalMode::Chat,
        ApprovalMode::AutoEdit,
        ApprovalMode::Yolo,
    ];
    let ahead_writes = prop::sample::select(vec![AheadWrites::Boundary, AheadWrites::Ask]);
    (prop::sample::select(modes.to_vec()), ahead_writes, any::<bool>()).prop_map(
        |(mode, ahead_writes, views)| GateContext {
            mode,
            ahead_writes,
            views,
            ..support::denying(&["closed/"])
        },
    )
}

/// The texts that a call gives for arguments with this role.
fn given<'a>(
    roles: &'a [(Role, &str)],
    args: &'a Map<String, Value>,
    wanted: Role,
) -> impl Iterator<Item = &'a str> {
    let values =
        roles.iter().filter(move |(role, _)| *role == wanted).filter_map(|(_, name)| args.get(*name));
    values.flat_map(|value| match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    })
}

/// The verdict on one path, whichever tool touches it.
fn at(access: Access, path: &str, context: &GateContext) -> Decision {
    WorkspacePath::resolve(path, &context.workspace)
        .map_or(Decision::Boundary, |path| Gate::new().judge_path(access, &path, context).decision)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn a_declaration_changes_no_verdict_on_another_tool(
        declared in prop::collection::vec(
            declared(names_of_built_in().into_iter().chain(OWN.map(str::to_owned)).collect()),
            1..4,
        ),
        name in prop::sample::select(
            names_of_built_in().into_iter().chain(OTHERS.map(str::to_owned)).collect::<Vec<_>>(),
        ),
        args in arguments(),
        without in rules(),
    ) {
        let tools = declared.into_iter().map(|(declared, _)| declared).collect();
        let with = GateContext { tools, ..without.clone() };
        let (gate, call) = (Gate::new(), CallRef { name: &name, args: &args });
        let verdict = gate.judge(call, &without);
        prop_assert_eq!(&gate.judge(call, &with), &verdict);
        prop_assert_eq!(gate.judge_ahead(call, &with), gate.judge_ahead(call, &without));
        prop_assert_eq!(gate.standing_consent(&verdict, call, &with), gate.standing_consent(&verdict, call, &without));
    }

    #[test]
    fn a_declared_tool_runs_ahead_where_it_reads_or_stages_what_is_open(
        (declared, roles) in declared(OWN.map(str::to_owned).to_vec()),
        args in arguments(),
        context in rules(),
    ) {
        let context = GateContext { tools: vec![declared.clone()], ..context };
        let call = CallRef { name: &declared.name, args: &args };
        let verdict = Gate::new().judge_ahead(call, &context);
        // The user is asked about the call, or the tool answers with an error and does nothing.
        if verdict.decision == Decision::Boundary || verdict.reason == Reason::InvalidArgument {
            prop_assert_ne!(verdict.decision, Decision::Redirect);
            return Ok(());
        }
        let says_more = matches!(declared.behaviour, Behaviour::RunsCommand | Behaviour::RunsInBackground | Behaviour::ServesSession);
        #[cfg(feature = "tool-servers")]
        let says_more = says_more || matches!(declared.behaviour, Behaviour::Network | Behaviour::Anything);
        prop_assert!(!says_more, "{declared:?}");
        // Each call of a sub-task is judged by itself, and not with the call that starts it.
        if declared.behaviour == Behaviour::RunsSubTask {
            return Ok(());
        }
        // For a tool that sees the real files any text counts as a path, so addresses are only excluded for other
        // tools.
        if !declared.sees_real_files() {
            let address = roles.iter().find(|(role, name)| *role == Role::Address && args.contains_key(*name));
            prop_assert_eq!(address, None);
        }
        // The tool takes an empty text for no path.
        for path in given(&roles, &args, Role::Read).filter(|path| !path.is_empty()) {
            prop_assert_eq!(at(Access::Read, path, &context), Decision::Allow, "{}", path);
        }
        let changed: Vec<_> =
            given(&roles, &args, Role::Changed).filter(|path| !path.is_empty()).collect();
        let stages = match &declared.behaviour {
            Behaviour::Edits | Behaviour::Stages => true,
            Behaviour::StagesWith(argument) => args.get(&**argument).is_some_and(|value| !value.is_null()),
            _ if declared.sees_real_files() => false,
            _ => roles.iter().any(|(role, name)| {
                *role == Role::Changed && args.get(*name).is_some_and(|value| !value.is_null())
            }),
        };
        prop_assert_eq!(verdict.decision, if stages { Decision::Redirect } else { Decision::Allow });
        prop_assert!(stages || verdict.writes.is_empty());
        for path in changed {
            let access = if stages { Access::Write } else { Access::Read };
            prop_assert_eq!(at(access, path, &context), verdict.decision, "{}", path);
            let path = WorkspacePath::resolve(path, &context.workspace).unwrap();
            prop_assert!(!stages || verdict.writes.contains(&path));
        }
    }
}

/// The name of a built-in tool always means the built-in tool, in whichever order names are looked up.
#[test]
fn no_name_of_a_built_in_tool_can_be_declared() {
    for name in names_of_built_in() {
        for does in every_does() {
            let tools = vec![Declaration::new(&name, does)];
            let context = GateContext { tools, ..support::context() };
            assert!(context.declaration(&name).unwrap().is_built_in(), "{name}");
        }
    }
    // A copy of a built-in tool's declaration only counts as a host's declaration.
    let mut copied = Declaration::built_in("shell").unwrap().clone();
    copied.name = "own".into();
    let context = GateContext { tools: vec![copied], views: true, ..support::context() };
    let args = json!({ "command": "ls" });
    for name in ["own", "Bash"] {
        let verdict = Gate::new().judge_ahead(CallRef { name, args: args.as_object().unwrap() }, &context);
        let expected =
            if name == "own" || cfg!(not(feature = "shell")) { Decision::Boundary } else { Decision::Allow };
        assert_eq!(verdict.decision, expected, "{name}: {verdict:?}");
    }
}
