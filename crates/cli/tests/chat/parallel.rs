//! Holds how several suggestions run ahead at the same time, one of them because its user looked at it. The server of these tests sees who asks and who hangs up.

#![expect(clippy::unwrap_used, reason = "what the server cannot do stops the test")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Chat, project};
use crate::provider::read_request;
use crate::support::PATIENCE;

/// A server whose answers depend on what it is asked, and which answers many requests at the same time. A run ahead
/// writes a file named after its prompt, and then waits for the end of its last answer until the test releases it.
struct Server {
    url: String,
    /// The prompts whose last answer was not complete when the client hung up.
    left: mpsc::Receiver<String>,
    asked: Arc<Mutex<BTreeSet<String>>>,
    released: Arc<(Mutex<bool>, Condvar)>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, left) = mpsc::channel();
        let asked = Arc::<Mutex<BTreeSet<String>>>::default();
        let released = Arc::<(Mutex<bool>, Condvar)>::default();
        let (prompts, gate) = (Arc::clone(&asked), Arc::clone(&released));
        // The thread ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (prompts, gate, left) = (Arc::clone(&prompts), Arc::clone(&gate), sender.clone());
                std::thread::spawn(move || serve(stream, &prompts, &gate, &left));
            }
        });
        Self { url, left, asked, released }
    }

    /// The prompts for which the server was asked.
    fn requested_prompts(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().cloned().collect()
    }

    /// Lets all runs that wait have the end of their last answer.
    fn release(&self) {
        *self.released.0.lock().unwrap() = true;
        self.released.1.notify_all();
    }

    /// Waits until the client has hung up on this many requests. Returns their prompts, and how long it took.
    fn wait_for_hang_ups(&self, number: usize) -> (BTreeSet<String>, Duration) {
        let started = Instant::now();
        let left = (0..number).map(|_| self.left.recv_timeout(PATIENCE).expect("the client hangs up"));
        (left.collect(), started.elapsed())
    }
}

fn serve(
    mut stream: TcpStream,
    prompts: &Mutex<BTreeSet<String>>,
    (released, changed): &(Mutex<bool>, Condvar),
    left: &mpsc::Sender<String>,
) {
    let request = read_request(&stream);
    let messages = request["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    let is_result = last["role"] == "tool";
    let asks = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    let prompt = asks["content"].as_str().unwrap().to_owned();
    let _ = write!(stream, "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    // This is the question for several suggestions.
    if prompt.contains("Give up to three guesses") {
        // The suggestions are not in alphabetical order, they are numbered, and one of them is there twice.
        return text(
            &mut stream,
            "1. write the tests\n2. commit this\n3. write the tests.\n4. add a changelog",
        );
    }
    prompts.lock().unwrap().insert(prompt.clone());
    match (prompt.as_str(), is_result) {
        ("begin", false) => call(&mut stream, "read_file", &json!({ "file_path": "notes.txt" })),
        ("begin", true) => text(&mut stream, "First answer."),
        (_, false) => {
            let path = format!("{}.txt", prompt.replace(' ', "-"));
            call(&mut stream, "write_file", &json!({ "file_path": path, "content": "made\n" }));
        }
        (_, true) => {
            let _ = write!(stream, "{}", piece(&json!({ "content": "All of it is" })));
            let _ = stream.flush();
            let waiting = stream.try_clone().unwrap();
            let (prompt, left) = (prompt.clone(), left.clone());
            std::thread::spawn(move || {
                // The client sends nothing more: this read ends when it closes or resets the connection.
                let _ = (&waiting).read(&mut [0; 64]);
                let _ = left.send(prompt);
            });
            let guard = released.lock().unwrap();
            let waited = changed.wait_timeout_while(guard, PATIENCE, |released| !*released).unwrap();
            drop(waited);
            text(&mut stream, " done.");
        }
    }
}

pub(crate) fn text(stream: &mut TcpStream, text: &str) {
    let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let _ = write!(stream, "{}data: {finish}\n\ndata: [DONE]\n\n", piece(&json!({ "content": text })));
}

pub(crate) fn call(stream: &mut TcpStream, name: &str, args: &Value) {
    let function = json!({ "name": name, "arguments": args.to_string() });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    let _ = write!(stream, "{}data: {finish}\n\ndata: [DONE]\n\n", piece(&json!({ "tool_calls": [call] })));
}

fn piece(delta: &Value) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta }] });
    format!("data: {chunk}\n\n")
}

/// A chat that shows three suggestions, of which the first runs ahead by itself and the second because it was marked. Both
/// wait for the server.
fn two_run(server: &Server) -> Chat {
    let project = project().variable("OPENAI_API_KEY", "test");
    // Without `free = false`, a server on this machine would be asked for one suggestion at a time.
    let settings = "background = 'always'\n[models.some-model]\nfree = false\n";
    project.session.write("home/.config/headstart/config.toml", settings);
    let arguments =
        ["chat", "--model", "openai:some-model", "--base-url", &server.url, "--mode", "auto-edit"];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 72, 40);
    chat.send("begin\r");
    chat.wait_for_row("> write the tests  [Tab] · 2 more");
    chat.wait_for("working · 1 file +1 -0");
    assert_eq!(server.requested_prompts(), ["begin", "write the tests"], "only the first runs by itself");
    // The second one is marked, and runs.
    chat.send("\x1b[B");
    chat.wait_for_row("> 1  write the tests  working · 1 file +1 -0");
    chat.send("\x1b[B");
    chat.wait_for_row("> 2  commit this      working · 1 file +1 -0");
    chat.send("\x1b");
    chat.wait_for_row("> write the tests  [Tab] · 2 more");
    assert_eq!(
        server.requested_prompts(),
        ["begin", "commit this", "write the tests"],
        "the third does not run"
    );
    chat
}

/// What the ledger says of each suggestion that ran: its kind, status and outcome.
fn ledger_outcomes(chat: &Chat) -> Vec<[String; 3]> {
    let text = std::fs::read_to_string(chat.project.session.ledger()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let outcome = |id: &Value| {
        let found = lines.iter().rev().find(|line| line["type"] == "outcome" && line["id"] == *id);
        found.map(|line| word(&line["outcome"])).unwrap_or_default()
    };
    let ran = lines.iter().filter(|line| line["type"] == "speculation");
    let mut ran: Vec<_> =
        ran.map(|line| [word(&line["kind"]), word(&line["status"]), outcome(&line["id"])]).collect();
    ran.sort();
    ran
}

fn row(words: [&str; 3]) -> [String; 3] {
    words.map(str::to_owned)
}

#[test]
fn taking_one_hangs_up_on_the_other_and_leaves_nothing_of_it() {
    let server = Server::start();
    let mut chat = two_run(&server);
    chat.take();
    let (left, time) = server.wait_for_hang_ups(1);
    assert_eq!(left.into_iter().collect::<Vec<_>>(), ["commit this"]);
    assert!(time < Duration::from_secs(10), "{time:?}");
    chat.wait_for("finishing what runs already");
    server.release();
    chat.wait_for("All of it is done.");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("write-the-tests.txt").as_deref(), Some("made\n"));
    assert_eq!(chat.read("commit-this.txt"), None);
    let change = row(["change", "completed", "joined"]);
    // It was in the list, and never on offer in the prompt.
    let commit = row(["commit", "aborted", "aborted"]);
    // The next suggestion may already be running; it has no outcome.
    let decided =
        || ledger_outcomes(&chat).into_iter().filter(|[.., outcome]| !outcome.is_empty()).collect::<Vec<_>>();
    // The screen may show shortly before the ledger that a suggestion was taken.
    let deadline = Instant::now() + PATIENCE;
    while decided().len() < 2 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(decided(), [change, commit]);
    chat.send("\x03");
    chat.leave();
}

#[test]
fn the_second_can_be_taken_as_well() {
    let server = Server::start();
    let mut chat = two_run(&server);
    chat.send("com");
    chat.wait_for_row("> commit this  [Tab]");
    chat.wait_for("working · 1 file +1 -0");
    chat.send("mit this\r");
    let (left, _) = server.wait_for_hang_ups(1);
    assert_eq!(left.into_iter().collect::<Vec<_>>(), ["write the tests"]);
    server.release();
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("commit-this.txt").as_deref(), Some("made\n"));
    assert_eq!(chat.read("write-the-tests.txt"), None);
    chat.leave();
}

#[test]
fn giving_up_hangs_up_on_both() {
    for keys in ["\x1b", "/clear\r", "something else\r", "\x04"] {
        let server = Server::start();
        let mut chat = two_run(&server);
        let before = chat.project.session.tree();
        chat.send(keys);
        let (left, time) = server.wait_for_hang_ups(2);
        let expected = ["commit this", "write the tests"].map(str::to_owned);
        assert_eq!(left, BTreeSet::from(expected), "{keys:?}");
        assert!(time < Duration::from_secs(10), "{keys:?}: {time:?}");
        if keys != "something else\r" {
            assert_eq!(chat.project.session.tree(), before);
        }
    }
}
