//! A user's policies for tools, together with what the gate knows of calls.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use headstart_tool_gate::{
    AheadWrites, ApprovalMode, Behaviour, CallRef, Decision, Declaration, DenyRules, Gate, GateContext,
    Policies, PolicyRule, Reason, Role, SessionRule, StandingConsent, ToolPolicies, ToolPolicy, ToolRule,
    ToolTable, Verdict,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

use ToolPolicy::{Ask, Automatic, Exclude};

const MODES: [ApprovalMode; 5] = [
    ApprovalMode::Plan,
    ApprovalMode::Chat,
    ApprovalMode::Default,
    ApprovalMode::AutoEdit,
    ApprovalMode::Yolo,
];

fn table(tools: &[(&str, ToolPolicy)], rules: &[(&str, Value, ToolPolicy)]) -> ToolTable {
    ToolTable {
        default: None,
        tools: tools.iter().map(|(name, policy)| ((*name).to_owned(), *policy)).collect(),
        rules: rules
            .iter()
            .map(|(tool, when, policy)| ToolRule {
                tool: (*tool).to_owned(),
                when: serde_json::from_value(when.clone()).unwrap(),
                policy: *policy,
            })
            .collect(),
    }
}

fn context(user: ToolTable, project: ToolTable) -> GateContext {
    GateContext {
        mode: ApprovalMode::Default,
        workspace: "/w".to_owned(),
        tool_policies: ToolPolicies::new(user, project, &["codebase"]).unwrap(),
        ..GateContext::default()
    }
}

fn args(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A read, an edit, a command, and a path that a rule closes.
fn calls() -> [(&'static str, Value); 4] {
    [
        ("read_file", json!({"file_path": "a.rs"})),
        ("edit", json!({"file_path": "a.rs", "old_string": "a", "new_string": "b"})),
        ("shell", json!({"command": "cargo test"})),
        ("read_file", json!({"file_path": "closed/a"})),
    ]
}

/// What a turn does with a call, according to the same reading of the verdict as in the engine.
fn in_turn(name: &str, args: &Map<String, Value>, context: &GateContext) -> &'static str {
    let gate = Gate::new();
    let call = CallRef { name, args };
    let verdict = gate.judge(call, context);
    match gate.standing_consent(&verdict, call, context) {
        _ if verdict.decision != Decision::Boundary => "runs",
        _ if verdict.reason == Reason::DeniedPath => "refused",
        StandingConsent::No => "refused",
        _ if matches!(context.mode, ApprovalMode::Plan | ApprovalMode::Chat) => "plan",
        StandingConsent::Yes => "runs",
        StandingConsent::Nothing | StandingConsent::Asks => "asks",
    }
}

/// Every kind of call under every policy, in every mode, in a turn and ahead.
#[test]
fn the_table_of_verdicts_and_policies() {
    let mut lines = Vec::new();
    for (name, value) in calls() {
        for policy in [None, Some(Ask), Some(Automatic), Some(Exclude)] {
            for by_name in [true, false] {
                let mut user = ToolTable::default();
                match policy {
                    Some(policy) if by_name => user.tools.push((name.to_owned(), policy)),
                    Some(policy) => user.default = Some(policy),
                    None if by_name => {}
                    None => continue,
                }
                let mut row = Vec::new();
                for mode in MODES {
                    let deny = DenyRules::from_patterns(["closed/"]).unwrap();
                    let context = GateContext {
                        mode,
                        deny,
                        views: true,
                        ahead_writes: AheadWrites::Ask,
                        ..context(user.clone(), ToolTable::default())
                    };
                    let value = args(&value);
                    let ahead = Gate::new().judge_ahead(CallRef { name, args: &value }, &context);
                    let asks = if ahead.reason == Reason::StagedAsksFirst { "+asks" } else { "" };
                    row.push(format!(
                        "{}/{}{asks}",
                        in_turn(name, &value, &context),
                        ahead.decision.as_str()
                    ));
                }
                let said = policy.map_or("-", ToolPolicy::as_str);
                let how = if by_name { "" } else { " (default)" };
                lines.push(format!(
                    "{name} {}: {said}{how}: {}",
                    value["file_path"].as_str().unwrap_or("-"),
                    row.join("  ")
                ));
            }
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

fn said(command: &str, context: &GateContext) -> Option<ToolPolicy> {
    let args = args(&json!({ "command": command }));
    let decision = context.tool_policies.decide(CallRef { name: "Bash", args: &args }, context);
    decision.map(|decision| decision.policy)
}

#[test]
fn every_command_of_a_line_has_to_fit() {
    let rules = [
        ("shell", json!({"command": "ls *"}), Automatic),
        ("shell", json!({"command": "cargo test *"}), Automatic),
    ];
    let context = context(table(&[], &rules), ToolTable::default());
    for line in ["ls", "ls -la src", "ls; cargo test --lib", "cargo test 2>&1 | ls", "l\\s", "(ls)"] {
        assert_eq!(said(line, &context), Some(Automatic), "{line}");
    }
    for line in [
        "ls; rm -rf x",
        "ls && rm x",
        "ls | sh",
        "ls $(rm x)",
        "ls `rm x`",
        "ls > x",
        "ls & rm x",
        "ls\nrm x",
        "lsof",
        "./ls",
        "/tmp/ls",
        "X=1 ls",
        "ls <(rm x)",
        "cargo test $X",
        "cargo test *",
        "cargo {test,run}",
        "sudo cargo test",
        "if ls; then rm x; fi",
        "ls 'unclosed",
        "cargo tests",
        "",
    ] {
        assert_eq!(said(line, &context), None, "{line}");
    }
}

#[test]
fn the_strictest_command_counts_and_what_is_not_understood_is_asked_about() {
    let rules =
        [("shell", json!({"command": "git push *"}), Ask), ("shell", json!({"command": "curl *"}), Exclude)];
    let context = context(table(&[("shell", Automatic)], &rules), ToolTable::default());
    for (line, expected) in [
        ("ls", Automatic),
        ("git status", Automatic),
        ("git push origin", Ask),
        ("ls; git push", Ask),
        ("/usr/bin/git push", Ask),
        ("env git push", Ask),
        ("bash -c 'git push'", Ask),
        ("g\\it push", Ask),
        ("x=push; git $x", Ask),
        ("eval \"$x\"", Ask),
        ("git push; curl x", Exclude),
        ("curl x", Exclude),
    ] {
        assert_eq!(said(line, &context), Some(expected), "{line}");
    }
    let first = [("shell", json!({"command": "git push --dry-run"}), Automatic), rules[0].clone()];
    let context = self::context(table(&[], &first), ToolTable::default());
    assert_eq!(said("git push --dry-run", &context), Some(Automatic), "the first that fits counts");
    assert_eq!(said("git push", &context), Some(Ask));
}

#[test]
fn paths_are_compared_as_paths() {
    let rules = [
        ("edit", json!({"path": "docs/**"}), Automatic),
        ("write_file", json!({"file_path": "src/*.rs"}), Ask),
    ];
    let context = context(table(&[("write_file", Automatic)], &rules), ToolTable::default());
    let said = |name: &str, path: &str| {
        let args = args(&json!({"file_path": path, "old_string": "", "new_string": "", "content": ""}));
        context.tool_policies.decide(CallRef { name, args: &args }, &context).map(|said| said.policy)
    };
    assert_eq!(said("edit", "docs/a/b.md"), Some(Automatic));
    assert_eq!(said("Edit", "/w/docs/./x/../b.md"), Some(Automatic));
    // A file system may open the file by either case: a rule that asks covers both, and one that permits does not.
    assert_eq!(said("write_file", "SRC/a.RS"), Some(Ask));
    assert_eq!(said("edit", "DOCS/a"), None);
    for path in ["docs/../src/a.rs", "/etc/docs/x", "docs", "../docs/a", ""] {
        assert_eq!(said("edit", path), None, "{path}");
    }
    assert_eq!(said("write_file", "src/a.rs"), Some(Ask));
    assert_eq!(said("write_file", "src/x/a.rs"), Some(Automatic));
    // If it is not clear what is written, the stricter policy counts.
    assert_eq!(said("write_file", "../x"), Some(Ask));
}

/// Some questions are asked in every mode, whatever a policy permits.
#[test]
fn automatic_answers_no_question_that_rules_ask() {
    let everything = ToolTable { default: Some(Automatic), ..ToolTable::default() };
    let stops: PolicyRule =
        serde_json::from_value(json!({"program": "deploy", "decision": "boundary"})).unwrap();
    let context = GateContext {
        policies: Policies::new([], [stops]).unwrap(),
        deny: DenyRules::from_patterns(["closed/"]).unwrap(),
        ..context(everything, ToolTable::default())
    };
    for (name, value, expected) in [
        ("edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}), "runs"),
        ("shell", json!({"command": "make"}), "runs"),
        ("edit", json!({"file_path": ".git/config", "old_string": "x", "new_string": "y"}), "asks"),
        ("write_file", json!({"file_path": ".headstart/config.toml", "content": "x"}), "asks"),
        ("write_file", json!({"file_path": ".env", "content": "x"}), "asks"),
        ("read_file", json!({"file_path": ".env"}), "asks"),
        ("shell", json!({"command": "cat .env"}), "asks"),
        ("shell", json!({"command": "deploy now"}), "asks"),
        ("shell", json!({"command": "cat closed/x"}), "refused"),
        ("read_file", json!({"file_path": "closed/x"}), "refused"),
    ] {
        assert_eq!(in_turn(name, &args(&value), &context), expected, "{name} {value}");
    }
    let plan = GateContext { mode: ApprovalMode::Plan, ..context };
    let edit = args(&json!({"file_path": "a", "old_string": "x", "new_string": "y"}));
    assert_eq!(in_turn("edit", &edit, &plan), "plan");
}

#[test]
fn a_project_only_tightens() {
    let loose = [
        ToolTable { default: Some(Automatic), ..ToolTable::default() },
        table(&[("shell", Automatic)], &[]),
        table(&[], &[("edit", json!({"path": "a"}), Automatic)]),
    ];
    for project in loose {
        let error = ToolPolicies::new(ToolTable::default(), project, &[]).unwrap_err();
        assert!(error.problem.contains("a project can only"), "{error}");
    }
    let user = table(&[("shell", Automatic), ("ls", Exclude)], &[]);
    let context = context(user, table(&[("shell", Ask), ("ls", Ask), ("grep", Exclude)], &[]));
    assert_eq!(said("ls", &context), Some(Ask));
    assert!(context.tool_policies.excludes("list_directory") && context.tool_policies.excludes("grep"));
    assert!(!context.tool_policies.excludes("shell"));
}

#[test]
fn names_come_in_every_spelling_and_unknown_ones_are_said() {
    for name in ["Bash", "run_shell_command", "builtin_run_terminal_command", "shell", "sh*", "*"] {
        let context = context(table(&[(name, Ask)], &[]), ToolTable::default());
        assert_eq!(said("ls", &context), Some(Ask), "{name}");
    }
    // A name counts before a pattern.
    let context = context(table(&[("*", Exclude), ("shell", Automatic)], &[]), ToolTable::default());
    assert_eq!(said("ls", &context), Some(Automatic));
    for (table, problem) in [
        (table(&[("shel", Ask)], &[]), "shel: there is no tool of this name; the nearest is shell"),
        (
            table(&[], &[("reed_file", json!({}), Ask)]),
            "rule 1.tool: there is no tool of this name; the nearest is read_file",
        ),
        (
            table(&[], &[("shell", json!({"command": "ls; rm"}), Ask)]),
            "rule 1.when: command: \"ls; rm\" has ';'",
        ),
        (
            table(&[], &[("edit", json!({"path": "a["}), Ask)]),
            "rule 1.when: path: \"a[\": a `[` is never closed",
        ),
    ] {
        let error = ToolPolicies::new(table, ToolTable::default(), &[]).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

/// A tool that writes rules for models exists only if the user's own file names it.
#[test]
fn a_tool_that_writes_rules_is_there_on_request() {
    let empty = || table(&[], &[]);
    let known = |user, project| {
        let tool_policies = ToolPolicies::new(user, project, &["create_rule"]).unwrap();
        GateContext { tool_policies, mode: ApprovalMode::Yolo, ..context(empty(), empty()) }
    };
    let all = |policy| ToolTable { default: Some(policy), ..empty() };
    let rule = || table(&[], &[("create_rule", json!({"name": "x"}), Automatic)]);
    for (user, project, there) in [
        (empty(), empty(), false),
        (all(Automatic), empty(), false),
        (table(&[("*", Automatic)], &[]), empty(), false),
        (rule(), empty(), false),
        (empty(), table(&[("create_rule", Ask)], &[]), false),
        (table(&[("create_rule", Ask)], &[]), empty(), true),
        (table(&[("builtin_create_rule_block", Automatic)], &[]), empty(), true),
        (table(&[("create_rule", Ask)], &[]), table(&[("create_rule", Exclude)], &[]), false),
    ] {
        let context = known(user.clone(), project);
        assert_eq!(context.tool_policies.excludes("create_rule"), !there, "{user:?}");
        let args = args(&json!({}));
        let call = CallRef { name: "create_rule", args: &args };
        let verdicts = [Gate::new().judge(call, &context), Gate::new().judge_ahead(call, &context)];
        let refused = verdicts.map(|verdict| verdict.reason == Reason::ExcludedTool);
        assert_eq!(refused, [!there; 2], "{user:?}");
    }
}

/// A command for the background is compared like one for the shell: by its simple commands.
#[test]
fn a_command_in_the_background_is_compared_by_its_words() {
    let rules = table(&[], &[("run_in_background", json!({"command": "npm run *"}), Automatic)]);
    let tool_policies = ToolPolicies::new(rules, table(&[], &[]), &["run_in_background"]).unwrap();
    let tools = vec![Declaration::runs_in_background("run_in_background")];
    let context = GateContext { tool_policies, tools, ..context(table(&[], &[]), table(&[], &[])) };
    for (command, runs) in [
        ("npm run dev", true),
        ("npm run dev; touch x", false),
        ("npm run $(touch x)", false),
        ("npm run dev & touch x", false),
        ("npm install", false),
    ] {
        let args = args(&json!({ "command": command }));
        let call = CallRef { name: "run_in_background", args: &args };
        let verdict = Gate::new().judge(call, &context);
        let said = Gate::new().standing_consent(&verdict, call, &context);
        assert_eq!((verdict.decision, said == StandingConsent::Yes), (Decision::Boundary, runs), "{command}");
    }
}

/// A pattern that is compared with a text says nothing about the commands in that text.
#[test]
fn no_rule_of_several_tools_answers_for_a_command_by_its_text() {
    for tool in ["*", "sh*", "own"] {
        let rules = table(&[], &[(tool, json!({"command": "ls*"}), Automatic)]);
        let tool_policies = ToolPolicies::new(rules, table(&[], &[]), &["own"]).unwrap();
        let tools = vec![Declaration::new("own", Behaviour::RunsCommand).with(Role::Command, "command")];
        let context = GateContext { tool_policies, tools, ..context(table(&[], &[]), table(&[], &[])) };
        for name in ["shell", "own"] {
            let args = args(&json!({ "command": "ls; touch x" }));
            let call = CallRef { name, args: &args };
            let verdict = Gate::new().judge(call, &context);
            assert_eq!(verdict.decision, Decision::Boundary, "{tool} {name}");
            assert_eq!(
                Gate::new().standing_consent(&verdict, call, &context),
                StandingConsent::Nothing,
                "{tool} {name}"
            );
        }
    }
}

fn policy() -> impl Strategy<Value = ToolPolicy> {
    prop_oneof![Just(Automatic), Just(Ask), Just(Exclude)]
}

fn tables() -> impl Strategy<Value = ToolTable> {
    let name = prop_oneof![
        Just("shell"),
        Just("edit"),
        Just("read_file"),
        Just("*"),
        Just("write_file"),
        Just("codebase")
    ];
    let when = prop_oneof![
        Just(json!({})),
        Just(json!({"command": "cargo *"})),
        Just(json!({"command": "*"})),
        // This pattern needs a name, so it does not match every path.
        Just(json!({"path": "**"})),
        Just(json!({"path": "a.rs"})),
    ];
    let rule = (name.clone(), when, policy());
    (
        proptest::option::of(policy()),
        prop::collection::vec((name, policy()), 0..4),
        prop::collection::vec(rule, 0..4),
    )
        .prop_map(|(default, tools, rules)| {
            let of: Vec<_> =
                rules.iter().map(|(tool, when, policy)| (*tool, when.clone(), *policy)).collect();
            ToolTable { default, ..table(&tools, &of) }
        })
}

/// How much work ahead may do by itself, as a number that grows with its freedom.
fn freedom(verdict: &Verdict) -> u8 {
    match (verdict.decision, verdict.reason) {
        (Decision::Boundary, _) => 0,
        (_, Reason::StagedAsksFirst) => 1,
        _ => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(11), ..ProptestConfig::with_cases(400) })]

    /// No policy lets work ahead do what it may not do without it, or do it without a question that it would ask.
    #[test]
    fn policies_free_nothing_ahead(
        user in tables(),
        mode in prop::sample::select(MODES.to_vec()),
        views in any::<bool>(),
        asks in any::<bool>(),
        command in prop::sample::select(vec!["ls", "cargo test", "rm -rf x", "cat .env", "curl x", "cargo $x", "git push", "cat ../x", "echo > a.rs"]),
    ) {
        let deny = DenyRules::from_patterns(["closed/"]).unwrap();
        let ahead_writes = if asks { AheadWrites::Ask } else { AheadWrites::Boundary };
        let with = GateContext { mode, views, ahead_writes, deny, ..context(user, ToolTable::default()) };
        let without = GateContext { tool_policies: ToolPolicies::default(), ..with.clone() };
        let calls = calls().into_iter().chain([
            ("shell", json!({"command": command})),
            ("write_file", json!({"file_path": ".git/config", "content": "x"})),
            ("mcp__x__y", json!({})),
        ]);
        for (name, value) in calls {
            let args = args(&value);
            let call = CallRef { name, args: &args };
            let gate = Gate::new();
            let (ours, plain) = (gate.judge_ahead(call, &with), gate.judge_ahead(call, &without));
            prop_assert!(freedom(&ours) <= freedom(&plain), "{} {}: {:?} {:?}", name, value, ours, plain);
            if ours.decision != Decision::Boundary {
                prop_assert_eq!((ours.decision, &ours.reads, &ours.writes), (plain.decision, &plain.reads, &plain.writes));
            }
            // In a turn a policy also only tightens the verdict. Whether the user agrees is a separate question.
            let (ours, plain) = (gate.judge(call, &with), gate.judge(call, &without));
            prop_assert!(freedom(&ours) <= freedom(&plain), "{} {}: {:?} {:?}", name, value, ours, plain);
        }
    }
}

/// The rule that is offered with the question about a call.
fn offered(name: &str, args: &Map<String, Value>, context: &GateContext) -> Option<SessionRule> {
    let call = CallRef { name, args };
    SessionRule::of(call, &Gate::new().judge(call, context), context)
}

#[test]
fn what_is_offered_for_the_rest_of_a_session() {
    let context = context(ToolTable::default(), ToolTable::default());
    let commands = [
        ("cargo test --workspace", Some("`cargo test --workspace`")),
        ("cargo test parser -- --nocapture", Some("`cargo test parser -- --nocapture`")),
        ("cargo install ripgrep", None),
        ("npm run build", Some("`npm run build`")),
        ("npm install left-pad", None),
        ("make all", Some("`make all`")),
        ("make", Some("`make`")),
        ("pytest -q tests", Some("`pytest -q tests`")),
        ("touch made.txt", Some("`touch made.txt`")),
        ("touch made.txt && rm -rf src", None),
        ("cargo test | tee log", None),
        ("cargo test > log", None),
        ("cargo test $(rm -rf src)", None),
        ("X=1 cargo test", None),
        ("./cargo test", None),
        ("/tmp/cargo test", None),
        ("sh -c 'cargo test'", None),
        ("python3 run.py", None),
        ("python3.12 run.py", None),
        ("env cargo test", None),
        ("rm made.txt", None),
        ("curl https://example.com", None),
        ("touch '*'", None),
        ("touch /etc/passwd", None),
        ("touch ../made.txt", None),
        ("make --directory=/etc", None),
        ("git push", None),
    ];
    // Programs that run what they are given; options and variables that give a program something to run or another place.
    let steered = "busybox sh run; Rscript run.R; npx thing; xargs touch; tox; make --eval=all:x; make -f \
        other.mk; make -C sub; make --directory sub; make CC=sub/cc; make SHELL=sub/sh; cargo test \
        --config build.rustc-wrapper=sub/x; cargo test -Zscript; cargo +nightly test; cargo test \
        --manifest-path sub/Cargo.toml; go test -exec sub/x; go build -toolexec sub/x; npm test \
        --script-shell sub/sh; pytest -c sub/other.ini; ctest -S sub/x.cmake --script x; cc @options";
    let steered = steered.split("; ").map(|command| (command, None));
    for (command, expected) in commands.into_iter().chain(steered) {
        let rule = offered("shell", &args(&json!({ "command": command })), &context);
        assert_eq!(rule.map(|rule| rule.to_string()).as_deref(), expected, "{command}");
    }
    let edits = [
        ("src/deep/a.rs", Some("edits in src/deep/")),
        ("a.rs", Some("edits in the top folder")),
        ("src/[a].rs", None),
        (".git/config", None),
        (".env", None),
        (".vscode/tasks.json", None),
        ("docs/AGENTS.md", None),
        ("../a.rs", None),
    ];
    for (path, expected) in edits {
        let edit = args(&json!({ "file_path": path, "old_string": "a", "new_string": "b" }));
        let rule = offered("edit", &edit, &context);
        assert_eq!(rule.map(|rule| rule.to_string()).as_deref(), expected, "{path}");
    }
}

/// The rule is kept as it was shown. It permits such calls in turns only, never ahead, and nothing excluded or closed.
#[test]
fn a_yes_for_the_session_counts_for_such_calls_in_turns_alone() {
    let shell = |command: &str| args(&json!({ "command": command }));
    let edit = |path: &str| args(&json!({ "file_path": path, "old_string": "a", "new_string": "b" }));
    let plain = context(ToolTable::default(), ToolTable::default());
    let yes = |context: &GateContext, name: &str, asked: &Map<String, Value>| {
        let rule = offered(name, asked, context).unwrap();
        let with = context.tool_policies.with_session_rule(&rule);
        assert_eq!(with.without_session_rule(&rule), context.tool_policies);
        GateContext { tool_policies: with, ..context.clone() }
    };
    let tests = yes(&plain, "shell", &shell("cargo test a"));
    for (command, expected) in [
        ("cargo test a", "runs"),
        ("cargo test 'a' && cargo test a", "runs"),
        ("cargo test", "asks"),
        ("cargo test a b", "asks"),
        ("cargo test a --config build.rustc-wrapper=x", "asks"),
        ("cd sub && cargo test a", "asks"),
        ("X=1 cargo test a", "asks"),
        ("cargo test a; rm -rf src", "asks"),
        ("cargo run", "asks"),
        ("cargo test $(rm -rf src)", "asks"),
        ("cargo test a > b", "asks"),
    ] {
        assert_eq!(in_turn("shell", &shell(command), &tests), expected, "{command}");
        let args = shell(command);
        let call = CallRef { name: "shell", args: &args };
        assert_eq!(Gate::new().judge_ahead(call, &tests), Gate::new().judge_ahead(call, &plain), "{command}");
    }
    // The words count in the folder for which they were agreed to, however it is spelled.
    let make = |folder: &str| args(&json!({ "command": "make all", "directory": folder }));
    let here = yes(&plain, "shell", &shell("make all"));
    let below = yes(&plain, "shell", &make("web/app"));
    for (folder, at_top, in_folder) in [
        (".", "runs", "asks"),
        ("/w", "runs", "asks"),
        ("web/app", "asks", "runs"),
        ("./web/../web/app/", "asks", "runs"),
        ("web", "asks", "asks"),
        ("web/app/deep", "asks", "asks"),
        ("vendor/web/app", "asks", "asks"),
    ] {
        let asked = make(folder);
        let said = (in_turn("shell", &asked, &here), in_turn("shell", &asked, &below));
        assert_eq!(said, (at_top, in_folder), "{folder}");
    }
    assert_eq!(offered("shell", &make("web/app"), &plain).unwrap().to_string(), "`make all` in web/app/");
    assert_eq!(offered("shell", &make("../other"), &plain), None);
    let edits = yes(&plain, "edit", &edit("src/a.rs"));
    for (name, path, expected) in [
        ("edit", "src/deep/b.rs", "runs"),
        ("write_file", "src/b.rs", "runs"),
        ("edit", "b.rs", "asks"),
        ("edit", "src/.env", "asks"),
        ("edit", "src/.vscode/tasks.json", "asks"),
        ("write_file", "src/CLAUDE.md", "asks"),
        ("edit", "src/../b.rs", "asks"),
    ] {
        let args =
            if name == "edit" { edit(path) } else { args(&json!({ "file_path": path, "content": "" })) };
        assert_eq!(in_turn(name, &args, &edits), expected, "{name} {path}");
        let call = CallRef { name, args: &args };
        assert_eq!(
            Gate::new().judge_ahead(call, &edits),
            Gate::new().judge_ahead(call, &plain),
            "{name} {path}"
        );
    }
    // A user who wants to be asked has been asked. Nothing is asked about what is excluded.
    let asks = context(table(&[("shell", Ask)], &[]), ToolTable::default());
    assert_eq!(in_turn("shell", &shell("cargo test"), &yes(&asks, "shell", &shell("cargo test"))), "runs");
    let rule = offered("shell", &shell("cargo test"), &plain).unwrap();
    let excludes = context(table(&[("shell", Exclude)], &[]), ToolTable::default());
    let with = excludes.tool_policies.with_session_rule(&rule);
    let excludes = GateContext { tool_policies: with, ..excludes };
    assert_eq!(in_turn("shell", &shell("cargo test"), &excludes), "refused");
}
