//! Runs the products themselves, which `.ci/install hosts` installs next to the build, with a model that repeats what
//! it is told. Nothing of this leaves the machine, and the products see no home but an empty one.

use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{LOOP, session};
use crate::pty::Pty;
use crate::support::server::{
    Request, ScriptedResponse, Server, calls, messages_call, messages_say, responses_call, responses_say,
    says,
};
use crate::support::{Session, installed};

/// The limit for a product, which has to start and to ask a model twice.
const PATIENCE: Duration = Duration::from_secs(90);
const PROMPT: &str = "look at the files";

/// The result of a command that the model asked for, as a request tells the model.
fn result_in(request: &Request) -> Option<String> {
    let messages = request.json()["messages"].as_array()?.clone();
    let parts = messages.iter().flat_map(|message| match (&message["role"], &message["content"]) {
        (role, content) if role == "tool" => vec![content.clone()],
        (_, Value::Array(parts)) => {
            parts.iter().filter(|part| part["type"] == "tool_result").cloned().collect()
        }
        _ => Vec::new(),
    });
    parts.map(|part| part.to_string()).next()
}

/// A model that answers the first question about the prompt with a command, and then is done.
fn model(tool: &'static str, command: &str) -> Server {
    let asked = Mutex::new(false);
    let args = json!({ "command": command, "description": "to see" });
    Server::answering(move |request| {
        if !request.head.contains("/messages") && !request.head.contains("/chat/completions") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let body = request.json();
        let offers = |offered: &Value| offered["name"] == tool || offered["function"]["name"] == tool;
        let offered = body["tools"].as_array().is_some_and(|tools| tools.iter().any(offers));
        let mut asked = asked.lock().unwrap();
        let begins = offered && !*asked && body["messages"].to_string().contains(PROMPT);
        *asked |= begins;
        match (request.head.contains("/messages"), begins) {
            (false, true) => calls(&[(tool, args.clone())]),
            (false, false) => says("Done."),
            (true, true) => messages_call("toolu_1", tool, &args),
            (true, false) => messages_say("Done."),
        }
    })
}

/// A user with a file, and with the hook of `host` if there is one.
fn user(host: Option<&str>) -> Session {
    let session = session();
    session.write("project/a.txt", "one\n");
    session.git(&["init", "-q"]);
    session.git(&["-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "first", "--allow-empty"]);
    if let Some(host) = host {
        let written = session.run(&["hook", host, "--install"]);
        assert_eq!(written.code, Some(0), "{written}");
    }
    session
}

fn environment(command: &mut Command, session: &Session) {
    let node = installed("node/bin");
    command.current_dir(session.workspace()).env_clear().env("HOME", session.home());
    // What the products leave in the folder for temporary files is removed with the session.
    std::fs::create_dir_all(session.home().join("tmp")).unwrap();
    command.env("TMPDIR", session.home().join("tmp"));
    command
        .env("PATH", format!("{}:/usr/bin:/bin", node.display()))
        .env("SHELL", "/bin/bash")
        .env("LANG", "C.UTF-8");
}

/// Runs a command in Claude Code, and returns what its model is told of it. Nobody can be asked here, so a command that
/// would be a question is refused.
fn in_claude_code(session: &Session, command: &str) -> String {
    let model = model("Bash", command);
    let mut claude = Command::new(installed(".bin/claude"));
    environment(&mut claude, session);
    claude.args(["-p", PROMPT]).stdin(std::process::Stdio::null());
    claude.env("ANTHROPIC_BASE_URL", model.base_url.trim_end_matches("/v1")).env("ANTHROPIC_API_KEY", "none");
    claude.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    let output = claude.output().unwrap();
    let result = model.requests().iter().find_map(result_in);
    let result = result.unwrap_or_else(|| panic!("nothing was run: {output:?}"));
    assert!(!result.contains("tool_use_error"), "the call is not one of this version's: {result}");
    result
}

#[test]
#[ignore = "needs Claude Code; .ci/long installs it"]
fn claude_code_asks_about_what_writes_and_not_about_what_reads() {
    let without = in_claude_code(&user(None), LOOP);
    assert!(without.contains("\"is_error\":true"), "{without}");
    let hooked = user(Some("claude-code"));
    let with = in_claude_code(&hooked, LOOP);
    assert!(with.contains("\"content\":\"1\"") && !with.contains("\"is_error\":true"), "{with}");
    for session in [user(None), user(Some("claude-code"))] {
        let writes = in_claude_code(&session, "touch x");
        assert!(writes.contains("\"is_error\":true") && !session.workspace().join("x").exists(), "{writes}");
    }
    // The product runs `tac` without a question, so without the hook whatever the user's shell runs under that name may
    // write. (The test does not use awk, because the product itself runs awk in that shell.)
    for (session, writes) in [(&hooked, false), (&user(None), true)] {
        session.write("home/.bashrc", "tac() { touch pwned; }\nalias tac='touch pwned'\n");
        let result = in_claude_code(session, "tac a.txt");
        assert_eq!(session.workspace().join("pwned").exists(), writes, "{result}");
        assert_eq!(result.contains("\"content\":\"one\""), !writes, "{result}");
    }
    let git = in_claude_code(&hooked, "git log -1 --format=%s");
    assert!(git.contains("\"content\":\"first\""), "{git}");
    let stats = hooked.run(&["stats"]).stdout;
    assert!(stats.contains("3 questions not asked today"), "{stats}");
}

/// Holds that after the one line that installs the hook the first question is not asked, and how long both take.
/// `.ci/release-trial` measures what comes before: the line that installs headstart.
#[test]
#[ignore = "needs Claude Code; .ci/long installs it"]
fn one_line_and_the_first_question_is_not_asked() {
    let session = user(None);
    let began = Instant::now();
    let written = session.run(&["hook", "claude-code", "--install"]);
    let enabled = began.elapsed();
    assert_eq!(written.code, Some(0), "{written}");
    let result = in_claude_code(&session, LOOP);
    assert!(!result.contains("\"is_error\":true"), "{result}");
    let (enabled, asked) = (enabled.as_millis(), began.elapsed().as_secs_f64());
    println!(
        "headstart hook claude-code --install: {enabled} ms; with the start of Claude Code and one call: {asked:.1} s"
    );
    assert!(asked < PATIENCE.as_secs_f64(), "{asked}");
}

/// Runs a command in Qwen Code: `Ok` is what the model was told, `Err` the screen with the question.
fn in_qwen_code(session: &Session, command: &str) -> Result<String, String> {
    let model = model("run_shell_command", command);
    let mut qwen = Command::new(installed("node/bin/node"));
    environment(&mut qwen, session);
    let home = session.home();
    qwen.arg(installed("@qwen-code/qwen-code/cli-entry.js")).args(["--auth-type", "openai", "-i", PROMPT]);
    qwen.env("HOME", home).env("OPENAI_BASE_URL", &model.base_url).env("OPENAI_API_KEY", "none");
    qwen.env("OPENAI_MODEL", "scripted");
    let screen = Pty::of(&qwen, 120, 50);
    let started = Instant::now();
    loop {
        if let Some(result) = model.requests().iter().find_map(result_in) {
            return Ok(result);
        }
        let shown = screen.contents();
        if shown.contains("Yes, allow once") {
            return Err(shown);
        }
        assert!(started.elapsed() < PATIENCE, "neither a question nor an answer; the screen is:\n{shown}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs Qwen Code; .ci/long installs it"]
fn qwen_code_asks_about_what_writes_and_not_about_what_reads() {
    in_qwen_code(&user(None), LOOP).unwrap_err();
    let hooked = user(Some("qwen-code"));
    let with = in_qwen_code(&hooked, LOOP).unwrap_or_else(|screen| panic!("{screen}"));
    assert!(with.contains("Output: 1"), "{with}");
    for session in [user(None), user(Some("qwen-code"))] {
        in_qwen_code(&session, "touch x").unwrap_err();
        assert!(!session.workspace().join("x").exists());
    }
    let stats = hooked.run(&["stats"]).stdout;
    assert!(stats.contains("1 question not asked today"), "{stats}");
}

/// A model of Codex that has a command run outside the sandbox, about which Codex asks, and then is done.
fn model_of_codex(command: &str) -> Server {
    let asked = Mutex::new(false);
    let args =
        json!({ "cmd": command, "sandbox_permissions": "require_escalated", "justification": "to see" });
    Server::answering(move |request| {
        if !request.head.contains("/responses") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let last =
            request.json()["input"].as_array().and_then(|input| input.last().cloned()).unwrap_or_default();
        // Codex also asks the model for a title of the conversation, in a separate request.
        let mut asked = asked.lock().unwrap();
        let begins = !*asked && last.to_string().contains(PROMPT) && !last.to_string().contains("title");
        *asked |= begins;
        if begins { responses_call("exec_command", &args) } else { responses_say("Done.") }
    })
}

/// Runs a command in Codex: `Ok` is what the model was told, `Err` the screen with the question.
fn in_codex(session: &Session, command: &str) -> Result<String, String> {
    let model = model_of_codex(command);
    let folder = session.workspace().display().to_string();
    let trusted = format!("[projects.\"{folder}\"]\ntrust_level = \"trusted\"\n");
    session.configure_codex(&model.base_url, &trusted);
    let mut codex = Command::new(installed("node/bin/node"));
    environment(&mut codex, session);
    codex
        .arg(installed("@openai/codex/bin/codex.js"))
        .args(["--no-daemon", PROMPT])
        .env("OPENAI_API_KEY", "none");
    let mut screen = Pty::of(&codex, 120, 50);
    let (started, mut pressed) = (Instant::now(), None::<Instant>);
    loop {
        let results = model.requests().iter().find_map(|request| {
            let input = request.json()["input"].as_array()?.clone();
            let result = input.iter().find(|item| item["type"] == "function_call_output")?;
            Some(result["output"].to_string())
        });
        if let Some(result) = results {
            return Ok(result);
        }
        let shown = screen.contents();
        if shown.contains("Would you like to run the following command?") {
            return Err(shown);
        }
        // Codex may show its question before it reads keys, so a key is sent again if nothing happens.
        let is_late = pressed.is_none_or(|pressed| Duration::from_secs(2) < pressed.elapsed());
        if is_late && shown.contains("2. Trust all and continue") {
            screen.send(if shown.contains("› 2. Trust all") { "\r" } else { "2" });
            pressed = Some(Instant::now());
        }
        assert!(started.elapsed() < PATIENCE, "neither a question nor an answer; the screen is:\n{shown}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs Codex; .ci/long installs it"]
fn codex_asks_about_what_writes_and_not_about_what_reads() {
    in_codex(&user(None), LOOP).unwrap_err();
    let hooked = user(Some("codex"));
    let with = in_codex(&hooked, LOOP).unwrap_or_else(|screen| panic!("{screen}"));
    assert!(with.contains("\\n1\\n"), "{with}");
    for session in [user(None), user(Some("codex"))] {
        in_codex(&session, "touch x").unwrap_err();
        assert!(!session.workspace().join("x").exists());
    }
    let stats = hooked.run(&["stats"]).stdout;
    assert!(stats.contains("1 question not asked today"), "{stats}");
}
