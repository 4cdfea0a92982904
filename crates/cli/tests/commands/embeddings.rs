//! Holds how models that compare meanings are used: only if the user configures them, without delaying anything, and
//! with the results of a plain search if they fail.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::server::{Request, ScriptedResponse, Server, StreamStep};
use crate::support::{Outcome, Session};

const QUERY: &str = "how do people prove who they are";

/// A project in which only the wrong file contains words of the query.
fn project() -> Session {
    let session = Session::new();
    session
        .write(
            "project/src/auth.rs",
            "/// Compares a password.\npub fn check_login(name: &str) -> bool {\n    true\n}\n",
        )
        .write(
            "project/src/cart.rs",
            "/// What people prove to have put in.\npub fn total() -> u64 {\n    0\n}\n",
        )
        .write("project/.env", "PASSWORD=check_login\n")
        .write("project/private/boss.rs", "pub fn login_of_boss() {}\n");
    session
}

fn configured(session: &Session, lines: &str) {
    session.write(
        "home/.config/headstart/config.toml",
        format!("deny = [\"private/**\"]\n[code-index]\n{lines}"),
    );
}

/// A vector with two directions, one for logins and one for totals. A text that is about neither gets zeros.
fn vector(text: &str) -> [usize; 2] {
    let of_login = text.matches("login").count() + text.matches("who they are").count();
    let of_cart = text.matches("total").count();
    [of_login, of_cart]
}

fn answer(body: &Value) -> ScriptedResponse {
    ScriptedResponse::Whole {
        status: "200 OK",
        headers: "content-type: application/json\r\n",
        body: body.to_string(),
    }
}

fn texts(request: &Request, field: &str) -> Vec<String> {
    serde_json::from_value(request.json()[field].clone()).unwrap()
}

/// A server with both interfaces for vectors and one for judgements.
fn good(request: &Request) -> ScriptedResponse {
    let line = request.head.lines().next().unwrap();
    if line.contains("/api/embed ") {
        let vectors: Vec<_> = texts(request, "input").iter().map(|text| vector(text)).collect();
        return answer(&json!({"embeddings": vectors}));
    }
    if line.contains("/v1/embeddings ") {
        let texts = texts(request, "input");
        let one = |(at, text): (usize, &String)| json!({"index": at, "embedding": vector(text)});
        let data: Vec<Value> = texts.iter().enumerate().rev().map(one).collect();
        return answer(&json!({"data": data}));
    }
    let documents = texts(request, "documents");
    let results: Vec<Value> = documents
        .iter()
        .enumerate()
        .map(|(at, text)| json!({"index": at, "relevance_score": text.matches("login").count()}))
        .collect();
    answer(&json!({"results": results}))
}

fn paths(outcome: &Outcome) -> Vec<String> {
    outcome.json().iter().map(|line| line["path"].as_str().unwrap().to_owned()).collect()
}

fn search(session: &Session, query: &str) -> Outcome {
    let outcome = session.run(&["search", query, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

#[test]
fn vectors_of_a_server_find_what_words_do_not() {
    for (model, path) in [("openai:embed", "/v1"), ("ollama:embed", "")] {
        let (session, server) = (project(), Server::answering(good));
        assert_eq!(paths(&search(&session, QUERY)), ["src/cart.rs"]);
        let url = server.base_url.trim_end_matches("/v1").to_owned() + path;
        configured(&session, &format!("embeddings = \"{model}\"\nembeddings_url = \"{url}\"\n"));
        let session =
            session.variable("HEADSTART_EMBEDDINGS_KEY", "sk-mine").variable("OPENAI_API_KEY", "sk-openai");
        let made = session.run(&["index"]);
        assert!(made.stdout.contains("2 of 2 chunks have vectors of"), "{made}");
        let outcome = search(&session, QUERY);
        assert_eq!(paths(&outcome), ["src/cart.rs", "src/auth.rs"]);
        let why = &outcome.json()[1]["why"];
        assert_eq!(why[0]["field"], "vectors", "{outcome}");
        // Nothing of closed files was sent, and no key of another provider.
        let sent = format!("{:?}", server.requests());
        assert!(
            sent.contains("check_login") && !sent.contains("boss") && !sent.contains("PASSWORD"),
            "{sent}"
        );
        assert!(!sent.contains("sk-openai"), "{sent}");
        assert_eq!(
            sent.contains("authorization:Bearer sk-mine") || sent.contains("authorization: Bearer sk-mine"),
            model.starts_with("openai"),
            "{sent}"
        );
        // Only new content is sent again.
        let before = server.requests().len();
        session.write("project/src/new.rs", "/// Another login.\npub fn again() {}\n");
        session.run(&["index"]);
        let asked: Vec<Request> = server.requests().split_off(before);
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(texts(&asked[0], "input"), ["src/new.rs\n/// Another login.\npub fn again() {}"]);
    }
}

#[test]
fn a_query_for_a_name_is_sent_nowhere() {
    let (session, server) = (project(), Server::answering(good));
    let url = &server.base_url;
    configured(
        &session,
        &format!(
            "embeddings = \"openai:e\"\nembeddings_url = \"{url}\"\nrerank = \"r\"\nrerank_url = \"{url}\"\n"
        ),
    );
    session.run(&["index"]);
    let before = server.requests().len();
    assert_eq!(
        paths(&search(&session, "where in all of this code is check_login defined, and what for"))[0],
        "src/auth.rs"
    );
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_judge_puts_the_best_first_and_a_bad_one_changes_nothing() {
    let query = "what people prove to have put in, and how they show it to others";
    let session = project();
    session.write("project/src/door.rs", "/// People prove by a login login login.\npub fn door() {}\n");
    let plain = paths(&search(&session, query));
    assert_eq!(plain[0], "src/cart.rs");
    let with = |server: &Server| {
        configured(&session, &format!("rerank = \"judge\"\nrerank_url = \"{}\"\n", server.base_url));
        search(&session, query)
    };
    let server = Server::answering(good);
    let judged = paths(&with(&server));
    assert_eq!(judged[0], "src/door.rs");
    assert_eq!(judged.len(), plain.len());
    assert!(server.requests()[0].head.starts_with("POST /v1/rerank "), "{:?}", server.requests());
    // The words of a short query are clear enough, so no judge is asked.
    search(&session, "people prove");
    assert_eq!(server.requests().len(), 1);
    let wrong = |body: &'static str| move |_: &Request| answer(&serde_json::from_str(body).unwrap());
    let servers = [
        (Server::answering(wrong(r#"{"results": []}"#)), "0 answers to"),
        (Server::answering(wrong(r#"{"results": [{"index": 7, "relevance_score": 1}]}"#)), "1 answers to"),
        (Server::answering(wrong(r#"{"results": [{"index": 0, "relevance_score": "x"}]}"#)), "not a ranking"),
        (Server::start(vec![]), "the script of the test is over"),
        (
            Server::answering(|_| ScriptedResponse::Stream(vec![StreamStep::Wait(Duration::from_secs(20))])),
            "no answer within 1.5 s",
        ),
    ];
    for (server, expected) in &servers {
        let outcome = with(server);
        assert_eq!(paths(&outcome), plain, "{outcome}");
        assert!(
            outcome.stderr.contains("in the order of its words") && outcome.stderr.contains(expected),
            "{expected}: {outcome}"
        );
    }
}

#[test]
fn bad_answers_to_a_query_are_told_once_and_words_are_compared() {
    let huge = format!("[{}1]", "1,".repeat(5_000));
    let cases: Vec<(String, &str)> = vec![
        (r#"{"data": [{"embedding": [1, 2, 3]}]}"#.to_owned(), "of 3 numbers, and of 2 before"),
        (r#"{"data": [{"embedding": [1e999, 1]}]}"#.to_owned(), "not vectors"),
        (r#"{"data": [{"embedding": [NaN, 1]}]}"#.to_owned(), "not vectors"),
        (r#"{"data": [{"embedding": [null, 1]}]}"#.to_owned(), "not vectors"),
        (r#"{"data": []}"#.to_owned(), "0 answers to 1 texts"),
        (format!("{{\"data\": [{{\"embedding\": {huge}}}]}}"), "5001 numbers"),
        ("{".to_owned(), "not vectors"),
        (format!("{{\"data\": \"{}\"}}", "x".repeat(17 << 20)), "an answer of more than"),
    ];
    for (body, expected) in cases {
        let (session, outcome) = (project(), body.clone());
        let server = Server::answering(move |request| {
            if request.body.contains(QUERY) {
                return ScriptedResponse::Whole {
                    status: "200 OK",
                    headers: "content-type: application/json\r\n",
                    body: outcome.clone(),
                };
            }
            good(request)
        });
        configured(
            &session,
            &format!("embeddings = \"openai:e\"\nembeddings_url = \"{}\"\n", server.base_url),
        );
        session.run(&["index"]);
        let outcome = search(&session, QUERY);
        assert_eq!(paths(&outcome), ["src/cart.rs"], "{expected}: {outcome}");
        assert_eq!(
            outcome.stderr.matches("searches compare words alone").count(),
            1,
            "{expected}: {outcome}"
        );
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome}");
    }
}

#[test]
fn a_server_that_is_down_slow_or_busy_is_told_once() {
    let busy = || {
        Server::answering(|_| ScriptedResponse::Whole {
            status: "429 Too Many Requests",
            headers: "retry-after: 7\r\n",
            body: r#"{"error": {"message": "slow down"}}"#.to_owned(),
        })
    };
    let slow =
        || Server::answering(|_| ScriptedResponse::Stream(vec![StreamStep::Wait(Duration::from_secs(20))]));
    let refused = || {
        Server::answering(|_| ScriptedResponse::Whole {
            status: "401 Unauthorized",
            headers: "",
            body: r#"{"error": {"message": "no such key"}}"#.to_owned(),
        })
    };
    let moved = || {
        Server::answering(|_| ScriptedResponse::Whole {
            status: "307 Temporary Redirect",
            headers: "location: http://192.0.2.1/v1/embeddings\r\n",
            body: String::new(),
        })
    };
    let down = "http://127.0.0.1:1/v1".to_owned();
    let cases = [
        (Some(busy()), "retry after 7 s", true),
        (Some(slow()), "no answer within 1.5 s", false),
        (Some(refused()), "set HEADSTART_EMBEDDINGS_KEY to a valid key", true),
        (Some(moved()), "a redirect (307)", true),
        (None, "cannot reach http://127.0.0.1:1/v1/embeddings", true),
    ];
    for (server, expected, also_by_index) in &cases {
        let session = project();
        let url = server.as_ref().map_or(&down, |server| &server.base_url);
        configured(&session, &format!("embeddings = \"openai:e\"\nembeddings_url = \"{url}\"\n"));
        let outcome = search(&session, QUERY);
        assert_eq!(paths(&outcome), ["src/cart.rs"], "{expected}: {outcome}");
        assert_eq!(
            outcome.stderr.matches("searches compare words alone").count(),
            1,
            "{expected}: {outcome}"
        );
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome}");
        if *also_by_index {
            let outcome = session.run(&["index"]);
            assert_eq!(outcome.code, Some(0), "{outcome}");
            assert!(
                outcome.stderr.contains(expected) && outcome.stdout.contains("2 files"),
                "{expected}: {outcome}"
            );
        }
    }
}

#[test]
fn texts_that_are_too_long_are_cut_and_others_go_on() {
    let session = project();
    session.write("project/src/long.rs", format!("// {}\n", "login ".repeat(15)).repeat(14));
    let server = Server::answering(|request| {
        if texts(request, "input").iter().any(|text| 1_000 < text.len()) {
            let body = r#"{"error": {"message": "input is too long"}}"#.to_owned();
            return ScriptedResponse::Whole { status: "400 Bad Request", headers: "", body };
        }
        good(request)
    });
    configured(&session, &format!("embeddings = \"openai:e\"\nembeddings_url = \"{}\"\n", server.base_url));
    let made = session.run(&["index"]);
    assert!(made.stdout.contains("3 of 3 chunks have vectors") && made.stderr.is_empty(), "{made}");
    assert!(paths(&search(&session, QUERY)).contains(&"src/long.rs".to_owned()));
}

#[test]
fn a_project_chooses_no_model() {
    let session = project();
    let cases = [
        "embeddings = \"openai:e\"",
        "embeddings_url = \"http://127.0.0.1:1/v1\"",
        "rerank = \"r\"",
        "rerank_url = \"http://127.0.0.1:1/v1\"",
    ];
    for line in cases {
        session.write("project/.headstart/config.toml", format!("[code-index]\nenabled = true\n{line}\n"));
        let outcome = session.run(&["search", "login"]);
        let field = line.split(' ').next().unwrap();
        let told =
            format!("config.toml:3: code-index.{field}: a project cannot choose where its text is sent");
        assert!(outcome.stderr.contains(&told) && outcome.code == Some(1), "{outcome}");
    }
}

#[test]
fn a_setting_that_makes_no_sense_is_told_with_its_line() {
    let session = project();
    let cases = [
        ("embeddings = \"mini\"", "code-index.embeddings: \"mini\" names no model; use openai:NAME"),
        ("embeddings = \"openai:\"", "names no model"),
        ("embeddings = \"gemini:x\"", "use openai:NAME or ollama:NAME"),
        ("embeddings_url = \"http://h/v1\"", "needs code-index.embeddings"),
        ("embeddings = \"openai:e\"\nembeddings_url = \"h\"", "is no base URL"),
        ("rerank = \"r\"", "needs rerank_url"),
        ("rerank_url = \"http://h/v1\"", "needs code-index.rerank"),
        ("rerank = 3", "has to be a text in quotes, not 3"),
    ];
    for (lines, expected) in cases {
        configured(&session, &format!("{lines}\n"));
        let outcome = session.run(&["search", "login"]);
        assert!(
            outcome.stderr.contains(expected) && outcome.stderr.contains("config.toml:"),
            "{lines}: {outcome}"
        );
    }
    configured(&session, "embeddings = \"openai:e\"\n");
    let outcome = session.run(&["search", "login"]);
    assert!(outcome.stderr.contains("there is no key; set OPENAI_API_KEY to one"), "{outcome}");
}

#[test]
fn work_ahead_sends_no_query_to_another_machine_and_a_turn_does() {
    // A proxy in the environment stands for the other machine: a request that reaches the proxy has left this machine.
    let server = Server::answering(good);
    let proxy = server.base_url.trim_end_matches("/v1").to_owned();
    let mut session = project().variable("HTTP_PROXY", &proxy).variable("http_proxy", &proxy);
    configured(
        &session,
        "embeddings = \"openai:e\"\nembeddings_url = \"http://vectors.example/v1\"\nrerank = \"r\"\n\
         rerank_url = \"http://judge.example/v1\"\n",
    );
    let query = format!("{QUERY}, and what else is there to be said of it");
    session.run(&["index"]);
    let head = &server.requests()[0].head;
    assert!(head.to_uppercase().starts_with("POST HTTP://VECTORS.EXAMPLE/V1/EMBEDDINGS "), "{head}");
    let call = json!({"name": "codebase", "args": {"query": query}});
    let recording = json!({"turns": [{"toolCalls": [call]}, {"text": "Done."}]});
    let outcome = session.speculate(&recording, "default").0;
    assert!(outcome.stdout.contains("src/cart.rs"), "{outcome}");
    let of_query =
        |server: &Server| server.requests().iter().filter(|request| request.body.contains(&query)).count();
    assert_eq!(of_query(&server), 0, "{:?}", server.requests());
    // The same call in a turn of the user does send the query.
    session.write("recording.json", recording.to_string());
    let model = format!("replay:{}", session.workspace().join("../recording.json").display());
    let turn = session.run_with_input(&["chat", "--json", "--model", &model], "go\n");
    assert!(turn.stdout.contains("src/auth.rs"), "{turn}");
    assert_eq!(of_query(&server), 2, "{:?}", server.requests());
}
