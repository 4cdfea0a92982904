//! The tool `shell`, with a runner that keeps the requests that it gets.

use std::sync::{Arc, Mutex};

use crate::session::Session;
use async_trait::async_trait;
use headstart_tool_gate::{ConditionalCommand, DenyRules, Hardened, Probe, Probed};
use headstart_toolbox::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, SecretAccess, ToolError, Toolbox,
};
use serde_json::json;

/// A runner that keeps each request and answers with what the test has set.
struct RecordingRunner {
    asked: Mutex<Vec<CommandRequest>>,
    answer: Mutex<Result<CommandOutput, ToolError>>,
}

#[async_trait]
impl CommandRunner for RecordingRunner {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        self.asked.lock().expect("no test panics here").push(request);
        self.answer.lock().expect("no test panics here").clone()
    }
}

fn done(output: &str, exit_code: Option<i32>) -> CommandOutput {
    CommandOutput { output: output.to_owned(), exit_code, timed_out: false, truncated: false }
}

fn session() -> (Session, Arc<RecordingRunner>) {
    let runner =
        Arc::new(RecordingRunner { asked: Mutex::default(), answer: Mutex::new(Ok(done("hi\n", Some(0)))) });
    let files = [("src/main.rs", ""), ("secrets/key", ""), ("link -> src", ""), ("alias -> secrets", "")];
    let mut session = Session::new(&files).deny(&["secrets"]);
    session.toolbox = Toolbox::standard(Some(runner.clone()));
    (session, runner)
}

#[test]
fn a_command_reaches_the_runner_as_it_was_judged() {
    let (mut session, runner) = session();
    assert_eq!(session.ok("Bash", json!({"command": "echo hi", "description": "Greets"})), "hi");
    session.consented = true;
    session.ok("shell", json!({"command": "make", "directory": "/home/ada/project/link/."}));
    session.consented = false;
    let form: Hardened = serde_json::from_value(json!({
        "environment": {"GIT_OPTIONAL_LOCKS": "0"},
        "command": "git --no-pager status",
        "git": {"version": [2, 45], "folders": [], "hides": []},
    }))
    .unwrap();
    session.hardened = Some(form.clone());
    session.ok("run_shell_command", json!({"command": "git status"}));

    let asked = runner.asked.lock().unwrap();
    let limits = session.limits;
    let root = CommandRequest {
        command: ConditionalCommand::approved("echo hi"),
        directory: crate::session::path("."),
        environment: CommandEnvironment::Clean,
        secrets: SecretAccess::Closed,
        deny: session.gate.deny.clone(),
        time_limit: limits.command_time,
        output_limit: limits.output_bytes,
    };
    let approved = CommandRequest {
        command: ConditionalCommand::approved("make"),
        directory: crate::session::path("src"),
        environment: CommandEnvironment::User,
        secrets: SecretAccess::Open,
        deny: DenyRules::default(),
        ..root.clone()
    };
    let hardened =
        CommandRequest { command: ConditionalCommand::allowed("git status", Some(&form)), ..root.clone() };
    assert_eq!(*asked, [root, approved, hardened]);
    // The line comes with its variables, and only if git is new enough.
    let version = |minor| {
        move |probe: &Probe| {
            assert_eq!(*probe, Probe::GitVersion);
            Probed::Version(2, minor)
        }
    };
    let proven = asked[2].command.prove_by(version(45)).unwrap();
    assert_eq!((proven.line, proven.environment), ("git --no-pager status", &*form.environment));
    assert!(asked[2].command.prove_by(version(33)).is_err());
}

#[test]
fn the_answer_says_how_the_command_ended() {
    let (mut session, runner) = session();
    let answers = [
        Ok(done("", Some(0))),
        Ok(done("one\ntwo", Some(2))),
        Ok(done("", Some(1))),
        Ok(done("killed\n", None)),
        Ok(CommandOutput { timed_out: true, ..done("started\n", None) }),
        Ok(CommandOutput { truncated: true, ..done("a\n[… 7 bytes left out …]\nb\n", Some(0)) }),
        Err(ToolError::failed("x is not on disk, and a command cannot run in it")),
    ];
    for answer in answers {
        *runner.answer.lock().unwrap() = answer;
        let _ = session.call("shell", json!({"command": "true"}));
    }
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn how_a_command_ended_is_its_status() {
    let (mut session, runner) = session();
    session.ok("shell", json!({"command": "true"}));
    assert!(session.items().is_empty(), "nothing is to be said of it");
    *runner.answer.lock().unwrap() = Ok(done("no such test\n", Some(1)));
    assert_eq!(session.ok("shell", json!({"command": "cargo test x"})), "no such test\n[exit code 1]");
    assert_eq!(session.items(), [r#"command, exit code 1: "no such test\n[exit code 1]""#]);
}

#[test]
fn a_call_that_makes_no_sense_reaches_no_runner() {
    let (mut session, runner) = session();
    for args in [
        json!({}),
        json!({"command": " \n"}),
        json!({"command": "a\0b"}),
        json!({"command": ["ls"]}),
        json!({"command": "ls", "timeout": 5}),
        json!({"command": "ls", "directory": "missing"}),
        json!({"command": "ls", "directory": "src/main.rs"}),
        json!({"command": "ls", "directory": "/etc"}),
        json!({"command": "ls", "directory": "alias"}),
        json!({"command": "ls", "directory": 5}),
    ] {
        assert!(session.call("shell", args).is_err());
    }
    assert!(runner.asked.lock().unwrap().is_empty());
    insta::assert_snapshot!(session.transcript());
}
