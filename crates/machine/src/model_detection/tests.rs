use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Instant;

use super::*;
use crate::config::Config;

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(50);

fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Starts a server on a free port that answers each request with `body`, or never answers without one. Returns its
/// place.
fn server(is_ollama: bool, body: Option<&'static str>) -> ServerAddress {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://localhost:{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let Some(body) = body else {
                std::thread::sleep(Duration::from_secs(600));
                continue;
            };
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    ServerAddress { name: "a server", is_ollama, address }
}

#[tokio::test]
async fn a_server_that_lists_a_model_is_told_with_the_line_to_type() {
    let tags = r#"{"models":[{"name":"nomic-embed-text:latest"},{"name":"qwen3:8b"},{"name":"llama3.3"}]}"#;
    let places = [
        server(true, Some(tags)),
        server(false, Some(r#"{"object":"list","data":[{"id":"Qwen/Qwen3-8B"}]}"#)),
    ];
    let addresses = places.each_ref().map(|place| place.address.clone());
    let seen = DetectedModels { servers: responding_servers(&places, LONG).await, keys: Vec::new() };
    let lines: Vec<_> = seen.hints().into_iter().map(|hint| hint.line).collect();
    let expected = [
        format!("headstart chat --model ollama:qwen3:8b --base-url {}", addresses[0]),
        format!("headstart chat --model openai:Qwen/Qwen3-8B --base-url {}/v1", addresses[1]),
    ];
    assert_eq!(lines, expected);
    let usual = ServerAddress { address: Service::ollama().base_url, ..places[0].clone() };
    let hint = DetectedServer { place: usual, model: "qwen3:8b".to_owned() }.hint();
    assert_eq!(hint.line, "headstart chat --model ollama:qwen3:8b");
    assert_eq!(hint.why, "a server answers on localhost:11434");
}

#[tokio::test]
async fn what_lists_no_model_is_none() {
    let answers = [
        "<html>It works!</html>",
        r#"{"data":[]}"#,
        r#"{"data":[{"id":7}]}"#,
        r#"{"data":[{"id":""}]}"#,
        r#"{"data":[{"id":"x; rm -rf ~"}]}"#,
        "{\"data\":[{\"id\":\"x\\u001b[2J\"}]}",
        r#"{"data":[{"id":"text-embedding-3"}]}"#,
    ];
    for answer in answers {
        assert_eq!(responding_servers(&[server(false, Some(answer))], LONG).await, [], "{answer}");
    }
}

#[tokio::test]
async fn nobody_waits_long_for_servers_that_are_silent_or_not_there() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let absent = ServerAddress { address: format!("http://localhost:{free}"), ..server(true, None) };
    let list = r#"{"data":[{"id":"quick"}]}"#;
    let silent = std::iter::repeat_with(|| server(false, None)).take(50);
    let places: Vec<_> = [absent, server(false, Some(list))].into_iter().chain(silent).collect();
    let started = Instant::now();
    let found = responding_servers(&places, Duration::from_secs(2)).await;
    // The servers are asked in parallel; in sequence the silent ones would take 100 s.
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    assert_eq!(found.iter().map(|server| server.model.as_str()).collect::<Vec<_>>(), ["quick"]);
}

#[test]
fn keys_are_told_by_their_variables_and_never_by_their_values() {
    let environment = environment(&[
        ("OPENAI_API_KEY", "sk-secret-1"),
        ("GOOGLE_API_KEY", "secret-2"),
        ("ANTHROPIC_API_KEY", ""),
    ]);
    let seen = DetectedModels { servers: Vec::new(), keys: keys(&environment) };
    let told: Vec<_> = seen.hints().into_iter().map(|hint| format!("{} {}", hint.line, hint.why)).collect();
    let expected = [
        "headstart chat --model openai:gpt-5.4 OPENAI_API_KEY is set",
        "headstart chat --model gemini:gemini-3.5-flash GOOGLE_API_KEY is set",
    ];
    assert_eq!(told, expected);
    assert!(!format!("{seen:?}").contains("secret"));
}

#[test]
fn the_models_to_begin_with_have_a_price() {
    for (provider, name) in EXAMPLES {
        let spec = format!("{provider}:{name}");
        let config = Config { model: Some(spec.parse().unwrap()), ..Config::default() };
        assert!(config.prices().get(&spec).is_some(), "{spec}");
    }
}

#[test]
fn ollama_is_looked_for_where_it_says_it_listens_if_that_is_this_machine() {
    let cases = [
        ("127.0.0.1:11500", Some("http://localhost:11500")),
        ("http://localhost:8", Some("http://localhost:8")),
        ("0.0.0.0", Some("http://localhost:11434")),
        ("http://192.168.1.5:11434", None),
        ("https://localhost:1", None),
        ("evil.example:80", None),
        ("localhost.evil.example", None),
        (":", None),
    ];
    for (host, expected) in cases {
        assert_eq!(ollama_address(host).as_deref(), expected, "{host}");
        let first = places(&environment(&[("OLLAMA_HOST", host)])).remove(0).address;
        assert_eq!(first, expected.unwrap_or("http://localhost:11434"));
    }
}
