//! Holds how a user's first hour goes: from an empty home, with nothing configured, suggestions are shown and run
//! ahead, and they cost at most what is promised. The servers are real ones on the loopback interface.

#![expect(clippy::unwrap_used, reason = "what the server cannot do stops the test")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Chat, project};
use crate::ledger::lines;
use crate::provider::read_request;
use crate::support::PATIENCE;

const MODEL: &str = "some-model";
/// A prompt whose run begins and then says nothing more.
const ENDLESS: &str = "look at everything";

/// The wire format of the server.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    Chat,
    Ollama,
}

/// The purpose of a request.
#[derive(Debug, Clone, PartialEq)]
enum RequestKind {
    Question,
    /// A turn of the user.
    Turn,
    /// A prompt that runs ahead of the user.
    Ahead,
}

#[derive(Debug, Default)]
struct RequestLog {
    asked: Vec<RequestKind>,
    /// Background connections whose client may still be listening.
    open: Vec<TcpStream>,
    /// Requests that came while another background request was open.
    overlaps: Vec<String>,
}

/// A model server. It answers a turn in words, suggests `look at part N` when it is asked for a suggestion, and reads a
/// file when that prompt runs.
struct Server {
    url: String,
    log: Arc<Mutex<RequestLog>>,
}

impl Server {
    /// Starts a server. It says of each question that `question_tokens` tokens were read, none of them from a cache.
    fn start(format: Format, question_tokens: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = if format == Format::Chat { "/v1" } else { "" };
        let url = format!("http://{}{path}", listener.local_addr().unwrap());
        let log = Arc::<Mutex<RequestLog>>::default();
        let shared = Arc::clone(&log);
        // The thread ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, format, question_tokens, &mut shared.lock().unwrap());
            }
        });
        Self { url, log }
    }

    fn count(&self, kind: &RequestKind) -> usize {
        self.log.lock().unwrap().asked.iter().filter(|asked| *asked == kind).count()
    }
}

/// Whether the client has closed the connection: then a read finds its end or an error.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0; 16]);
    let would_block = read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    !would_block
}

fn answer(mut stream: TcpStream, format: Format, question_tokens: u64, log: &mut RequestLog) {
    // A request is answered before the next connection is accepted, so what is open now was open when this request
    // came.
    log.open.retain_mut(|open| !is_closed(open));
    let request = read_request(&stream);
    let messages = request["messages"].as_array().unwrap();
    let asks = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    let prompt = asks["content"].as_str().unwrap().to_owned();
    let has_read = messages.last().unwrap()["role"] == "tool";
    let asked = match prompt.as_str() {
        question if question.contains("A question from the program around") => RequestKind::Question,
        ahead if ahead.starts_with("look at ") => RequestKind::Ahead,
        _ => RequestKind::Turn,
    };
    if !log.open.is_empty() {
        log.overlaps.push(format!("{asked:?} {prompt:.40}"));
    }
    let number = log.asked.iter().filter(|asked| **asked == RequestKind::Question).count();
    log.asked.push(asked.clone());
    let usage = if asked == RequestKind::Question { (question_tokens, 0, 12) } else { (6_100, 5_500, 100) };
    let write = |stream: &mut TcpStream, text: &str, call: Option<&Value>, usage| {
        // A client that has hung up meanwhile is no failure.
        let _ = stream.write_all(response(format, text, call, usage).as_bytes());
    };
    match (asked, has_read) {
        (RequestKind::Turn, _) => {
            write(&mut stream, &format!("This is the answer to {prompt}."), None, Some(usage));
        }
        (RequestKind::Question, _) => {
            let turns = messages.iter().any(|message| message["content"] == "hang");
            let next = if turns { ENDLESS.to_owned() } else { format!("look at part {number}") };
            let guesses = json!({ "guesses": [{ "text": next, "chance": 70, "kind": "plan" }] });
            write(&mut stream, &guesses.to_string(), None, Some(usage));
        }
        (RequestKind::Ahead, _) if prompt == ENDLESS => {
            write(&mut stream, "It is long", None, None);
            log.open.push(stream);
        }
        (RequestKind::Ahead, false) => {
            let call = json!({ "name": "read_file", "arguments": { "file_path": "notes.txt" } });
            write(&mut stream, "", Some(&call), Some(usage));
        }
        (RequestKind::Ahead, true) => write(&mut stream, "It holds one line.", None, Some(usage)),
    }
}

/// An answer. It ends with its usage if there is one: the tokens read, those of them cached, and the tokens written.
fn response(format: Format, text: &str, call: Option<&Value>, usage: Option<(u64, u64, u64)>) -> String {
    let mut lines = Vec::new();
    let head = match format {
        Format::Chat => {
            let mut delta = json!({ "role": "assistant", "content": text });
            if let Some(call) = call {
                let function = json!({ "name": call["name"], "arguments": call["arguments"].to_string() });
                delta["tool_calls"] =
                    json!([{ "index": 0, "id": "call-1", "type": "function", "function": function }]);
            }
            lines.push(json!({ "choices": [{ "index": 0, "delta": delta }] }));
            if let Some((read, cached, written)) = usage {
                let reason = if call.is_some() { "tool_calls" } else { "stop" };
                lines.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }));
                lines.push(
                    json!({ "choices": [], "usage": { "prompt_tokens": read, "completion_tokens": written,
                    "prompt_tokens_details": { "cached_tokens": cached } } }),
                );
            }
            "text/event-stream"
        }
        Format::Ollama => {
            let mut message = json!({ "role": "assistant", "content": text });
            if let Some(call) = call {
                message["tool_calls"] = json!([{ "function": call }]);
            }
            lines.push(json!({ "message": message, "done": false }));
            if let Some((read, _, written)) = usage {
                lines.push(json!({ "message": { "role": "assistant", "content": "" }, "done": true,
                    "done_reason": "stop", "prompt_eval_count": read, "eval_count": written }));
            }
            "application/x-ndjson"
        }
    };
    let (before, after) = if format == Format::Chat { ("data: ", "\n\n") } else { ("", "\n") };
    let body: Vec<_> = lines.iter().map(|line| format!("{before}{line}{after}")).collect();
    let body = body.concat();
    let end = if format == Format::Chat && usage.is_some() { "data: [DONE]\n\n" } else { "" };
    format!("HTTP/1.1 200 OK\r\ncontent-type: {head}\r\nconnection: close\r\n\r\n{body}{end}")
}

/// A chat with this server's model; `settings` is the content of the user's configuration file.
fn chat(server: &Server, format: Format, settings: &str) -> Chat {
    let project = project().variable("OPENAI_API_KEY", "test");
    if !settings.is_empty() {
        project.session.write("home/.config/headstart/config.toml", settings);
    }
    let provider = if format == Format::Chat { "openai" } else { "ollama" };
    let model = format!("{provider}:{MODEL}");
    let arguments = ["chat", "--model", &model, "--base-url", &server.url];
    Chat::spawn(project, &arguments.map(str::to_owned), 80, 40)
}

/// Sends a prompt and waits for the answer.
fn plain_turn(chat: &mut Chat, prompt: &str) {
    chat.send(&format!("{prompt}\r"));
    chat.wait_for(&format!("This is the answer to {prompt}."));
}

/// Sends a prompt and waits for the answer. Returns whether a suggestion is shown then, and whether its work is ready.
fn turn(chat: &mut Chat, prompt: &str) -> (bool, bool) {
    plain_turn(chat, prompt);
    let comes = |text: &str| {
        let deadline = Instant::now() + Duration::from_secs(8);
        while Instant::now() < deadline {
            if chat.count(text) == 1 {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    };
    let shows = comes("[Tab]");
    (shows, shows && comes("✓ ready"))
}

fn of_priced(input: f64) -> String {
    let (cached, write, output) = (input / 10.0, input * 1.25, input * 5.0);
    format!(
        "[models.'openai:{MODEL}'.prices]\ninput = {input}\ncached = {cached}\ncache_write = {write}\noutput = {output}\n"
    )
}

/// Has eight short turns that consist of words alone, and takes nothing. After the first turn the conversation is too
/// young for a suggestion, so seven is the most.
fn eight_turns(format: Format, settings: &str) {
    let server = Server::start(format, 2_300);
    let mut chat = chat(&server, format, settings);
    plain_turn(&mut chat, "prompt 1");
    chat.settle();
    let came: Vec<_> = (2..=8).map(|number| turn(&mut chat, &format!("prompt {number}"))).collect();
    let shown = came.iter().filter(|(shown, _)| *shown).count();
    let ran = came.iter().filter(|(_, ran)| *ran).count();
    assert!(7 <= shown && 7 <= ran, "{shown} shown, {ran} ran: {came:?}\n{}", chat.contents());
    let policy_says = "· /background";
    assert_eq!(chat.count(policy_says), 0, "nothing was held back: {}", chat.contents());
    // The ledger says the same as the screen.
    assert_eq!(lines(&chat, "speculation", 7).len(), 7);
    let stats = chat.project.session.run(&["stats", "--json"]).json();
    let of = |kind: &str| stats.iter().find(|line| line["type"] == kind).unwrap().clone();
    assert_eq!(of("total")["shown"], 7, "{stats:?}");
    // Questions are also asked after a run that nobody takes.
    assert!(7 <= of("total")["suggestions"].as_u64().unwrap(), "{stats:?}");
    let is_free = settings.is_empty();
    assert_eq!(of("model")["free"], json!(is_free));
    let is_priced = settings.contains("prices");
    assert_eq!(of("total")["money"].is_null(), !is_free && !is_priced, "unknown, and never 0");
    // Each question and each run counts as lost: seven times the tokens read and written, weighted as the provider
    // charges.
    let lost = of("total")["lost"].as_f64().unwrap();
    assert_eq!(is_free, lost < 1.0, "{lost}");
    chat.leave();
}

#[test]
fn a_paid_model_of_unknown_price_suggests_and_runs_ahead_from_the_start() {
    eight_turns(Format::Chat, &format!("[models.'openai:{MODEL}']\nfree = false\n"));
}

#[test]
fn a_paid_model_of_known_price_suggests_and_runs_ahead_from_the_start() {
    eight_turns(Format::Chat, &of_priced(3.0));
}

#[test]
fn ollama_suggests_and_runs_ahead_from_the_start() {
    eight_turns(Format::Ollama, "");
}

#[test]
fn a_compatible_server_on_this_machine_suggests_and_runs_ahead_from_the_start() {
    eight_turns(Format::Chat, "");
}

/// Each question costs $0.60, so after the first one too little of the day's dollar is left for another.
#[test]
fn a_dear_model_shows_something_and_then_says_once_why_it_rests() {
    const LINE: &str = "ahead – held back · too little left of today's $1.00 · /background more";
    let server = Server::start(Format::Chat, 20_000);
    let mut chat = chat(&server, Format::Chat, &of_priced(30.0));
    let mut said = Vec::new();
    for number in 1..=4 {
        plain_turn(&mut chat, &format!("prompt {number}"));
        if number == 2 {
            chat.wait_for("[Tab]");
            chat.settle();
            assert_eq!(chat.count("✓ ready"), 0, "what is left is too little for a run");
        } else {
            chat.settle();
        }
        said.push((chat.count("[Tab]"), chat.count(LINE)));
    }
    assert_eq!(said, [(0, 0), (1, 0), (0, 1), (0, 0)], "{}", chat.contents());
    assert_eq!(server.count(&RequestKind::Question), 1);
    let held: Vec<_> = lines(&chat, "suggestion", 3).iter().map(|line| line["suppressed"].clone()).collect();
    assert_eq!(held, [Value::Null, json!("limit"), json!("limit")]);

    chat.send("/background more\r");
    chat.wait_for("$1.40 of today's $2.00 are left");
    plain_turn(&mut chat, "prompt 5");
    chat.wait_for("[Tab]");
    assert_eq!(server.count(&RequestKind::Question), 2, "{}", chat.contents());
    let stats = chat.project.session.run(&["stats"]).stdout;
    assert!(stats.contains("2 asked for, 2 shown, 0 taken") && stats.contains("3 limit"), "{stats}");
    chat.leave();
}

/// Holds that work ahead has left the server before the user's own request comes.
#[test]
fn the_users_request_comes_when_the_background_connection_is_closed() {
    for format in [Format::Ollama, Format::Chat] {
        let server = Server::start(format, 2_300);
        let mut chat = chat(&server, format, "candidates = 1\n");
        plain_turn(&mut chat, "first");
        for number in 0..3 {
            let prompt = format!("hang {number}");
            chat.send("hang\r");
            chat.wait_for("This is the answer to hang.");
            chat.wait_for(&format!("> {ENDLESS}"));
            chat.wait_for("ahead looking");
            let deadline = Instant::now() + PATIENCE;
            while server.count(&RequestKind::Ahead) <= number && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            chat.send(&format!("{prompt}\r"));
            chat.wait_for(&format!("This is the answer to {prompt}."));
            chat.wait_for("[Tab]");
            chat.send("/clear\r");
            chat.wait_for_row(">");
            plain_turn(&mut chat, "again");
        }
        let log = server.log.lock().unwrap();
        assert_eq!(log.overlaps, Vec::<String>::new(), "{format:?}: {:?}", log.asked);
        drop(log);
        chat.leave();
    }
}

#[test]
fn on_battery_nothing_runs_on_this_machine_and_after_a_suggestion_it_says_so() {
    let server = Server::start(Format::Ollama, 2_300);
    let mut chat = chat(&server, Format::Ollama, "");
    plain_turn(&mut chat, "prompt 1");
    assert_eq!(turn(&mut chat, "prompt 2"), (true, true));
    let battery = "machine/sys/class/power_supply/BAT0";
    chat.project.session.write(&format!("{battery}/type"), "Battery\n");
    chat.project.session.write(&format!("{battery}/status"), "Discharging\n");
    let asked = server.count(&RequestKind::Question);
    chat.send("prompt 3\r");
    chat.wait_for("ahead – held back · battery power · /background always");
    chat.send("/background always\r");
    chat.wait_for("; the model costs");
    chat.wait_until_gone("held back");
    assert_eq!(server.count(&RequestKind::Question), asked);
    assert_eq!(turn(&mut chat, "prompt 4"), (true, true));
    chat.leave();
}

/// A server that answers this many questions with `look at part N`, and refuses the rest.
fn refusing_questions(answered: usize) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut questions = 0;
        for mut stream in listener.incoming().flatten() {
            let request = read_request(&stream);
            let is_question = request.to_string().contains("A question from the program around");
            questions += usize::from(is_question);
            if is_question && answered < questions {
                let body = json!({ "error": { "message": "no such thing here" } }).to_string();
                let head = "HTTP/1.1 400 X\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
                continue;
            }
            let prompt = request["messages"].as_array().unwrap().last().unwrap()["content"].clone();
            let text = if is_question {
                json!({ "suggestion": format!("look at part {questions}") }).to_string()
            } else {
                format!("This is the answer to {}.", prompt.as_str().unwrap())
            };
            let _ = stream.write_all(response(Format::Chat, &text, None, Some((100, 0, 9))).as_bytes());
        }
    });
    Server { url, log: Arc::default() }
}

/// Holds that a background question that fails says so once, with its cause, and that the ledger keeps the code.
#[test]
fn a_question_that_fails_says_so_once() {
    let server = refusing_questions(0);
    let mut chat = chat(&server, Format::Chat, &format!("[models.'openai:{MODEL}']\nfree = false\n"));
    for number in 1..=4 {
        plain_turn(&mut chat, &format!("prompt {number}"));
        if number == 2 {
            chat.wait_for("no such thing here");
        }
        chat.settle();
    }
    assert_eq!(
        (chat.count("no suggestion: "), chat.count("no such thing here")),
        (1, 1),
        "{}",
        chat.contents()
    );
    for line in lines(&chat, "suggestion", 3) {
        assert_eq!(line["suppressed"], "error", "{line}");
        assert_eq!(line["code"], "rejected", "{line}");
    }
    chat.leave();
}

/// Holds the same for the question that is asked by itself after accepted work.
#[test]
fn a_question_that_fails_after_accepted_work_says_so_too() {
    let server = refusing_questions(1);
    let mut chat = chat(&server, Format::Chat, "");
    plain_turn(&mut chat, "prompt 1");
    assert_eq!(turn(&mut chat, "prompt 2"), (true, true));
    chat.take();
    chat.wait_for("This is the answer to look at part 1.");
    chat.wait_for("no such thing here");
    let lines = lines(&chat, "suggestion", 2);
    assert_eq!((&lines[1]["suppressed"], &lines[1]["code"]), (&json!("error"), &json!("rejected")));
    chat.leave();
}
