//! What a user and a project may add to the gate's own knowledge, and what nobody may add.

mod support;

use headstart_tool_gate::{
    Decision, DenyRules, Gate, GateContext, GateError, Policies, PolicyDecision, PolicyOperands,
    PolicyOrigin, PolicyRule, Reason, Verdict,
};
use serde_json::{Value, json};

const EVERYDAY: &str = include_str!("data/everyday.txt");
const ATTACKS: &str = include_str!("data/attacks.txt");

fn rule(json: Value) -> PolicyRule {
    serde_json::from_value(json).expect("a policy as written in the test")
}

fn rules(json: Value) -> Vec<PolicyRule> {
    serde_json::from_value(json).expect("policies as written in the test")
}

fn with(user: Value, project: Value) -> GateContext {
    let policies = Policies::new(rules(user), rules(project)).expect("policies that hold");
    GateContext { policies, ..support::context() }
}

fn judge(command: &str, context: &GateContext) -> Verdict {
    Gate::new().judge_command(command, context)
}

/// Policies that an honest user might write.
fn users() -> Value {
    json!([
        {
            "program": "mycorp-lint", "decision": "allow", "operands": "files", "reason": "it only prints findings",
            "options": ["--check", "--format=VALUE", "--level VALUE", "--color never", "-jVALUE", "-v", "--config=/etc/lint.toml"],
            "match": ["mycorp-lint --check src"], "not_match": ["mycorp-lint --fix src", "ls"],
        },
        { "program": "terraform", "words": ["show"], "options": ["-json"], "decision": "allow" },
        { "program": "cargo", "words": ["deny", "list"], "options": ["--format=VALUE"], "decision": "allow" },
        { "program": "query", "operands": "any", "decision": "allow" },
    ])
}

#[test]
fn an_allow_covers_what_it_lists_wherever_it_stands() {
    let context = with(users(), json!([]));
    for command in [
        "mycorp-lint",
        "mycorp-lint --check",
        "mycorp-lint src/a.rs src/b.rs --check -v",
        "mycorp-lint --format=json --level 3 --color never -j4",
        "mycorp-lint --config=/etc/lint.toml",
        "/usr/bin/mycorp-lint --check",
        "my\"corp\"-lint --ch'eck' $'\\x2d\\x2dformat=json'",
        "mycorp-lint --check src/*.rs",
        "mycorp-lint --check 2>/dev/null | head -5",
        "cd src && mycorp-lint --check a.rs",
        "for f in src/a.rs src/b.rs; do mycorp-lint --check \"./$f\"; done",
        "if mycorp-lint --check; then echo clean; fi",
        "timeout 5 mycorp-lint --check",
        "LC_ALL=C mycorp-lint --check",
        "find . -name '*.rs' -exec mycorp-lint --check {} +",
        "echo \"$(mycorp-lint --check)\"",
        "terraform show",
        "terraform show -json",
        "cargo deny list --format=json",
        "query select name where 'age > 3'",
        "query 'a b' /ws/a",
    ] {
        let verdict = judge(command, &context);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.detail);
        assert_eq!(verdict.reason, Reason::ReadOnly);
        assert_eq!(
            support::texts(&verdict.reads),
            ["."],
            "{command}: an allowed program may read the whole workspace"
        );
        assert_eq!(judge(command, &support::context()).decision, Decision::Boundary, "{command}");
    }
    let detail = judge("mycorp-lint --check; terraform show", &context).detail;
    assert_eq!(
        detail,
        "the user's policy 1 (mycorp-lint) allows it: it only prints findings; the user's policy 2 (terraform show) allows it"
    );
}

#[test]
fn nothing_but_what_it_lists_is_allowed() {
    let context = with(users(), json!([]));
    for command in [
        // Options that are not listed, shortened or bundled, or have their value in another place.
        "mycorp-lint --fix",
        "mycorp-lint --chec",
        "mycorp-lint --check=yes",
        "mycorp-lint --checks",
        "mycorp-lint -check",
        "mycorp-lint -vj4",
        "mycorp-lint -j 4",
        "mycorp-lint src -j",
        "mycorp-lint -vf",
        "mycorp-lint --format json",
        "mycorp-lint --format",
        "mycorp-lint --level=3",
        "mycorp-lint --level",
        "mycorp-lint --level --fix",
        "mycorp-lint --level -3",
        "mycorp-lint --color always",
        "mycorp-lint --config=/etc/passwd",
        "mycorp-lint --config /etc/lint.toml",
        "mycorp-lint -- src",
        "mycorp-lint -",
        "mycorp-lint $'--fi\\x78'",
        "mycorp-lint --\\\nfix",
        // Words whose value is not known before they run.
        "mycorp-lint $x",
        "mycorp-lint \"$x\"",
        "mycorp-lint *",
        "mycorp-lint ?heck",
        "mycorp-lint {--check,--fix}",
        "mycorp-lint --level $x",
        "mycorp-lint --format=$x",
        "mycorp-lint --format=*",
        "mycorp-lint $(echo --fix)",
        "git ls-files | xargs mycorp-lint --check",
        "find . -print0 | xargs -0 mycorp-lint --check",
        "for f in @a @b; do mycorp-lint \"$f\"; done",
        "for f in src /etc; do mycorp-lint \"./$f/../..\"; done",
        "xargs mycorp-lint <list",
        "mycorp-lint @arguments",
        "mycorp-lint --format=@arguments",
        // Files outside the workspace.
        "mycorp-lint /etc/passwd",
        "mycorp-lint ../other",
        "mycorp-lint a/../../b",
        "mycorp-lint --format=../x",
        "mycorp-lint --format=a:/etc/passwd",
        "mycorp-lint --level /etc/passwd",
        "mycorp-lint ~/x",
        "mycorp-lint '~/x'",
        "cd .. && mycorp-lint x",
        "cd .. && mycorp-lint --check",
        "cd /tmp; mycorp-lint --check",
        "query ../x",
        "query file:///etc/passwd",
        "query --drop",
        "query a=/etc/passwd",
        // Other sub-commands than the listed ones.
        "terraform",
        "terraform apply",
        "terraform -chdir=x show",
        "terraform show apply",
        "terraform 'show '",
        "terraform $x",
        "cargo list deny",
        "cargo deny",
        "cargo deny list build",
        // Other programs than the listed one.
        "./mycorp-lint --check",
        "/tmp/mycorp-lint --check",
        "/usr/bin/../../tmp/mycorp-lint --check",
        "Mycorp-lint --check",
        "mycorp-lint; mycorp-fix",
        // Other parts of the command around it.
        "mycorp-lint --check >out",
        "mycorp-lint --check | tee out",
        "mycorp-lint --check | sh",
        "mycorp-lint --check </etc/passwd",
        "LINT_PLUGIN=./x mycorp-lint --check",
        "PATH=. mycorp-lint --check",
        "PATH=.; mycorp-lint --check",
        "env LINT_PLUGIN=./x mycorp-lint --check",
        "sudo mycorp-lint --check",
        "exec mycorp-lint --check",
        "bash -c 'mycorp-lint --check'",
        "eval mycorp-lint --check",
        "alias mycorp-lint=rm; mycorp-lint --check",
        "mycorp-lint() { rm x; }; mycorp-lint --check",
        "hash -p ./x mycorp-lint; mycorp-lint --check",
        "mycorp-lint --check $(touch x)",
        // Nothing is known about its output.
        "mycorp-lint --check | xargs cat",
        "cat $(mycorp-lint --check)",
        "mycorp-lint --check | while read -r f; do cat \"$f\"; done",
    ] {
        assert_eq!(judge(command, &context).decision, Decision::Boundary, "{command}");
    }
    let verdict = judge("mycorp-lint --fix", &context);
    assert_eq!(verdict.reason, Reason::NotUnderstood);
    assert_eq!(verdict.detail, "the user's policy 1 (mycorp-lint) does not list the option \"--fix\"");
}

#[test]
fn an_allow_changes_nothing_of_what_the_gate_knows() {
    let user = json!([
        { "program": "rm", "decision": "allow", "operands": "files" },
        { "program": "curl", "decision": "allow", "operands": "any" },
        { "program": "sort", "decision": "allow", "options": ["-oVALUE", "--weird"], "operands": "files" },
        { "program": "cat", "decision": "allow", "operands": "files" },
        { "program": "grep", "decision": "allow", "options": ["--weird", "-rl"], "operands": "any" },
        { "program": "pkill", "decision": "allow", "operands": "any" },
    ]);
    let context = with(user, json!([]));
    for command in
        ["rm a", "pkill x", "curl x", "sort -oPWNED a", "cat /etc/passwd", "grep -rl --weird x | xargs cat"]
    {
        assert_eq!(judge(command, &context).decision, Decision::Boundary, "{command}");
    }
    assert_eq!(judge("sort --weird a", &context).decision, Decision::Allow);
    // The gate relies on its knowledge of a program's output, and has none if a policy vouches for the program.
    let users = [
        "grep -rl OPTION x | xargs cat",
        "for f in $(grep -rl OPTION x); do cat \"./$f\"; done",
        "while IFS= read -r f; do cat \"./$f\"; done < <(grep -rl OPTION x)",
        "grep -rl OPTION x | while IFS= read -r f; do cat \"./$f\"; done",
        "grep -rl OPTION x | head -n 3 | xargs cat",
        "find . -name '*.c' | while IFS= read -r f; do grep -rl OPTION x src; cat \"$f\"; done",
    ];
    for user in users {
        let (known, vouched) = (user.replace("OPTION", "-i"), user.replace("OPTION", "--weird"));
        assert_eq!(judge(&known, &context).decision, Decision::Allow, "{known}");
        assert_eq!(judge(&vouched, &context).decision, Decision::Boundary, "{vouched}");
        let alone = judge("grep -rl --weird x; cat $(pwd)/a", &context);
        assert_eq!(alone.decision, Decision::Allow, "{}", alone.detail);
    }
    let verdict = judge("cat a", &context);
    assert_eq!(support::texts(&verdict.reads), ["a"]);
    assert_eq!(verdict.detail, "the command only reads");
}

#[test]
fn deny_rules_count_for_what_an_allowed_program_may_read() {
    let deny = DenyRules::from_patterns([".env"]).unwrap();
    let context =
        GateContext { deny, ..with(users(), json!([{ "program": "terraform", "decision": "boundary" }])) };
    for command in ["mycorp-lint --check", "terraform show", "echo $(terraform show)"] {
        let verdict = judge(command, &context);
        assert_eq!((verdict.decision, verdict.reason), (Decision::Boundary, Reason::DeniedPath), "{command}");
    }
}

#[test]
fn a_boundary_wins_over_everything() {
    let project = json!([
        { "program": "cat", "decision": "boundary", "reason": "use the reader" },
        { "program": "git", "words": ["log"], "decision": "boundary" },
        { "program": "git", "words": ["remote", "show"], "decision": "boundary" },
        { "program": "grep", "options": ["-r", "--include=VALUE"], "decision": "boundary" },
        { "program": "mycorp-lint", "options": ["--level=9"], "decision": "boundary" },
        { "program": "echo", "decision": "boundary" },
        { "program": "[", "decision": "boundary" },
    ]);
    let context = with(users(), project);
    for command in [
        "cat a",
        "/bin/cat a",
        "/usr/local/bin/cat a",
        "c\"a\"t a",
        "command cat a",
        "env cat a",
        "timeout 5 cat a",
        "nice cat a",
        "time cat a",
        "ls | xargs cat",
        "find . -exec cat {} +",
        "ls $(cat a)",
        "ls; if true; then cat a; fi",
        "cat --version",
        "git log",
        "git --no-pager log",
        "git -C src log -3",
        "git \"$x\"",
        "git remote -v show",
        "git -C remote remote show",
        "git -C x -c color.ui=never remote show",
        "grep -r x",
        "grep -nr x",
        "grep --inc '*.rs' x",
        "grep --include='*.rs' x",
        "grep x $y",
        "git ls-files | xargs grep x",
        "mycorp-lint --level=9",
        "echo x",
        "builtin echo x",
        "ls | xargs",
        "[ -f a ]",
    ] {
        let verdict = judge(command, &context);
        assert_eq!(
            (verdict.decision, verdict.reason),
            (Decision::Boundary, Reason::Policy),
            "{command}: {}",
            verdict.detail
        );
        assert!(verdict.effects.iter().all(|effect| effect.span.is_some()), "{command}");
    }
    assert_eq!(judge("cat a", &context).detail, "the project's policy 1 (cat) asks first: use the reader");
    let many = vec![json!({ "program": "cat", "decision": "boundary" }); 200];
    let verdict = judge("cat a", &with(json!([]), json!(many)));
    assert!(
        verdict.detail.ends_with("the project's policy 3 (cat) asks first; and 197 more"),
        "{}",
        verdict.detail
    );
    for command in [
        "tac a",
        "git status",
        "git show log",
        "git remote",
        "grep -n x a",
        "grep -l --color=never x a",
        "[[ -f a ]]",
        "mycorp-lint --check",
    ] {
        assert_eq!(judge(command, &context).decision, Decision::Allow, "{command}");
    }
}

fn refused(user: Value, project: Value) -> String {
    Policies::new(rules(user), rules(project)).expect_err("policies that do not hold").to_string()
}

#[test]
fn a_project_cannot_allow() {
    let error = Policies::new(
        [],
        rules(json!([
            { "program": "ls", "decision": "boundary" },
            { "program": "mycorp-lint", "decision": "allow" },
        ])),
    )
    .unwrap_err();
    let GateError::Policy { origin, index, field, .. } = &error else { panic!("{error}") };
    assert_eq!((*origin, *index, *field), (PolicyOrigin::Project, 1, "decision"));
    assert!(
        error.to_string().starts_with("policy 2 of the project: decision: a project can only add boundaries"),
        "{error}"
    );
}

#[test]
fn a_policy_that_cannot_be_held_to_is_named() {
    let cases = [
        (json!({ "program": "bash" }), "program: \"bash\": no policy can allow it: it runs what"),
        (json!({ "program": "python3.12" }), "no policy can allow it"),
        (json!({ "program": "xargs" }), "no policy can allow it"),
        (json!({ "program": "git", "words": ["lfs"] }), "no policy can allow it"),
        (json!({ "program": "source" }), "a command of the shell"),
        (json!({ "program": "./lint" }), "program: \"./lint\": write the plain name"),
        (json!({ "program": "/usr/bin/lint" }), "write the plain name"),
        (json!({ "program": "my lint" }), "it is not the name of a program"),
        (json!({ "program": "" }), "it is not the name of a program"),
        (json!({ "program": "lint", "words": ["--check"] }), "words: \"--check\" is no sub-command"),
        (
            json!({ "program": "lint", "options": ["check"] }),
            "options: \"check\": an option starts with a dash",
        ),
        (json!({ "program": "lint", "options": ["--VALUE"] }), "options: \"--VALUE\": VALUE stands behind"),
        (
            json!({ "program": "lint", "options": ["--a", "--a VALUE"] }),
            "options: \"--a\": it is listed alone and with",
        ),
        (
            json!({ "program": "lint", "decision": "boundary", "operands": "files" }),
            "operands: a boundary covers all",
        ),
    ];
    for (mut policy, expected) in cases {
        let fields = policy.as_object_mut().unwrap();
        fields.entry("decision").or_insert_with(|| json!("allow"));
        let error = refused(json!([policy]), json!([]));
        assert!(error.starts_with("policy 1 of the user: ") && error.contains(expected), "{policy}: {error}");
    }
    let many = vec![json!({ "program": "x", "decision": "boundary" }); 257];
    assert!(refused(json!([]), json!(many)).contains("more than 256"));
}

#[test]
fn an_example_that_comes_out_differently_is_named_with_what_the_gate_said() {
    let allow = |examples: Value| {
        let mut rule = json!({ "program": "lint", "options": ["--check"], "decision": "allow" });
        rule.as_object_mut().unwrap().extend(examples.as_object().unwrap().clone());
        refused(json!([rule]), json!([]))
    };
    let cases = [
        (
            json!({ "match": ["lint --check", "lint --fix"] }),
            "match: \"lint --fix\" should be allowed, but it is a boundary: the user's policy 1 (lint) does not list the option \"--fix\"",
        ),
        (json!({ "match": ["lint >out"] }), "should be allowed, but it is a boundary: writes to \"out\""),
        (json!({ "match": ["ls"] }), "match: \"ls\" should be allowed by this policy, which does not fit"),
        (
            json!({ "not_match": ["lint --check"] }),
            "not_match: \"lint --check\" should not be allowed by this policy, but it is",
        ),
    ];
    for (examples, expected) in cases {
        let error = allow(examples);
        assert!(error.contains(expected), "{error}");
    }
    let stop = |examples: Value| {
        let mut rule = json!({ "program": "cat", "decision": "boundary" });
        rule.as_object_mut().unwrap().extend(examples.as_object().unwrap().clone());
        refused(json!([]), json!([rule]))
    };
    assert!(
        stop(json!({ "match": ["ls"] }))
            .contains("should be stopped, but it is allowed: the command only reads")
    );
    assert!(stop(json!({ "match": ["rm x"] })).contains("it is a boundary by itself: rm writes"));
    assert!(
        stop(json!({ "not_match": ["cat x"] })).contains("should not be stopped by this policy, but it is")
    );
    // If the gate learns a command by itself, the example still matches.
    let known = json!([{ "program": "sort", "options": ["-r"], "operands": "files", "decision": "allow", "match": ["sort -r a"] }]);
    assert!(Policies::new(rules(known), []).is_ok());
    // A project's boundary cannot make the user's file invalid.
    let user = json!([{ "program": "lint", "decision": "allow", "match": ["lint"] }]);
    assert!(
        Policies::new(rules(user), rules(json!([{ "program": "lint", "decision": "boundary" }]))).is_ok()
    );
}

#[test]
fn a_policy_keeps_its_form() {
    let written = json!({
        "program": "terraform", "words": ["show"], "options": ["-json"], "operands": "files", "decision": "allow",
        "reason": "prints", "match": ["terraform show"], "not_match": ["terraform apply"],
    });
    let read = rule(written.clone());
    assert_eq!((read.decision, read.operands), (PolicyDecision::Allow, Some(PolicyOperands::Files)));
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
    let policies = Policies::new([read.clone()], []).unwrap();
    assert_eq!(policies.of(PolicyOrigin::User).collect::<Vec<_>>(), [&read]);
    assert_eq!(policies.of(PolicyOrigin::Project).count(), 0);
    assert!(
        serde_json::from_value::<PolicyRule>(json!({ "program": "x", "decision": "allow", "option": [] }))
            .is_err()
    );
}

mod properties {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn commands() -> Vec<String> {
        let text = [EVERYDAY, ATTACKS].concat();
        text.lines().filter(|line| !line.is_empty()).map(support::spelled_out).collect()
    }

    /// Words of the corpora, so that the policies are about commands that are judged.
    fn words() -> Vec<String> {
        let mut words: Vec<_> = commands()
            .iter()
            .flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        words.sort();
        words.dedup();
        words
    }

    fn some_rule(decision: &'static str) -> impl Strategy<Value = Option<PolicyRule>> {
        let options: Vec<_> = words().into_iter().filter(|word| word.starts_with('-')).collect();
        let programs: Vec<_> = words()
            .into_iter()
            .filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            .collect();
        let program = select(programs.clone());
        let operands = select(vec![Value::Null, json!("none"), json!("files"), json!("any")]);
        (program, proptest::collection::vec(select(programs), 0..2), proptest::collection::vec(select(options), 0..3), operands)
            .prop_map(move |(program, words, options, operands)| {
                let operands = if decision == "allow" { operands } else { Value::Null };
                let written = json!({ "program": program, "words": words, "options": options, "operands": operands, "decision": decision });
                // A policy that nobody may write is left out.
                let rule: PolicyRule = rule(written);
                Policies::new([rule.clone()], []).is_ok().then_some(rule)
            })
    }

    fn rules_of(decision: &'static str) -> impl Strategy<Value = Vec<PolicyRule>> {
        proptest::collection::vec(some_rule(decision), 0..6)
            .prop_map(|rules| rules.into_iter().flatten().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_project_widens(
            user in rules_of("allow"),
            project in rules_of("boundary"),
            deny in proptest::collection::vec(select(vec![".env", "src/", "*.txt"]), 0..2),
            commands in proptest::collection::vec(select(commands()), 20),
        ) {
            let deny = DenyRules::from_patterns(deny).unwrap();
            let without = GateContext { deny, policies: Policies::new(user.clone(), []).unwrap(), ..support::context() };
            let policies = Policies::new(user, project).unwrap();
            let with = GateContext { policies, ..without.clone() };
            for command in commands {
                let (before, after) = (judge(&command, &without), judge(&command, &with));
                prop_assert!(after.decision != Decision::Allow || before.decision == Decision::Allow, "{}", command);
                // A path that a deny rule closes is refused, and the user is not asked about it.
                prop_assert!(before.reason != Reason::DeniedPath || after.reason == Reason::DeniedPath, "{}", command);
                if after.decision == Decision::Allow {
                    prop_assert_eq!(before, after);
                }
            }
        }

        #[test]
        fn an_allow_only_widens_and_never_what_writes_or_connects(
            user in rules_of("allow"),
            commands in proptest::collection::vec(select(commands()), 20),
        ) {
            let with = GateContext { policies: Policies::new(user, []).unwrap(), ..support::context() };
            for command in commands {
                let (before, after) = (judge(&command, &support::context()), judge(&command, &with));
                if before.decision == Decision::Allow {
                    prop_assert_eq!(&before, &after, "{}", command);
                }
                if matches!(before.reason, Reason::Writes | Reason::Network | Reason::ReadsOutside | Reason::Environment | Reason::Limit) {
                    prop_assert_eq!(after.decision, Decision::Boundary, "{}", command);
                }
            }
        }
    }
}

#[test]
fn what_a_policy_requires_must_be_given() {
    let judge = |requires: Value, command: &str| {
        let allow = json!({ "program": "pytest", "requires": requires, "options": ["-q", "--", "-k VALUE"],
            "operands": "files", "decision": "allow" });
        let policies = Policies::new([rule(allow)], []).unwrap();
        let context = GateContext { policies, ..support::context() };
        Gate::new().judge_command(command, &context)
    };
    let collect = json!(["--collect-only"]);
    for command in [
        "pytest --collect-only",
        "pytest -q tests --collect-only",
        "pytest --collect-only -k x",
        "pytest '--collect'-only",
    ] {
        assert_eq!(judge(collect.clone(), command).decision, Decision::Allow, "{command}");
    }
    let refused = [
        "pytest",
        "pytest -q",
        "pytest tests",
        "pytest collect-only",
        "pytest --collect",
        "pytest -- --collect-only",
        "pytest -k --collect-only",
        "pytest --collect-only=no",
        "pytest --collect-onlyx",
        "pytest $x",
        "pytest --collect-only && pytest",
    ];
    for command in refused {
        let verdict = judge(collect.clone(), command);
        assert_eq!(verdict.decision, Decision::Boundary, "{command}");
    }
    assert!(judge(collect, "pytest -q").detail.contains("requires the option \"--collect-only\""));
    let cases = [
        (json!(["--a", "--b"]), "pytest --b --a", true),
        (json!(["--a", "--b"]), "pytest --a", false),
        (json!(["--mode=VALUE"]), "pytest --mode=x", true),
        (json!(["--mode=VALUE"]), "pytest --mode", false),
        (json!(["--mode read"]), "pytest --mode read", true),
        (json!(["--mode read"]), "pytest --mode write", false),
        (json!(["-nVALUE"]), "pytest -n4", true),
        (json!(["-nVALUE"]), "pytest -n", false),
    ];
    for (requires, command, runs) in cases {
        let allowed = judge(requires.clone(), command).decision == Decision::Allow;
        assert_eq!(allowed, runs, "{requires} {command}");
    }
    let wrong = json!({ "program": "x", "requires": ["check"], "decision": "allow" });
    let error = Policies::new([rule(wrong)], []).unwrap_err().to_string();
    assert!(error.contains("requires") && error.contains("an option starts with a dash"), "{error}");
    let wrong = json!({ "program": "x", "requires": ["--check"], "decision": "boundary" });
    let error = Policies::new([rule(wrong)], []).unwrap_err().to_string();
    assert!(error.contains("only an allow requires options"), "{error}");
}
