//! Holds how tools are offered to a model whose server accepts none: in a turn of the user, and ahead.

use serde_json::{Value, json};

use crate::formats::{FORMATS, Format, KEY};
use crate::support::Session;
use crate::support::server::{Request, ScriptedResponse, Server, says};

/// Ollama's answer if the template of a model has no place for tools.
const REFUSAL: &str = r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#;

const CALL: &str = "I write it.\n\n```tool_call\n{\"name\": \"write_file\", \"arguments\": {\"file_path\": \"made.txt\", \"content\": \"made\\n\"}}\n```\n";

fn ollama() -> &'static Format {
    FORMATS.iter().find(|format| format.prefix == "ollama").unwrap()
}

fn session(settings: &str) -> Session {
    let session =
        Session::with_project().variable("OLLAMA_API_KEY", KEY).variable("HEADSTART_SUGGEST", "off");
    session.write("home/.config/headstart/config.toml", settings);
    session
}

/// A server that refuses tools as Ollama does. Without tools it calls one in words, and says what it was told of the
/// result.
fn server() -> Server {
    Server::answering(|request| {
        let body = request.json();
        if body.get("tools").is_some() {
            return ScriptedResponse::Whole {
                status: "400 Bad Request",
                headers: "",
                body: REFUSAL.to_owned(),
            };
        }
        let said =
            body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        let answer = if said.contains("Result of write_file:") { "It is made." } else { CALL };
        ollama().stream(answer, &[])
    })
}

fn offers(request: &Request) -> bool {
    request.json().get("tools").is_some()
}

fn messages(request: &Request) -> Vec<Value> {
    request.json()["messages"].as_array().unwrap().clone()
}

#[test]
fn a_turn_goes_on_in_words_and_its_user_is_told() {
    let session = session("");
    let server = server();
    let arguments =
        ["chat", "--mode", "auto-edit", "--model", &ollama().model(), "--base-url", &server.base_url];
    let outcome = session.run_with_input(&arguments, "make it\nand again\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(session.text("made.txt").as_deref(), Some("made\n"), "{outcome}");
    assert!(!outcome.stdout.contains("tool_call"), "{outcome}");
    let all = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(all.matches("is told of its tools in words from now on").count(), 1, "{outcome}");
    assert!(all.contains("does not support tools"), "{outcome}");

    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| offers(request)).count(), 1, "it is refused once: {outcome}");
    // Each request begins with the messages of the one before.
    let sent_requests: Vec<Vec<Value>> =
        requests.iter().filter(|request| !offers(request)).map(messages).collect();
    assert!(4 <= sent_requests.len(), "{outcome}");
    for pair in sent_requests.windows(2) {
        assert_eq!(pair[0], pair[1][..pair[0].len()], "{outcome}");
    }
    assert!(
        sent_requests[0][0]["content"].as_str().unwrap().contains("## write_file"),
        "{:?}",
        sent_requests[0][0]
    );
    assert_eq!(
        sent_requests[1][2]["content"],
        json!(CALL.trim_end().replace("\": ", "\":").replace(", \"", ",\""))
    );
}

#[test]
fn work_ahead_calls_in_words_too_and_none_means_none() {
    let table = |tools: &str| format!("[models.'{}']\ntools = '{tools}'\n", ollama().model());
    for (settings, refused) in [(String::new(), 1), (table("text"), 0)] {
        let session = session(&settings);
        let server = server();
        let outcome = session.run(&server.speculation(&ollama().model(), &["make it"]));
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert!(outcome.stdout.contains(r#""name":"write_file""#), "{outcome}");
        assert_eq!(session.text("made.txt"), None);
        let told = outcome.stderr.matches("is told of its tools in words from now on").count();
        assert_eq!(told, refused, "{outcome}");
        let finished = outcome.finished();
        let id = finished["id"].as_str().unwrap();
        let accepted = session.run(&["accept", id, "--mode", "auto-edit"]);
        assert_eq!(accepted.code, Some(0), "{accepted}");
        assert_eq!(session.text("made.txt").as_deref(), Some("made\n"));
        let requests = server.requests();
        assert_eq!(requests.iter().filter(|request| offers(request)).count(), refused);
    }

    let session = session(&table("none"));
    let server = server();
    let outcome = session.run(&server.speculation(&ollama().model(), &["make it"]));
    let requests = server.requests();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(!offers(&requests[0]) && !requests[0].body.contains("## write_file"), "{}", requests[0].body);
    assert!(!outcome.stdout.contains(r#""type":"toolCall""#), "{outcome}");
}

#[test]
fn what_is_no_such_word_is_an_error_that_names_the_field() {
    let session = session("[models.'ollama:m']\ntools = 'maybe'\n");
    let outcome = session.run(&["suggest", "--help"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let outcome = session.run(&["speculate", "--model", "ollama:m", "go"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("models.\"ollama:m\".tools"), "{outcome}");
    assert!(outcome.stderr.contains("is none of native, text and none"), "{outcome}");
}

/// A call as some models write it, of which their servers leave out the first tag.
const WRITTEN: &str = "I make it.\n<function=write_file>\n<parameter=file_path>\nmade.txt\n</parameter>\n<parameter=content>\nmade\n</parameter>\n</function>\n</tool_call>";

/// A server that takes tools, and whose model writes this as its first answer.
fn writing(text: String) -> Server {
    Server::answering(move |request| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        says(if last["role"] == "tool" { "It is made." } else { &text })
    })
}

#[test]
fn a_call_that_a_model_writes_in_a_form_of_its_own_is_run_as_a_call() {
    let session =
        Session::with_project().variable("OPENAI_API_KEY", KEY).variable("HEADSTART_SUGGEST", "off");
    let server = writing(WRITTEN.to_owned());
    let arguments = ["chat", "--mode", "auto-edit", "--model", "openai:m", "--base-url", &server.base_url];
    let outcome = session.run_with_input(&arguments, "make it\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(session.text("made.txt").as_deref(), Some("made"), "{outcome}");
    assert!(outcome.stdout.contains("It is made.") && !outcome.stdout.contains("<function"), "{outcome}");
    // The model reads it as a call that it made in its own field.
    let again = &messages(&server.requests()[1]);
    let call = &again[again.len() - 2];
    assert_eq!(call["tool_calls"][0]["function"]["name"], "write_file", "{call}");
    assert_eq!(call["content"], "I make it.\n", "{call}");

    // It is asked about where nobody allowed it: the gate judges it as any call.
    let asked =
        session.run_with_input(&["chat", "--model", "openai:m", "--base-url", &server.base_url], "make it\n");
    assert!(!asked.stdout.contains("<function"), "{asked}");
}

#[test]
fn a_call_that_is_fenced_or_cut_off_is_told_and_neither_run_nor_called_completed() {
    let json = "{\"name\": \"write_file\", \"arguments\": {\"file_path\": \"made.txt\", \"content\": \"x\"}}";
    for text in [format!("```json\n{json}\n```"), WRITTEN[..WRITTEN.len() - 40].to_owned()] {
        let session =
            Session::with_project().variable("OPENAI_API_KEY", KEY).variable("HEADSTART_SUGGEST", "off");
        let server = writing(text);
        let arguments =
            ["chat", "--mode", "auto-edit", "--model", "openai:m", "--base-url", &server.base_url];
        let outcome = session.run_with_input(&arguments, "make it\n");
        let all = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(all.contains("the model wrote a call as text, and it was not run"), "{outcome}");
        let ahead = session.run(&server.speculation("openai:m", &["make it"]));
        let finished = ahead.finished();
        assert_eq!(
            (&finished["status"], &finished["code"]),
            (&json!("failed"), &json!("written_call")),
            "{ahead}"
        );
        assert_eq!(session.text("made.txt"), None, "{outcome}");
    }
}

/// A small model may write one sentence without end.
#[test]
fn an_answer_that_only_repeats_itself_is_cut_off_and_its_beginning_stays() {
    let session =
        Session::with_project().variable("OPENAI_API_KEY", KEY).variable("HEADSTART_SUGGEST", "off");
    let server = writing(format!("I think of something.\n{}", "I am not sure about that. ".repeat(2_000)));
    let ahead = session.run(&server.speculation("openai:m", &["make it"]));
    let finished = ahead.finished();
    assert_eq!((&finished["status"], &finished["code"]), (&json!("failed"), &json!("repetition")), "{ahead}");

    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url];
    let outcome = session.run_with_input(&arguments, "make it\n");
    let all = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(
        all.contains("I think of something.") && all.contains("repeated itself without end"),
        "{outcome}"
    );
}
