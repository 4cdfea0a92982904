//! Holds how the tools for the web behave: what asks, what is refused, and what a search answers.

use serde_json::{Value, json};

use crate::codebase::{call, recording};
use crate::support::project::farewell;
use crate::support::server::{ScriptedResponse, Server, calls, says};
use crate::support::{Outcome, Session};

const USER: &str = "home/.config/headstart/config.toml";
const PROJECT: &str = "project/.headstart/config.toml";

fn session() -> Session {
    Session::with_project().variable("OPENAI_API_KEY", "sk-web-0123456789")
}

fn chat(session: &Session, server: &Server, prompt: &str) -> Outcome {
    let chat = ["--json", "chat", "--model", "openai:test", "--base-url", &server.base_url];
    session.run_with_input(&chat, prompt)
}

/// The last message of a request.
fn last_message(server: &Server, request: usize) -> Value {
    let messages = server.requests()[request].json()["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].clone()
}

#[test]
fn nothing_of_the_web_is_asked_ahead_or_unasked() {
    let session = &mut session();
    session
        .write(USER, "[web]\nhttp = true\n[web.search]\nurl = 'http://127.0.0.1:9/{query}'\nresults = ''\n");
    for (tool, args) in
        [("fetch_url", json!({"url": "https://example.org"})), ("search_web", json!({"query": "x"}))]
    {
        for mode in ["plan", "default", "auto-edit"] {
            let (outcome, _) = session.speculate(&recording(&[call(tool, args.clone())]), mode);
            assert_eq!(outcome.finished()["status"], "boundary", "{outcome}");
            assert_eq!(outcome.finished()["boundary"]["verdict"]["reason"], "network", "{outcome}");
        }
    }
    // Behind a pipe there is nobody to ask.
    let page = Server::start(vec![]);
    let server = Server::start(vec![calls(&[("fetch_url", json!({"url": page.base_url}))]), says("Done.")]);
    chat(session, &server, "read it\n");
    assert!(page.requests().is_empty());
}

/// Even if fetching is allowed in advance, this machine is not fetched.
#[test]
fn this_machine_is_no_page_of_the_web() {
    let session = session();
    session.write(USER, "[web]\nhttp = true\n[tools]\nfetch_url = 'automatic'\n");
    let page = Server::start(vec![]);
    let server = Server::start(vec![calls(&[("fetch_url", json!({"url": page.base_url}))]), says("Done.")]);
    let outcome = chat(&session, &server, "read it\n");
    assert!(
        last_message(&server, 1).as_str().unwrap().contains("127.0.0.1, which is this machine"),
        "{outcome}"
    );
    // Nor is it fetched if the user names it; then the prompt is not sent.
    let outcome = chat(&session, &server, &format!("what says @{}?\n", page.base_url));
    assert!(outcome.to_string().contains("which is this machine"), "{outcome}");
    assert_eq!((server.requests().len(), page.requests().len()), (2, 0));
    // A page without encryption is not fetched unless the user's file allows it.
    session.write(USER, "");
    let outcome = chat(&session, &server, "what says @http://example.org?\n");
    assert!(outcome.to_string().contains("`http = true` in [web] of your own file allows it"), "{outcome}");
}

#[test]
fn a_search_asks_the_service_that_the_users_file_names() {
    let session = session().variable("SEARCH_KEY", "key-123");
    let found =
        json!({"hits": [{"title": "Fish", "url": "https://a.test", "content": "All about <b>fish</b>."}]});
    let body = found.to_string();
    let service = Server::answering(move |_| ScriptedResponse::Whole {
        status: "200 OK",
        headers: "",
        body: body.clone(),
    });
    let url = service.base_url.clone();
    session.write(
        USER,
        format!(
            "[tools]\nsearch_web = 'automatic'\n[web]\nsearch = {{ url = '{url}/s', key_env = 'SEARCH_KEY', key_header = 'X-Key', \
             body = {{ q = '{{query}}' }}, results = '/hits', text = '/content' }}\n"
        ),
    );
    let server = Server::start(vec![calls(&[("search_web", json!({"query": "cod \"x\""}))]), says("Done.")]);
    let outcome = chat(&session, &server, "look it up\n");
    assert_eq!(last_message(&server, 1), json!("Fish\nhttps://a.test\nAll about fish."), "{outcome}");
    let asked = service.requests()[0].clone();
    assert!(asked.head.starts_with("POST /v1/s") && asked.head.contains("x-key: key-123"), "{}", asked.head);
    assert_eq!(asked.json(), json!({"q": "cod \"x\""}));
    assert!(!outcome.to_string().contains("key-123"), "{outcome}");
}

#[test]
fn a_search_is_offered_where_it_is_configured_and_has_its_key() {
    let mut session = session();
    let tools = |session: &Session| {
        let outcome = session.run(&["tools", "--json"]);
        let named = outcome.json().iter().any(|row| row["tool"] == "search_web");
        (named, outcome.stderr)
    };
    assert_eq!(tools(&session), (false, String::new()));
    session.write(
        USER,
        "[web]\nsearch = { url = 'https://a.test/?q={query}', key_env = 'NO_KEY', results = '/r' }\n",
    );
    let (named, said) = tools(&session);
    assert!(!named && said.contains("search_web is not offered: the variable NO_KEY is not set"), "{said}");
    // An accept offers no tools, so it does not say which are missing.
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let accepted = session.run(&["accept", &id, "--mode", "auto-edit"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(!accepted.stderr.contains("search_web"), "{accepted}");
    assert!(tools(&session.variable("NO_KEY", "k")).0);
}

#[test]
fn mistakes_name_file_line_and_field() {
    let session = session();
    let search = |rest: &str| format!("mode = 'default'\n[web.search]\n{rest}\n");
    for (file, text, words) in [
        (USER, search("url = 'x'\nresults = ''"), "config.toml:3: web.search.url: \"x\" is no address"),
        (
            USER,
            search("results = ''\nurl = 'ftp://x/{query}'"),
            "config.toml:4: web.search.url: must begin with https://",
        ),
        (USER, search("url = 'https://x/'\nresults = ''"), ":3: web.search.url: needs {query}"),
        (USER, search("url = 'https://me:pw@x/{query}'\nresults = ''"), "holds a name or a password"),
        (
            USER,
            search("url = 'http://x/{query}'\nkey_env = 'K'\nresults = ''"),
            "go over the network for all to read",
        ),
        (
            USER,
            search("url = 'https://x/{query}'\nresults = 'web'"),
            ":4: web.search.results: is a JSON pointer",
        ),
        (USER, search("url = 'https://x/{query}'"), "missing field `results`"),
        (
            USER,
            search("url = 'https://x/{query}'\nresults = ''\nkey_header = 'X Y'"),
            ":5: web.search.key_header",
        ),
        (USER, search("url = 'https://x/{query}'\nresults = ''\nkey_header = 'X'"), "needs key_env"),
        (
            USER,
            search("url = 'https://x/{query}'\nresults = ''\nkey_env = 'A B'"),
            "name of an environment variable",
        ),
        (USER, search("url = 'https://x/{query}'\nresults = ''\nkey = 'x'"), "unknown field `key`"),
        (
            PROJECT,
            "[web]\nhttp = true\n".to_owned(),
            "project/.headstart/config.toml:2: web.http: a project cannot say",
        ),
        (
            PROJECT,
            search("url = 'https://x/{query}'\nresults = ''"),
            "config.toml:2: web.search: a project cannot say",
        ),
    ] {
        session.write(USER, "").write(PROJECT, "").write(file, &text);
        let outcome = session.run(&["tools"]);
        assert_eq!(outcome.code, Some(1), "{text} {outcome}");
        assert!(outcome.stderr.contains(words), "{words}: {outcome}");
    }
}
