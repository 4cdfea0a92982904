//! Holds the times and sizes that `docs/acp.md` states.

use std::time::{Duration, Instant};

use serde_json::json;

use super::User;
use crate::client::{Client, is_update};

/// Measures the time from the prompt that takes finished work to its answer, because this is how long the user waits.
#[test]
fn finished_work_is_handed_over_at_once() {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..5 {
        let write = json!({ "file_path": "tests.txt", "content": "a test\n" });
        let user = User::with_suggestion().turn(400, "", Some(("write_file", write)));
        let user = user.turn(400, "Tests are there.", None);
        let mut client = user.client("auto-edit");
        let session = client.open(&user.session);
        client.said(&session, "begin");
        client.suggested("add tests", Some("ready"));
        let began = Instant::now();
        assert_eq!(client.said(&session, "/next"), "end_turn");
        times.push(began.elapsed());
        assert!(user.read("tests.txt").is_some());
    }
    times.sort();
    println!("from the prompt to its answer: {times:?}");
    // This takes ten milliseconds on an idle machine. Asking the model again would take 800.
    assert!(times[0] < Duration::from_millis(300), "{times:?}");
}

#[test]
fn a_long_session_is_told_again_in_order() {
    const PROMPTS: usize = 250;
    let user = (0..PROMPTS).fold(User::new(), |user, number| user.says(&format!("Answer {number}.")));
    user.session.write("home/.config/headstart/config.toml", "suggestions = false\n");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let mut expected = Vec::new();
    for number in 0..PROMPTS {
        let prompt = format!("prompt {number}");
        assert_eq!(client.said(&session, &prompt), "end_turn");
        expected.extend([prompt, format!("Answer {number}.")]);
    }
    client.end();
    let mut client = user.client("default");
    let cwd = user.session.workspace().canonicalize().unwrap();
    let began = Instant::now();
    let answer =
        client.request("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    println!("{} messages loaded in {:?}", expected.len(), began.elapsed());
    assert!(answer.get("error").is_none(), "{answer}");
    assert_eq!(update_texts(&client), expected);
}

fn update_texts(client: &Client) -> Vec<String> {
    let messages = client.log.iter().map(|(_, message)| message);
    let messages = messages.filter(|message| {
        is_update(message, "user_message_chunk") || is_update(message, "agent_message_chunk")
    });
    messages
        .map(|message| message["params"]["update"]["content"]["text"].as_str().unwrap().to_owned())
        .collect()
}
