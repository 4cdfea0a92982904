//! Holds how a query in another language than that of the code is handled: the user's model is asked once for English
//! words, and without its answer the search goes on.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use std::time::Duration;

use serde_json::json;

use crate::support::server::{Request, ScriptedResponse, Server, StreamStep, calls, says};
use crate::support::{Outcome, Session};

/// The worked example; it asks where the login flow of users is implemented.
const QUERY: &str = "请帮我理解用户登录验证流程在哪里实现的";
const WORDS: &str = r#"{"words": ["login", "user", "authentication", "verify"]}"#;

/// Code in English, with a page about the code in Chinese.
fn project() -> Session {
    let session = Session::new();
    session
        .write(
            "project/src/auth/auth.middleware.ts",
            "// Checks who a user is.\nexport function verify() {}\n",
        )
        .write("project/src/auth/login.service.ts", "export class LoginService {\n  login() {}\n}\n")
        .write("project/src/cart.ts", "export function total() {\n  return 1;\n}\n")
        .write("project/README.zh.md", "# 购物车\n\n用户登录验证流程在这里\n");
    session.variable("OPENAI_API_KEY", "sk-mine")
}

fn configured(session: &Session, server: &Server, lines: &str) {
    let file = format!("model = \"openai:small\"\nbase_url = \"{}\"\n[code-index]\n{lines}", server.base_url);
    session.write("home/.config/headstart/config.toml", file);
}

fn search(session: &Session, more: &[&str]) -> Outcome {
    let outcome = session.run(&[&["search", QUERY, "--json"], more].concat());
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

fn paths(outcome: &Outcome) -> Vec<String> {
    outcome.json().iter().map(|line| line["path"].as_str().unwrap().to_owned()).collect()
}

fn finds_the_login(outcome: &Outcome) -> bool {
    let found = paths(outcome);
    let place = |name: &str| found.iter().position(|path| path == name);
    let (service, middleware) = (place("src/auth/login.service.ts"), place("src/auth/auth.middleware.ts"));
    service.is_some() && middleware.is_some() && place("src/cart.ts").is_none()
}

#[test]
fn a_question_in_chinese_finds_code_in_english() {
    let (session, server) = (project(), Server::answering(|_| says(WORDS)));
    configured(&session, &server, "");
    let outcome = search(&session, &[]);
    assert!(finds_the_login(&outcome), "{outcome}");
    let told = "searched for these words as well: login user authentication verify (of small, 110 tokens)";
    assert!(outcome.stderr.contains(told), "{outcome}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    // The query is sent, but nothing of the project.
    assert!(requests[0].body.contains(QUERY), "{requests:?}");
    for content in ["LoginService", "auth.middleware", "购物车", "project"] {
        let sent = requests[0].json()["messages"].to_string().replace("software project", "");
        assert!(!sent.contains(content), "{content}: {sent}");
    }
    // The same query is translated only once, even if another process searches for it.
    assert!(finds_the_login(&search(&session, &[])));
    assert_eq!(server.requests().len(), 1);
    // Another model may know better words, so it is asked again.
    let text = std::fs::read_to_string(session.home().join(".config/headstart/config.toml")).unwrap();
    session.write("home/.config/headstart/config.toml", text.replace("small", "large"));
    search(&session, &[]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_needs_no_translation_is_sent_nowhere() {
    let (session, server) = (project(), Server::answering(|_| says(WORDS)));
    configured(&session, &server, "");
    for query in ["where do users log in", "LoginService", "`LoginService` 在哪里"] {
        session.run(&["search", query]);
    }
    session.write("project/src/auth/jwt.ts", "// 用户登录：验证流程的实现\nexport class Jwt {}\n");
    let outcome = search(&session, &[]);
    assert!(paths(&outcome).contains(&"src/auth/jwt.ts".to_owned()), "{outcome}");
    assert_eq!(outcome.stderr, "", "{outcome}");
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[test]
fn who_wants_no_translation_has_none() {
    let (session, server) = (project(), Server::answering(|_| says(WORDS)));
    let plain = |outcome: &Outcome| {
        let told = "the code has few words of the query's language; English ones find more";
        paths(outcome) == ["README.zh.md"] && outcome.stderr.contains(told)
    };
    configured(&session, &server, "");
    let outcome = search(&session, &["--no-translate"]);
    assert!(plain(&outcome), "{outcome}");
    // A project can turn translation off, but not on.
    session.write("project/.headstart/config.toml", "[code-index]\ntranslate = false\n");
    assert!(plain(&search(&session, &[])));
    configured(&session, &server, "translate = false\n");
    assert!(plain(&search(&session, &[])));
    session.write("project/.headstart/config.toml", "[code-index]\ntranslate = true\n");
    let refused = session.run(&["search", QUERY]);
    assert!(refused.stderr.contains("code-index.translate: a project can only turn this off"), "{refused}");
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[test]
fn without_an_answer_a_search_goes_on_and_says_so() {
    let status = |status: &'static str| {
        move |_: &Request| ScriptedResponse::Whole {
            status,
            headers: "",
            body: r#"{"error": {"message": "no"}}"#.to_owned(),
        }
    };
    let servers = [
        (Server::answering(|_| says("I am sorry, but I cannot help.")), "small gave no English words"),
        (Server::answering(|_| says(r#"{"words": ["登录", "x"]}"#)), "small gave no English words"),
        (Server::answering(|_| says("{\"words\": [")), "small gave no English words"),
        (Server::answering(|_| calls(&[("run", json!({"command": "id"}))])), "small gave no English words"),
        (Server::answering(status("401 Unauthorized")), "refused the key (401)"),
        (Server::answering(status("400 Bad Request")), "400"),
        (Server::answering(|_| ScriptedResponse::Stream(vec![StreamStep::Cut])), ""),
        (
            Server::answering(|_| ScriptedResponse::Stream(vec![StreamStep::Wait(Duration::from_secs(20))])),
            "no answer within 6 s",
        ),
    ];
    let session = project();
    for (server, expected) in &servers {
        configured(&session, server, "");
        let outcome = search(&session, &[]);
        assert_eq!(paths(&outcome), ["README.zh.md"], "{outcome}");
        assert_eq!(outcome.stderr.matches("the query is compared as it is written").count(), 1, "{outcome}");
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome}");
    }
    // First no model is configured, and then one without a key.
    session.write("home/.config/headstart/config.toml", "");
    let outcome = search(&session, &[]);
    assert!(outcome.stderr.contains("no model is named that could translate it"), "{outcome}");
    session.write("home/.config/headstart/config.toml", "model = \"anthropic:m\"\n");
    let outcome = search(&session, &[]);
    assert!(outcome.stderr.contains("ANTHROPIC_API_KEY"), "{outcome}");
    assert_eq!(paths(&outcome), ["README.zh.md"], "{outcome}");
}

/// A model that searches in Chinese, and that translates if it is asked to.
fn agent(request: &Request) -> ScriptedResponse {
    let messages = request.json()["messages"].as_array().unwrap().clone();
    if request.body.contains("\\\"words\\\"") {
        return says(WORDS);
    }
    let has_searched = messages.iter().any(|message| message["role"] == "tool");
    if has_searched { says("Done.") } else { calls(&[("codebase", json!({"query": QUERY}))]) }
}

#[test]
fn the_models_own_search_is_translated_as_well() {
    let (session, server) = (project(), Server::answering(agent));
    configured(&session, &server, "");
    // Work ahead may ask a server on this machine.
    let ahead = session.run(&["speculate", "--json", "where do users log in?"]);
    assert!(ahead.stdout.contains("login.service.ts"), "{ahead}");
    assert!(ahead.stdout.contains("[searched for these words as well: login user"), "{ahead}");
    // A recording has no answers to questions that were not recorded, so nothing is translated.
    let recording = json!({"turns": [
        {"toolCalls": [{"name": "codebase", "args": {"query": QUERY}}]}, {"text": "Done."}
    ]});
    session.write("recording.json", recording.to_string());
    let model = format!("replay:{}", session.workspace().join("../recording.json").display());
    let replayed = session.run(&["speculate", "--json", "--model", &model, "where do users log in?"]);
    assert!(replayed.stdout.contains("ask again in English"), "{replayed}");
}

#[test]
fn work_ahead_has_nothing_translated_on_another_machine_and_a_turn_does() {
    // A proxy in the environment stands for the other machine: a request that reaches the proxy has left this machine.
    let server = Server::answering(agent);
    let proxy = server.base_url.trim_end_matches("/v1").to_owned();
    let session = project().variable("HTTP_PROXY", &proxy).variable("http_proxy", &proxy);
    session.write(
        "home/.config/headstart/config.toml",
        "model = \"openai:small\"\nbase_url = \"http://models.example/v1\"\n",
    );
    let translated = || {
        let requests = server.requests();
        requests.iter().filter(|request| request.body.contains("full-text search of its source code")).count()
    };
    let ahead = session.run(&["speculate", "--json", "where do users log in?"]);
    assert!(ahead.stdout.contains("ask again in English"), "{ahead}");
    assert_eq!(translated(), 0);
    let turn = session.run_with_input(&["chat", "--json"], "where do users log in?\n");
    assert!(turn.stdout.contains("login.service.ts"), "{turn}");
    assert_eq!(translated(), 1);
}
