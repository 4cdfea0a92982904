//! Holds that session files are read which the products themselves write, in a home of the test's own and with a model
//! that repeats what it is told.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::{evaluate, of_type};
use crate::support::server::{
    ScriptedResponse, Server, StreamStep, calls, messages_call, messages_say, responses_call, responses_say,
    says,
};
use crate::support::{Session, installed};

/// The prompts of the user, in order.
const PROMPTS: [&str; 3] = ["look at the files", "run the tests", "commit this"];

/// A model that answers the first prompt with a command, and then is done.
fn model(tool: &'static str) -> Server {
    let asked = Mutex::new(false);
    Server::answering(move |request| {
        let head = &request.head;
        let known = ["/messages", "/chat/completions", "/responses", "GenerateContent"];
        if !known.iter().any(|part| head.contains(part)) || head.contains("count_tokens") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let body = request.json();
        let offers = body["tools"].to_string().contains(&format!("\"{tool}\""));
        let mut asked = asked.lock().unwrap();
        let begins = offers && !*asked && request.body.contains(PROMPTS[0]);
        *asked |= begins;
        let args = json!({ "command": "cat a.txt", "cmd": "cat a.txt", "description": "to see" });
        match (begins, head) {
            (true, head) if head.contains("/messages") => messages_call("toolu_1", tool, &args),
            (false, head) if head.contains("/messages") => messages_say("Done."),
            (true, head) if head.contains("/responses") => responses_call(tool, &args),
            (false, head) if head.contains("/responses") => responses_say("Done."),
            (begins, head) if head.contains("GenerateContent") => {
                gemini_answer(begins.then_some((tool, &args)))
            }
            (true, _) => calls(&[(tool, args)]),
            (false, _) => says("Done."),
        }
    })
}

/// An answer of the Gemini API: the call, or a text if there is none.
fn gemini_answer(call: Option<(&str, &Value)>) -> ScriptedResponse {
    let part = match call {
        Some((tool, args)) => json!({ "functionCall": { "name": tool, "args": args } }),
        None => json!({ "text": "Done." }),
    };
    let answer = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 10, "totalTokenCount": 110 },
        "modelVersion": "scripted",
    });
    ScriptedResponse::Stream(vec![StreamStep::Data(answer.to_string())])
}

/// Runs a command in the environment of the session, and returns what it prints.
fn run(session: &Session, command: &mut Command) -> Vec<u8> {
    let node = installed("node/bin");
    std::fs::create_dir_all(session.home().join("tmp")).unwrap();
    command.current_dir(session.workspace()).stdin(Stdio::null());
    command.env("HOME", session.home()).env("TMPDIR", session.home().join("tmp"));
    command
        .env("PATH", format!("{}:/usr/bin:/bin", node.display()))
        .env("SHELL", "/bin/bash")
        .env("LANG", "C.UTF-8");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output.stdout
}

/// A command of a product, with an empty environment.
fn product(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear();
    command
}

/// Checks that what the product wrote is read: two prompts for which a suggestion could have been made, with their
/// times and costs.
fn check(session: &Session, name: &str) {
    let outcome =
        evaluate(session, &["run the tests".into(), "push it".into()], &["--yes", "--json", "--show"]);
    let lines = outcome.json();
    let files = of_type(&lines, "file");
    // A product may continue a session in another file.
    assert!(!files.is_empty() && files.iter().all(|file| file["product"] == name), "{outcome}");
    assert!(of_type(&lines, "damaged").is_empty(), "{outcome}");
    let prompts = of_type(&lines, "prompt");
    let typed: Vec<_> = prompts.iter().map(|prompt| prompt["typed"].as_str().unwrap()).collect();
    assert_eq!(typed, PROMPTS[1..], "{outcome}");
    let matches: Vec<_> = prompts.iter().map(|prompt| prompt["match"].as_str().unwrap()).collect();
    assert_eq!(matches, ["exact", "none"], "{outcome}");
    for prompt in prompts {
        // Gemini CLI continues in another file as soon as the minute has changed, and repeats what was said before with
        // the time of that file, so the user's waiting time is unknown.
        let has_waited = prompt["waitedMs"].is_u64() || name == "gemini-cli";
        assert!(prompt["turnMs"].is_u64() && has_waited, "{outcome}");
    }
    let total = of_type(&lines, "total")[0];
    assert_eq!(total["runsInVainKnown"], 1, "{outcome}");
}

fn session() -> Session {
    let session = Session::new();
    session.write("project/a.txt", "one\n");
    session
}

#[test]
#[ignore = "needs Claude Code; .ci/long installs it"]
fn files_of_claude_code() {
    let (session, model) = (session(), model("Bash"));
    for (number, prompt) in PROMPTS.iter().enumerate() {
        let mut claude = product(installed(".bin/claude"));
        claude.args((0 < number).then_some("--continue")).args(["-p", prompt, "--allowedTools", "Bash"]);
        claude
            .env("ANTHROPIC_BASE_URL", model.base_url.trim_end_matches("/v1"))
            .env("ANTHROPIC_API_KEY", "none");
        claude.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
        run(&session, &mut claude);
    }
    check(&session, "claude-code");
}

#[test]
#[ignore = "needs Qwen Code; .ci/long installs it"]
fn files_of_qwen_code() {
    let (session, model) = (session(), model("run_shell_command"));
    for (number, prompt) in PROMPTS.iter().enumerate() {
        let mut qwen = product(installed("node/bin/node"));
        qwen.arg(installed("@qwen-code/qwen-code/cli-entry.js")).args(["--auth-type", "openai", "--yolo"]);
        qwen.args((0 < number).then_some("--continue")).args(["-p", prompt]);
        qwen.env("OPENAI_BASE_URL", &model.base_url)
            .env("OPENAI_API_KEY", "none")
            .env("OPENAI_MODEL", "scripted");
        run(&session, &mut qwen);
    }
    check(&session, "qwen-code");
}

#[test]
#[ignore = "needs Codex; .ci/long installs it"]
fn files_of_codex() {
    let (session, model) = (session(), model("exec_command"));
    // Codex offers a model that it does not know other tools than its own models.
    session.write(
        "home/.codex/config.toml",
        format!(
            "model = \"scripted\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = {:?}\nwire_api = \"responses\"\n",
            model.base_url
        ),
    );
    for (number, prompt) in PROMPTS.iter().enumerate() {
        let mut codex = product(installed(".bin/codex"));
        codex.args(["exec", "--skip-git-repo-check"]);
        if 0 < number {
            codex.args(["resume", "--last"]);
        }
        run(&session, codex.arg(prompt));
    }
    check(&session, "codex");
}

#[test]
#[ignore = "needs Gemini CLI; .ci/long installs it"]
fn files_of_gemini_cli() {
    let (session, model) = (session(), model("run_shell_command"));
    let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } }, "model": { "name": "gemini-2.5-pro" } });
    session.write("home/.gemini/settings.json", settings.to_string());
    for (number, prompt) in PROMPTS.iter().enumerate() {
        let mut gemini = product(installed("node/bin/node"));
        gemini.arg(installed("@google/gemini-cli/bundle/gemini.js")).args(["--yolo", "--skip-trust"]);
        if 0 < number {
            gemini.args(["--resume", "latest"]);
        }
        gemini.args(["-p", prompt]).env("GEMINI_API_KEY", "none");
        gemini.env("GOOGLE_GEMINI_BASE_URL", model.base_url.trim_end_matches("/v1"));
        run(&session, &mut gemini);
    }
    check(&session, "gemini-cli");
}

#[test]
#[ignore = "needs OpenCode; .ci/long installs it"]
fn files_of_opencode() {
    let (session, model) = (session(), model("bash"));
    session.configure_opencode(&model.base_url, &json!({}));
    let opencode = || {
        let mut opencode = product(installed("opencode-linux-x64/bin/opencode"));
        opencode.env("OPENCODE_DISABLE_MODELS_FETCH", "1").env("OPENCODE_DISABLE_AUTOUPDATE", "1");
        opencode
    };
    for (number, prompt) in PROMPTS.iter().enumerate() {
        let mut opencode = opencode();
        // OpenCode puts an argument that contains a space in quotation marks, but joins several arguments without them.
        opencode.arg("run").args((0 < number).then_some("--continue")).args(prompt.split(' '));
        run(&session, &mut opencode);
    }
    let listed = run(&session, opencode().args(["session", "list", "--format", "json"]));
    let sessions: Value = serde_json::from_slice(&listed).unwrap();
    let exported = run(&session, opencode().args(["export", sessions[0]["id"].as_str().unwrap()]));
    session.write("home/exported.json", exported);
    check(&session, "opencode");
}
