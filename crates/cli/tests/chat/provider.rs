//! Holds how a chat talks to a server that speaks the wire format of a provider.

#![expect(clippy::unwrap_used, reason = "what the server cannot do stops the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::fixture::{Chat, project};

/// What the server does with one request.
pub(crate) enum ProviderReply {
    /// Refuses it with this status and a message.
    Refuse(u16),
    /// Refuses it with a rate limit for this many seconds.
    Later(u32),
    /// Answers with two pieces of text; the second one is sent when the test says so.
    Stream(&'static str, mpsc::Receiver<()>, &'static str),
    /// Answers with a text.
    Says(&'static str),
    /// Answers with a suggestion, or with none.
    Suggests(&'static str),
    /// Answers with a call of `write_file` for this path.
    Write(&'static str),
    /// Sends the first piece, and then breaks the connection.
    Cut(&'static str),
}

/// Starts a server on the loopback interface. Returns its base URL and the requests that it gets. After the last answer
/// it accepts no connection.
pub(crate) fn serve(answers: Vec<ProviderReply>) -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            // A test may leave the requests unread.
            let _ = sender.send(read_request(&stream));
            respond(stream, answer);
        }
    });
    (url, requests)
}

fn respond(mut stream: TcpStream, answer: ProviderReply) {
    let head = |status: u16, kind: &str| {
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n")
    };
    match answer {
        ProviderReply::Refuse(status) => {
            let body = json!({ "error": { "message": "the server's own words" } }).to_string();
            let head = head(status, "application/json");
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
        ProviderReply::Later(seconds) => {
            let head = head(429, "application/json");
            let _ = write!(stream, "{head}retry-after: {seconds}\r\ncontent-length: 2\r\n\r\n{{}}");
        }
        ProviderReply::Stream(first, go_on, second) => {
            let _ = write!(stream, "{}\r\n{}", head(200, "text/event-stream"), piece(first));
            let _ = stream.flush();
            // If the test has failed meanwhile, nobody says so any more.
            let _ = go_on.recv();
            let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
            let _ = write!(stream, "{}data: {finish}\n\ndata: [DONE]\n\n", piece(second));
        }
        ProviderReply::Says(text) => {
            let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
            let head = head(200, "text/event-stream");
            let _ = write!(stream, "{head}\r\n{}data: {finish}\n\ndata: [DONE]\n\n", piece(text));
        }
        ProviderReply::Suggests(text) => {
            let answer: &'static str = json!({ "suggestion": text }).to_string().leak();
            respond(stream, ProviderReply::Says(answer));
        }
        ProviderReply::Write(path) => {
            let args = json!({ "file_path": path, "content": "made\n" }).to_string();
            let function = json!({ "name": "write_file", "arguments": args });
            let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
            let chunk = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
            let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
            let head = head(200, "text/event-stream");
            let _ = write!(stream, "{head}\r\ndata: {chunk}\n\ndata: {finish}\n\ndata: [DONE]\n\n");
        }
        ProviderReply::Cut(first) => {
            let _ = write!(stream, "{}\r\n{}", head(200, "text/event-stream"), piece(first));
        }
    }
}

fn piece(text: &str) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text } }] });
    format!("data: {chunk}\n\n")
}

/// The body of a request.
pub(crate) fn read_request(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn chat_with(answers: Vec<ProviderReply>) -> Chat {
    chat_and_requests(answers, "auto-edit").0
}

fn chat_and_requests(answers: Vec<ProviderReply>, mode: &str) -> (Chat, mpsc::Receiver<Value>) {
    let (url, requests) = serve(answers);
    let project = project().variable("OPENAI_API_KEY", "test").variable("HEADSTART_SUGGEST", "off");
    let arguments = ["chat", "--model", "openai:some-model", "--base-url", &url, "--mode", mode];
    (Chat::spawn(project, &arguments.map(str::to_owned), 72, 40), requests)
}

#[test]
fn chat_mode_offers_no_tools_and_runs_none() {
    let answers = vec![
        ProviderReply::Says("With tools."),
        ProviderReply::Write("made.txt"),
        ProviderReply::Says("In words."),
        ProviderReply::Says("With tools again."),
    ];
    let (mut chat, requests) = chat_and_requests(answers, "auto-edit");
    chat.send("one\r");
    chat.wait_for("With tools.");
    chat.send("/mode chat\r");
    chat.wait_for("the mode is chat from now on: the model has no tools, and its provider's");
    chat.send("two\r");
    chat.wait_for("In words.");
    assert_eq!(chat.read("made.txt"), None);
    chat.send("\x1b[Z");
    chat.wait_for("the mode is default from now on: the model has its tools again");
    chat.send("three\r");
    chat.wait_for("With tools again.");
    chat.leave();

    let requests: Vec<_> = requests.iter().collect();
    let offers = |request: &Value| request.get("tools").is_some_and(|tools| tools[0].is_object());
    assert_eq!(requests.iter().map(offers).collect::<Vec<_>>(), [true, false, false, true]);
    let sent_requests: Vec<_> = requests.iter().map(messages).collect();
    assert_eq!(
        sent_requests[1].last().unwrap().1,
        "[Note: You have no tools from now on, whatever was said of them before: answer in words.]\n\ntwo"
    );
    let refused = &sent_requests[2].last().unwrap().1;
    assert!(refused.contains("no tools are offered in chat mode"), "{refused}");
    assert_eq!(sent_requests[3].last().unwrap().1, "[Note: You have your tools again from now on.]\n\nthree");
}

#[test]
fn a_plan_is_carried_out_on_go() {
    let answers = vec![
        ProviderReply::Write("made.txt"),
        ProviderReply::Says("I will write made.txt."),
        ProviderReply::Write("made.txt"),
        ProviderReply::Says("It is written."),
    ];
    let (mut chat, requests) = chat_and_requests(answers, "plan");
    chat.send("/go\r");
    chat.wait_for("there is no plan yet");
    chat.send("plan it\r");
    chat.wait_for("I will write made.txt.");
    chat.send("/go\r");
    chat.wait_for("the mode is default from now on");
    chat.wait_for("create made.txt");
    assert_eq!(chat.read("made.txt"), None, "default mode asks");
    chat.answer("y");
    chat.wait_for("It is written.");
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.send("/go\r");
    chat.wait_for("/go ends plan mode, and the mode is default");
    chat.leave();
    let third = messages(&requests.iter().nth(2).unwrap());
    assert_eq!(third.last().unwrap(), &("user".to_owned(), "Carry out your plan.".to_owned()));
}

#[test]
fn what_a_prompt_mentions_goes_with_it_and_what_is_not_there_is_not_sent() {
    let (mut chat, requests) = chat_and_requests(vec![ProviderReply::Says("I read it.")], "default");
    chat.send("sum up @docs/none.md\r");
    chat.wait_for("@docs/none.md: there is no such file; a backslash before the @");
    // The text is in the prompt again; Ctrl-C empties the prompt.
    chat.wait_for("\n> sum up @docs/none.md");
    chat.send("\x03");
    chat.send("sum up @notes.txt\r");
    chat.wait_for("I read it.");
    let asked = requests.recv().unwrap();
    let said = asked["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let said: String = serde_json::from_str(&said).unwrap_or(said);
    assert!(said.starts_with("sum up @notes.txt\n\nWhat is named with an @:\n"), "{said}");
    assert!(said.contains("<mentioned file=\"notes.txt\">\none\n</mentioned>"), "{said}");
    chat.leave();
}

#[test]
fn an_answer_is_shown_as_it_comes() {
    let (go_on, wait) = mpsc::channel();
    let mut chat = chat_with(vec![ProviderReply::Stream("Half of", wait, " the answer.")]);
    chat.send("begin\r");
    chat.wait_for("> begin\nHalf of\nworking (Ctrl-C interrupts)\n>");
    go_on.send(()).unwrap();
    chat.wait_for("> begin\nHalf of the answer.\n>");
    chat.leave();
}

#[test]
fn a_refused_key_is_told_and_the_prompt_can_be_sent_again() {
    let (go_on, wait) = mpsc::channel();
    go_on.send(()).unwrap();
    let mut chat =
        chat_with(vec![ProviderReply::Refuse(401), ProviderReply::Stream("Now ", wait, "it works.")]);
    chat.send("begin\r");
    chat.wait_for(
        " refused the key (401); set\nOPENAI_API_KEY to a valid key; it says: the server's own words\n> begin",
    );
    chat.send("\r");
    chat.wait_for("Now it works.");
    chat.leave();
}

#[test]
fn a_provider_that_is_busy_is_asked_again() {
    let (go_on, wait) = mpsc::channel();
    go_on.send(()).unwrap();
    let mut chat = chat_with(vec![
        ProviderReply::Refuse(429),
        ProviderReply::Refuse(503),
        ProviderReply::Stream("It ", wait, "works."),
    ]);
    chat.send("begin\r");
    chat.wait_for("> begin\nIt works.\n>");
    chat.leave();
}

/// Holds that a user who waits for the provider is told so, and for how many more seconds.
#[test]
fn a_turn_that_waits_for_the_provider_says_so() {
    let (go_on, wait) = mpsc::channel();
    go_on.send(()).unwrap();
    let mut chat = chat_with(vec![ProviderReply::Later(8), ProviderReply::Stream("It ", wait, "works.")]);
    chat.send("begin\r");
    // On a busy machine a second may pass without being seen, so the test accepts any number.
    chat.wait_until("a wait of so many seconds", |screen| seconds_to_wait(&screen.contents()).is_some());
    let first = seconds_to_wait(&chat.contents()).unwrap();
    // The wait is somewhat longer than the server asked for, so that not all clients come back at the same moment.
    assert!((1..=10).contains(&first), "{first}");
    chat.wait_until("fewer seconds", |screen| {
        seconds_to_wait(&screen.contents()).is_some_and(|seconds| seconds < first)
    });
    chat.wait_for("> begin\nIt works.\n>");
    chat.leave();
}

/// The seconds that the screen shows for the wait.
fn seconds_to_wait(screen: &str) -> Option<u32> {
    let (_, rest) = screen.split_once("the provider limits requests: trying again in ")?;
    rest.split_once(" s (Ctrl-C interrupts)")?.0.parse().ok()
}

#[test]
fn a_turn_that_waits_for_the_provider_can_be_interrupted() {
    let mut chat = chat_with(vec![ProviderReply::Later(50)]);
    chat.send("begin\r");
    chat.wait_until("a wait", |screen| seconds_to_wait(&screen.contents()).is_some());
    chat.send("\x03");
    chat.wait_for("interrupted\n> begin");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn an_answer_that_breaks_off_is_told() {
    let (go_on, wait) = mpsc::channel();
    go_on.send(()).unwrap();
    let mut chat =
        chat_with(vec![ProviderReply::Cut("It be"), ProviderReply::Stream("Now ", wait, "it works.")]);
    chat.send("begin\r");
    chat.wait_for(" cut the answer short; try again\n> begin");
    chat.send("\r");
    chat.wait_for("Now it works.");
    chat.leave();
}

#[test]
fn a_turn_that_waits_for_the_server_can_be_interrupted() {
    let (_go_on, wait) = mpsc::channel();
    let mut chat = chat_with(vec![ProviderReply::Stream("Half of", wait, " never")]);
    chat.send("begin\r");
    chat.wait_for("Half of\nworking");
    chat.send("\x03");
    chat.wait_for("Half of\ninterrupted\n> begin");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let mut chat = chat_with(Vec::new());
    for word in ["begin", "again"] {
        chat.send(&format!("{word}\r"));
        chat.wait_for(&format!("> {word}\ncannot reach http://127.0.0.1:"));
        chat.wait_for(&format!("or set another one\n> {word}"));
        chat.empty_the_prompt();
        chat.send("/clear\r");
        chat.wait_for("forgotten");
    }
    chat.leave();
}

/// The role and the text of each message in a request, without the system message.
fn messages(request: &Value) -> Vec<(String, String)> {
    let messages = request["messages"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pair = |message: &Value| (text(&message["role"]), text(&message["content"]));
    messages.map(pair).filter(|(role, _)| role != "system").collect()
}

#[test]
fn the_model_is_told_what_an_interrupted_turn_has_done() {
    let (never, hangs) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    go_on.send(()).unwrap();
    let answers = vec![
        ProviderReply::Write("made.txt"),
        ProviderReply::Stream("Half of", hangs, " never"),
        ProviderReply::Stream("We", wait, " go on."),
    ];
    let (mut chat, requests) = chat_and_requests(answers, "auto-edit");
    chat.send("begin\r");
    chat.wait_for("Half of\nworking");
    chat.send("\x03");
    chat.wait_for("interrupted\n>");
    // The server notices that nobody is listening only when it sends something.
    drop(never);
    chat.send("go on\r");
    chat.wait_for("We go on.");
    let last = messages(&requests.iter().nth(2).unwrap());
    let roles: Vec<_> = last.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"], "{last:?}");
    assert_eq!((last[0].1.as_str(), last[3].1.as_str()), ("begin", "go on"));
    assert!(last[2].1.contains("made.txt"), "{last:?}");
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.leave();
}

#[test]
fn the_model_is_told_that_the_user_declined() {
    let (go_on, wait) = mpsc::channel();
    go_on.send(()).unwrap();
    let answers = vec![ProviderReply::Write("made.txt"), ProviderReply::Stream("As", wait, " you wish.")];
    let (mut chat, requests) = chat_and_requests(answers, "default");
    chat.send("begin\r");
    chat.answer("n");
    chat.wait_for("As you wish.");
    let last = messages(&requests.iter().nth(1).unwrap());
    assert_eq!(last[2].0, "tool", "{last:?}");
    assert!(last[2].1.contains("declined"), "{last:?}");
    assert_eq!(chat.read("made.txt"), None);
    chat.leave();
}

/// Holds that the conversation after steps that ran ahead is, byte for byte, the same as after the same prompts without
/// speculation.
#[test]
fn after_accepts_the_next_request_is_what_it_would_have_been() {
    use ProviderReply::{Says, Suggests, Write};
    let ahead = vec![
        Write("a.txt"),
        Says("Made."),
        Suggests("add tests"),
        Write("tests.txt"),
        Says("Tests are there."),
        Suggests("describe the change"),
        Write("change.txt"),
        Says("It is described."),
        Suggests(""),
        Says("Bye."),
        Suggests(""),
    ];
    let (url, requests) = serve(ahead);
    let project = project().variable("OPENAI_API_KEY", "test").variable("HEADSTART_BACKGROUND", "always");
    let arguments = ["chat", "--model", "openai:some-model", "--base-url", &url, "--mode", "auto-edit"];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 72, 40);
    chat.send("begin\r");
    chat.wait_for("Ctrl-O shows it\n> add tests  [Tab]");
    chat.take();
    chat.wait_for("> describe the change  [Tab]");
    chat.take();
    chat.wait_for("It is described.\ncreate");
    chat.wait_for_row(">");
    let nth_request =
        |requests: &mpsc::Receiver<Value>, number: usize| requests.iter().take(number).last().unwrap();
    // Typing would drop the last query for a suggestion, so the test waits until the server has it.
    nth_request(&requests, 9);
    chat.settle();
    chat.send("and now\r");
    chat.wait_for("Bye.");
    let with = nth_request(&requests, 1);
    let files = |chat: &Chat| ["a.txt", "tests.txt", "change.txt"].map(|path| chat.read(path));
    let made = files(&chat);
    let first = chat;

    let answers =
        [Write("a.txt"), Says("Made."), Write("tests.txt"), Says("Tests are there."), Write("change.txt")];
    let answers = answers.into_iter().chain([Says("It is described."), Says("Bye.")]);
    let (mut chat, requests) = chat_and_requests(answers.collect(), "auto-edit");
    for (prompt, expected) in [
        ("begin", "Made."),
        ("add tests", "Tests are there."),
        ("describe the change", "It is described."),
        ("and now", "Bye."),
    ] {
        chat.send(&format!("{prompt}\r"));
        chat.wait_for(expected);
        chat.wait_for_row(">");
    }
    let without = nth_request(&requests, 7);
    // Each chat has a folder of its own, so its path is replaced.
    let elsewhere = |request: &Value, chat: &Chat| {
        request.to_string().replace(chat.project.session.workspace().to_str().unwrap(), "WORKSPACE")
    };
    assert_eq!(elsewhere(&with, &first), elsewhere(&without, &chat));
    assert_eq!(made, files(&chat));
}

/// If the user kept their own version of a file, the file does not hold what the conversation says that the model
/// wrote. The model is told so, once.
#[test]
fn the_model_is_told_which_files_the_user_has_kept() {
    use ProviderReply::{Says, Suggests, Write};
    let answers = vec![
        Write("a.txt"),
        Says("Made."),
        Suggests("add tests"),
        Write("tests.txt"),
        Says("Tests are there."),
        Suggests(""),
        Says("I see."),
        Suggests(""),
        Says("Bye."),
    ];
    let (url, requests) = serve(answers);
    let project = project().variable("OPENAI_API_KEY", "test").variable("HEADSTART_BACKGROUND", "always");
    let arguments = ["chat", "--model", "openai:some-model", "--base-url", &url, "--mode", "auto-edit"];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 72, 40);
    chat.send("begin\r");
    chat.wait_for("ready · 1 file +1 -0 · Ctrl-O shows it\n> add tests  [Tab]");
    chat.project.session.write("project/tests.txt", "mine\n");
    chat.take();
    chat.answer_to("[m]ine / [t]heirs", "m");
    chat.wait_for("Tests are there.");
    // Typing would drop a query for a suggestion, so the test waits until the server has it, and then until it is
    // answered.
    let mut sent: Vec<Value> = requests.iter().take(6).collect();
    chat.settle();
    chat.send("go on\r");
    chat.wait_for("I see.");
    sent.extend(requests.iter().take(2));
    chat.settle();
    chat.send("and now\r");
    chat.wait_for("Bye.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("mine\n"));
    chat.leave();
    sent.extend(requests.iter());
    let words =
        |number: usize| sent[number]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(
        words(6).contains("The user kept their own version of these files") && words(6).contains("tests.txt"),
        "{}",
        words(6)
    );
    assert!(words(6).contains("go on") && !words(8).contains("kept their own"), "{}", words(8));
}

/// The conversation says that the model wrote a file. If the user undoes that afterwards, the next prompt says so,
/// once, and what was sent before stays as it was.
#[test]
fn the_model_is_told_what_the_user_has_undone() {
    let answers = ["It is made.", "I see.", "Yes.", "And again."].map(ProviderReply::Says);
    let (mut chat, requests) = chat_and_requests(
        [ProviderReply::Write("made.txt")].into_iter().chain(answers).collect(),
        "auto-edit",
    );
    let made = chat.project.session.workspace().join("made.txt");
    chat.send("make it\r");
    chat.wait_for("It is made.");
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    std::fs::remove_file(&made).unwrap();
    chat.send("go on\r");
    chat.wait_for("The model is told that you have undone its changes of made.txt.\nI see.");
    chat.send("is it so?\r");
    chat.wait_for("Yes.");
    chat.project.session.write("project/made.txt", "made\n");
    chat.send("and now?\r");
    chat.wait_for("And again.");
    chat.leave();
    let sent: Vec<Vec<Value>> =
        requests.iter().map(|body| body["messages"].as_array().unwrap().clone()).collect();
    let prompts: Vec<_> =
        sent.iter().skip(2).map(|messages| messages.last().unwrap()["content"].clone()).collect();
    assert_eq!(
        prompts,
        [
            "[Note: the user has undone changes that you made. These files are as they were before them:\n\
             - made.txt (there is no such file now)]\n\ngo on",
            "is it so?",
            "[Note: the user has made changes of yours again that were undone. These files hold them now:\n\
             - made.txt]\n\nand now?",
        ]
    );
    for (earlier, later) in sent.iter().zip(&sent[1..]) {
        assert_eq!(later[..earlier.len()], earlier[..], "what was sent once is never written anew");
    }
}
