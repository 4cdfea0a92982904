//! Holds how `headstart evaluate` reads sessions of five products and compares their prompts with the guesses of a
//! scripted model.

#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

mod products;
mod story;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::server::{ScriptedResponse, Server, says};
use crate::support::{Outcome, Session, recorded, transcript};
use story::{Format, STORY, lines};

/// A user with the story in a file of a product, at the place where the product keeps such files.
fn user(format: Format) -> Session {
    let session = Session::new();
    session.write(format.place(), lines(format, &STORY));
    session
}

/// Evaluates everything in the home, with a model that gives these guesses in order.
fn evaluate(session: &Session, suggestions: &[Value], more: &[&str]) -> Outcome {
    let model = session.recording(&json!({ "suggestions": suggestions }));
    let folder = session.home().display().to_string();
    session.run(&[&["evaluate", &folder, "--model", &model], more].concat())
}

fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// One guess for each prompt of the story about which the model is asked.
fn guesses() -> Vec<Value> {
    let usage = json!({ "inputTokens": 9_000, "cachedInputTokens": 3_000, "outputTokens": 12 });
    let guess = |text: &str| json!({ "text": text, "usage": usage });
    ["run the tests", "Commit this!", "push it", "yes, go on"].map(guess).to_vec()
}

#[test]
fn one_story_has_the_same_figures_in_the_files_of_every_product() {
    let mut all = Vec::new();
    for format in Format::ALL {
        let session = user(format);
        let outcome = evaluate(&session, &guesses(), &["--yes", "--json", "--show"]);
        assert_eq!(outcome.code, Some(0), "{format:?} {outcome}");
        let lines = outcome.json();
        assert_eq!(of_type(&lines, "file")[0]["product"], format.name(), "{outcome}");
        assert_eq!(of_type(&lines, "damaged").len() + of_type(&lines, "skipped").len(), 0, "{outcome}");
        let told: Vec<_> = of_type(&lines, "prompt")
            .into_iter()
            .map(|line| {
                let mut line = line.clone();
                assert!(line["tookMs"].is_u64() && line["place"].as_u64() > Some(0), "{line}");
                for of_file in ["file", "place", "tookMs"] {
                    line.as_object_mut().unwrap().remove(of_file);
                }
                line
            })
            .collect();
        let total = of_type(&lines, "total")[0];
        // The prompts are the same in every file. Only the number of turns whose cost is known may differ, because not
        // every product writes costs.
        assert_eq!(total["runsInVainKnown"], if format.tells_costs() { 2 } else { 0 }, "{format:?} {total}");
        all.push((format, told));
    }
    insta::assert_json_snapshot!(all[0].1);
    for (format, told) in &all[1..] {
        assert_eq!(told, &all[0].1, "{format:?}");
    }
}

#[test]
fn a_person_reads_how_often_and_what_for() {
    let session = user(Format::ClaudeCode);
    session.write("home/.claude/settings.json", "{\"theme\":\"dark\"}");
    let model = session.recording(&json!({ "suggestions": [] }));
    session.write(
        "home/.config/headstart/config.toml",
        format!("[models.{model:?}.prices]\ninput = 3.0\ncached = 0.3\noutput = 15.0\n"),
    );
    let told = [
        evaluate(&session, &guesses(), &["--yes"]),
        evaluate(&session, &guesses(), &["--yes", "--show", "--limit", "2"]),
        evaluate(&session, &guesses(), &["--dry-run"]),
    ];
    for outcome in &told {
        let words = outcome.stdout.lines().filter(|line| !line.contains("replay:"));
        for line in words {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
    let shown = without_estimate(&transcript(&told[..1]));
    recorded("evaluate.md", &shown);
    insta::assert_snapshot!(without_estimate(&transcript(&told)));
}

/// Removes the upper estimate of what a question costs, because it changes with each word in the description of a tool.
fn without_estimate(text: &str) -> String {
    let number = |text: &str| text.chars().take_while(|c| c.is_ascii_digit() || ",.$".contains(*c)).count();
    let mut pieces = text.split("at most about ");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown += "at most about [N]";
        shown += &piece[number(piece)..];
    }
    shown
}

#[test]
fn a_program_reads_every_figure() {
    let session = user(Format::Codex);
    session.write(
        "home/.codex/sessions/torn.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{}}\n{\"type\":\n{\"ty",
    );
    session.write("home/.codex/other.json", "{\"a\":1}");
    let outcome = evaluate(&session, &guesses(), &["--yes", "--json"]);
    let text: Vec<_> = outcome.json().iter().map(without_machine).collect();
    insta::assert_snapshot!(session.redact(&text.join("\n")), @r#"
    {"type":"file","file":"/home/.codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-0a1b.jsonl","product":"codex"}
    {"type":"file","file":"/home/.codex/sessions/torn.jsonl","product":"codex"}
    {"type":"skipped","file":"/home/.codex/other.json","reason":"holds no session of a format that is known here"}
    {"type":"damaged","file":"/home/.codex/sessions/torn.jsonl","line":2,"message":"EOF while parsing a value at column 8"}
    {"type":"damaged","file":"/home/.codex/sessions/torn.jsonl","line":3,"message":"has no end: whoever wrote it was stopped"}
    {"type":"found","files":2,"prompts":5,"afterATurn":4}
    {"type":"plan","requests":4,"tooEarly":0,"model":"replay:/recording.json","candidates":3,"mostInputTokens":0,"mostOutputTokens":1200,"mostMoney":0.0}
    {"type":"prompt","file":"/home/.codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-0a1b.jsonl","place":16,"at":[TIME],"kind":"verify","match":"exact","candidate":0,"suppressed":null,"waitedMs":60000,"turnMs":40000,"aheadMs":40000,"tookMs":0,"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12}
    {"type":"prompt","file":"/home/.codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-0a1b.jsonl","place":20,"at":[TIME],"kind":"commit","match":"same","candidate":0,"suppressed":null,"waitedMs":90000,"turnMs":20000,"aheadMs":20000,"tookMs":0,"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12}
    {"type":"prompt","file":"/home/.codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-0a1b.jsonl","place":24,"at":[TIME],"kind":"explain","match":"none","candidate":null,"suppressed":null,"waitedMs":7200000,"turnMs":12000,"aheadMs":12000,"tookMs":0,"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12}
    {"type":"prompt","file":"/home/.codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-0a1b.jsonl","place":28,"at":[TIME],"kind":"goOn","match":"words","candidate":0,"suppressed":null,"waitedMs":60000,"turnMs":35000,"aheadMs":35000,"tookMs":0,"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12}
    {"type":"kind","kind":"verify","prompts":1,"shown":1,"exact":1,"same":0,"start":0,"words":0,"hitRate":1.0,"hitRateAtMost":1.0,"savedMs":40000,"savedAtMostMs":40000,"turnsMs":40000,"timed":1,"suppressed":{},"asking":{"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12,"money":0.0},"askingInChat":{"inputTokens":9000,"cachedInputTokens":8400,"outputTokens":12,"money":0.0},"runsInVain":0,"runsInVainKnown":0,"inVain":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"money":0.0}}
    {"type":"kind","kind":"commit","prompts":1,"shown":1,"exact":0,"same":1,"start":0,"words":0,"hitRate":1.0,"hitRateAtMost":1.0,"savedMs":20000,"savedAtMostMs":20000,"turnsMs":20000,"timed":1,"suppressed":{},"asking":{"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12,"money":0.0},"askingInChat":{"inputTokens":9000,"cachedInputTokens":8400,"outputTokens":12,"money":0.0},"runsInVain":0,"runsInVainKnown":0,"inVain":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"money":0.0}}
    {"type":"kind","kind":"explain","prompts":1,"shown":1,"exact":0,"same":0,"start":0,"words":0,"hitRate":0.0,"hitRateAtMost":0.0,"savedMs":0,"savedAtMostMs":0,"turnsMs":12000,"timed":1,"suppressed":{},"asking":{"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12,"money":0.0},"askingInChat":{"inputTokens":9000,"cachedInputTokens":8400,"outputTokens":12,"money":0.0},"runsInVain":1,"runsInVainKnown":1,"inVain":{"inputTokens":930,"cachedInputTokens":900,"outputTokens":5,"money":0.0}}
    {"type":"kind","kind":"goOn","prompts":1,"shown":1,"exact":0,"same":0,"start":0,"words":1,"hitRate":0.0,"hitRateAtMost":1.0,"savedMs":0,"savedAtMostMs":35000,"turnsMs":35000,"timed":1,"suppressed":{},"asking":{"inputTokens":9000,"cachedInputTokens":3000,"outputTokens":12,"money":0.0},"askingInChat":{"inputTokens":9000,"cachedInputTokens":8400,"outputTokens":12,"money":0.0},"runsInVain":1,"runsInVainKnown":1,"inVain":{"inputTokens":930,"cachedInputTokens":900,"outputTokens":5,"money":0.0}}
    {"type":"total","failed":0,"prompts":4,"shown":4,"exact":1,"same":1,"start":0,"words":1,"hitRate":0.5,"hitRateAtMost":0.75,"savedMs":60000,"savedAtMostMs":95000,"turnsMs":107000,"timed":4,"suppressed":{},"asking":{"inputTokens":36000,"cachedInputTokens":12000,"outputTokens":48,"money":0.0},"askingInChat":{"inputTokens":36000,"cachedInputTokens":33600,"outputTokens":48,"money":0.0},"runsInVain":2,"runsInVainKnown":2,"inVain":{"inputTokens":1860,"cachedInputTokens":1800,"outputTokens":10,"money":0.0}}
    "#);
}

/// The line with the time of the question and its upper estimate set to zero, because both depend on the machine or the
/// tools.
fn without_machine(line: &Value) -> String {
    let mut line = line.clone();
    for field in ["tookMs", "mostInputTokens"] {
        if let Some(number) = line.get_mut(field) {
            *number = 0.into();
        }
    }
    line.to_string()
}

#[test]
fn nothing_is_sent_without_a_yes_and_nothing_of_the_contents_is_printed() {
    let request_count = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&request_count);
    let server = Server::answering(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        says("{\"suggestion\":\"frobnicate it\"}")
    });
    let session = user(Format::ClaudeCode).variable("OPENAI_API_KEY", "none");
    let folder = session.home().display().to_string();
    let with = |more: &[&str]| {
        let model = ["evaluate", &folder, "--model", "openai:m", "--base-url", &server.base_url];
        session.run(&[&model[..], more].concat())
    };
    with(&[]).assert_refused(1, &["--yes"]);
    with(&["--json"]).assert_refused(1, &["--yes"]);
    let counted = with(&["--dry-run"]);
    assert!(counted.stdout.contains("4 requests to openai:m"), "{counted}");
    assert_eq!(request_count.load(Ordering::SeqCst), 0);
    let told = [with(&["--yes"]), with(&["--yes", "--json"])];
    assert_eq!(request_count.load(Ordering::SeqCst), 8);
    for outcome in &told {
        assert_eq!(outcome.code, Some(0), "{outcome}");
        for word in ["frobnicate", "run the tests", "commit this", "Two files", "cat a.txt"] {
            assert!(!outcome.stdout.contains(word) && !outcome.stderr.contains(word), "{word}: {outcome}");
        }
    }
    assert!(
        !session.home().join(".local/state/headstart/ledgers").exists(),
        "it is no work ahead of this project's"
    );
    // The model is sent the conversation up to the answer that its user had read. Secrets are scrubbed.
    let requests = server.requests();
    let first = requests[0].json();
    let messages = first["messages"].as_array().unwrap();
    let text = first.to_string();
    assert!(text.contains("Two files are there.") && text.contains("cat a.txt"), "{text}");
    let of_tools: Vec<_> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert!(of_tools[1]["content"] == "[scrubbed]", "{of_tools:?}");
    assert!(!messages[1..6].iter().any(|message| message.to_string().contains("run the tests")), "{text}");
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "user"], "{text}");
    let ids: Vec<_> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["call-1", "call-2"], "{text}");
}

#[test]
fn prices_say_what_it_costs_at_most_and_what_it_did() {
    let server = Server::answering(|_| says("{\"suggestion\":\"run the tests\"}"));
    let session = user(Format::ClaudeCode).variable("OPENAI_API_KEY", "none");
    session.write(
        "home/.config/headstart/config.toml",
        "[models.\"openai:m\".prices]\ninput = 1000.0\ncached = 100.0\noutput = 5000.0\n",
    );
    let folder = session.home().display().to_string();
    let outcome = session.run(&[
        "evaluate",
        &folder,
        "--model",
        "openai:m",
        "--base-url",
        &server.base_url,
        "--yes",
        "--json",
    ]);
    let lines = outcome.json();
    let (plan, total) = (of_type(&lines, "plan")[0], of_type(&lines, "total")[0]);
    // Each of the four answers reads 100 tokens, 80 of them cached, and writes 10.
    assert_eq!(total["asking"]["inputTokens"], 400, "{total}");
    assert_eq!(total["asking"]["money"].as_f64(), Some(4.0 * (0.02 + 0.008 + 0.05)), "{total}");
    let (most, spent) = (plan["mostMoney"].as_f64().unwrap(), total["asking"]["money"].as_f64().unwrap());
    assert!(spent < most, "{plan} {total}");
}

#[test]
fn a_model_that_fails_again_and_again_is_left_alone() {
    let refuses = || ScriptedResponse::Whole {
        status: "400 Bad Request",
        headers: "",
        body: r#"{"error":{"message":"no such model"}}"#.to_owned(),
    };
    let request_count = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&request_count);
    let server = Server::answering(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => says("{\"suggestion\":\"run the tests\"}"),
        _ => refuses(),
    });
    let session = user(Format::Codex).variable("OPENAI_API_KEY", "none");
    let folder = session.home().display().to_string();
    let arguments = ["evaluate", &folder, "--model", "openai:m", "--base-url", &server.base_url, "--yes"];
    // The results of the questions before the failures are shown.
    let partly = session.run(&arguments);
    partly.assert_refused(1, &["not all could be asked", "no such model"]);
    assert!(partly.stdout.contains("1 of 1 suggested"), "{partly}");
    assert_eq!(request_count.load(Ordering::SeqCst), 4, "three failures in a row are enough");
    session.run(&arguments).assert_refused(1, &["no such model"]);
}

#[test]
fn what_cannot_be_read_is_named_and_costs_nothing_else() {
    let session = user(Format::QwenCode);
    let text = lines(Format::QwenCode, &STORY);
    // A line in the middle of the file is damaged, and the last line lacks its end.
    let mut torn: Vec<_> = text.lines().map(str::to_owned).collect();
    torn[1] = "{\"uuid\":".to_owned();
    let last = torn.pop().unwrap();
    torn.push(last[..last.len() / 2].to_owned());
    session.write(Format::QwenCode.place(), torn.join("\n"));
    session.write("home/.qwen/projects/p/chats/empty.jsonl", "");
    session.write("home/.qwen/projects/p/chats/bytes.jsonl", [0xff, 0xfe, b'{']);
    session.write("home/.qwen/projects/p/chats/list.json", "[1, 2]");
    session.write("home/.qwen/projects/p/chats/notes.md", "no session by its name");
    std::os::unix::fs::symlink("..", session.home().join(".qwen/projects/p/up")).unwrap();
    let outcome = evaluate(&session, &guesses(), &["--dry-run"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    insta::assert_snapshot!(without_estimate(&outcome.to_string()), @r#"
    $ headstart evaluate /home --model replay:/recording.json --dry-run
    1 session file (1 of Qwen Code): 5 prompts, 4 of them after a finished turn
    4 requests to replay:/recording.json, up to 3 suggestions each:
    at most about [N] tokens read and 1,200 written, which cost nothing
    [stderr] skipped: /home/.qwen/projects/p/chats/bytes.jsonl: holds no session of a format that is known here
    [stderr] skipped: /home/.qwen/projects/p/chats/empty.jsonl: holds no session of a format that is known here
    [stderr] skipped: /home/.qwen/projects/p/chats/list.json: holds no session of a format that is known here
    [stderr] left out: /home/.qwen/projects/-p/chats/0a1b.jsonl:2: EOF while parsing a value at column 8
    [stderr] left out: /home/.qwen/projects/-p/chats/0a1b.jsonl:18: has no end: whoever wrote it was stopped
    [exit 0]
    "#);
    let folder = session.home().join(".qwen/projects/p/chats/list.json").display().to_string();
    session.run(&["evaluate", &folder]).assert_refused(1, &["list.json", "there is no session"]);
    session.run(&["evaluate", "nowhere"]).assert_refused(1, &["cannot read nowhere"]);
    session.run(&["evaluate"]).assert_refused(2, &["FILE"]);
}

#[test]
fn a_damaged_character_costs_its_line_alone() {
    let torn_in = |place: usize, end: &str| {
        let session = user(Format::ClaudeCode);
        let mut all = lines(Format::ClaudeCode, &STORY).into_bytes();
        let position = if place == 0 { 0 } else { all.len() };
        // The first byte of a character that has two.
        let torn = [b"{\"type\":\"user\",\"x\":\"\xc3", end.as_bytes()].concat();
        all.splice(position..position, torn);
        session.write(Format::ClaudeCode.place(), all);
        evaluate(&session, &guesses(), &["--dry-run", "--json"])
    };
    for (place, end, says) in [(0, "\"}\n", "at column"), (1, "\"}\n", "at column"), (1, "", "has no end")] {
        let outcome = torn_in(place, end);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let lines = outcome.json();
        assert_eq!(of_type(&lines, "skipped").len(), 0, "{outcome}");
        let damaged = of_type(&lines, "damaged");
        assert_eq!(damaged.len(), 1, "{outcome}");
        assert_eq!(damaged[0]["line"] == 1, place == 0, "{outcome}");
        assert!(damaged[0]["message"].as_str().unwrap().contains(says), "{outcome}");
        assert_eq!(of_type(&lines, "found")[0]["prompts"], 5, "{outcome}");
    }
}

#[test]
fn what_a_user_took_back_is_not_in_the_conversation_that_the_model_is_asked_about() {
    let server = Server::answering(|_| says("{\"suggestion\":\"run the tests\"}"));
    for format in [Format::ClaudeCode, Format::QwenCode, Format::Codex, Format::GeminiCli] {
        let session = Session::new().variable("OPENAI_API_KEY", "none");
        session.write(format.place(), story::taken_back(format));
        let folder = session.home().display().to_string();
        let before = server.requests().len();
        let outcome = session.run(&[
            "evaluate",
            &folder,
            "--model",
            "openai:m",
            "--base-url",
            &server.base_url,
            "--yes",
        ]);
        assert_eq!(outcome.code, Some(0), "{format:?} {outcome}");
        let last = server.requests().split_off(before).pop().unwrap().body;
        assert!(last.contains("look at the files") && !last.contains("a slip of mine"), "{format:?} {last}");
    }
}

#[test]
fn nobody_saves_more_than_the_time_for_which_they_thought() {
    let session = Session::new();
    session.write(
        Format::Codex.place(),
        lines(Format::Codex, &[("look at the files", 0, 5), ("run the tests", 10, 40)]),
    );
    let outcome = evaluate(&session, &guesses(), &["--yes", "--json"]);
    let total = of_type(&outcome.json(), "total")[0].clone();
    assert_eq!(total["turnsMs"], 40_000, "{outcome}");
    // The saving is at most the ten seconds for which the user thought, less the time that the suggestion took.
    let saved = total["savedMs"].as_u64().unwrap();
    assert!(0 < saved && saved <= 10_000, "{outcome}");
}

#[test]
fn a_chat_of_ours_is_read_with_its_times() {
    let session = Session::with_project();
    let turn = |text: &str| json!({ "text": text, "delayMs": 30 });
    let model = session.recording(&json!({ "turns": [turn("Hello."), turn("It is."), turn("Done.")] }));
    let result = session.run_with_input(&["chat", "--model", &model], "hello\nis it there?\nrun the tests\n");
    assert_eq!(result.code, Some(0), "{result}");
    let outcome = evaluate(&session, &["run the tests".into()], &["--yes", "--json"]);
    let lines = outcome.json();
    let prompts = of_type(&lines, "prompt");
    assert_eq!(prompts.len(), 1, "the second one comes too early: {outcome}");
    assert_eq!((&prompts[0]["match"], &prompts[0]["kind"]), (&json!("exact"), &json!("verify")), "{outcome}");
    assert!(prompts[0]["turnMs"].as_u64() >= Some(30) && prompts[0]["waitedMs"].is_u64(), "{outcome}");
}
