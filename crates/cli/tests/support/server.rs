//! A provider on the loopback interface that speaks OpenAI's chat completions. It follows a script, so that it can
//! answer correctly, slowly or wrongly.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::PATIENCE;

/// The answer to one request.
#[derive(Debug, Clone)]
pub(crate) enum ScriptedResponse {
    /// A stream of server-sent events with chunked encoding.
    Stream(Vec<StreamStep>),
    /// A response that is not a stream.
    Whole { status: &'static str, headers: &'static str, body: String },
    /// These bytes unchanged, which include the head of the response, followed by these steps.
    Bytes(Vec<u8>, Vec<StreamStep>),
}

#[derive(Debug, Clone)]
pub(crate) enum StreamStep {
    /// A server-sent event.
    Data(String),
    /// These bytes unchanged, as a chunk of the stream.
    Raw(String),
    Wait(Duration),
    /// Closes the connection in the middle of the stream.
    Cut,
    /// Resets the connection, so that the client gets an error.
    Reset,
    /// Sends this chunk again and again, with this time between two of them.
    ForEver(String, Duration),
    /// Sends nothing more until the client closes the connection, and then tells the test.
    UntilClientLeaves,
}

/// A request that a client sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The request line and the headers; the names of headers are in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Answers requests in the order in which they come. A request after the end of the script is answered with status 500.
pub(crate) struct Server {
    pub(crate) base_url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    client_left: Receiver<()>,
}

impl Server {
    /// The arguments of a speculation that uses `model` on this server and may write without asking; `more` comes last.
    pub(crate) fn speculation<'a>(&'a self, model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let model = ["--model", model, "--base-url", &self.base_url];
        [&["speculate", "--json", "--mode", "auto-edit"], &model[..], more].concat()
    }

    pub(crate) fn start(answers: Vec<ScriptedResponse>) -> Self {
        let answers = Mutex::new(VecDeque::from(answers));
        Self::answering(move |_| answers.lock().unwrap().pop_front().unwrap_or_else(script_is_over))
    }

    /// Starts a server whose answers depend on the requests.
    pub(crate) fn answering(answer: impl Fn(&Request) -> ScriptedResponse + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let (left, client_left) = channel();
        let log = Arc::clone(&requests);
        // The thread ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer, left) = (Arc::clone(&log), Arc::clone(&answer), left.clone());
                std::thread::spawn(move || {
                    let Ok(request) = read_request(&stream) else { return };
                    log.lock().unwrap().push(request.clone());
                    // A client that leaves in the middle of an answer is no failure of the server.
                    drop(serve(&stream, answer(&request), &left));
                });
            }
        });
        Self { base_url, requests, client_left }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until a client has asked something.
    pub(crate) fn wait_for_request(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.requests.lock().unwrap().is_empty() {
            assert!(Instant::now() < deadline, "nobody asks");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a client has closed the connection of an answer with [`StreamStep::UntilClientLeaves`].
    pub(crate) fn wait_until_client_left(&self) {
        self.client_left.recv_timeout(PATIENCE).expect("the client leaves");
    }
}

impl Request {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// An answer that says `text` in pieces, followed by its usage.
pub(crate) fn says(text: &str) -> ScriptedResponse {
    let mut steps = vec![delta(&json!({"role": "assistant", "content": ""}))];
    let letters: Vec<char> = text.chars().collect();
    steps.extend(letters.chunks(4).map(|piece| delta(&json!({"content": String::from_iter(piece)}))));
    steps.extend(end("stop"));
    ScriptedResponse::Stream(steps)
}

/// An answer that calls tools in parallel; the pieces of their arguments are interleaved.
pub(crate) fn calls(calls: &[(&str, Value)]) -> ScriptedResponse {
    let mut steps = vec![delta(&json!({"role": "assistant", "content": "Let me see."}))];
    let arguments: Vec<Vec<char>> =
        calls.iter().map(|(_, args)| args.to_string().chars().collect()).collect();
    for (index, (name, _)) in calls.iter().enumerate() {
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function",
            "function": {"name": name, "arguments": ""}});
        steps.push(delta(&json!({"tool_calls": [call]})));
    }
    let longest = arguments.iter().map(Vec::len).max().unwrap_or_default();
    for start in (0..longest).step_by(5) {
        for (index, arguments) in arguments.iter().enumerate().filter(|(_, text)| start < text.len()) {
            let piece: String = arguments.iter().skip(start).take(5).collect();
            let call = json!({"index": index, "function": {"arguments": piece}});
            steps.push(delta(&json!({"tool_calls": [call]})));
        }
    }
    steps.extend(end("tool_calls"));
    ScriptedResponse::Stream(steps)
}

/// One piece of an answer.
pub(crate) fn delta(delta: &Value) -> StreamStep {
    chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), &Value::Null)
}

/// The end of an answer: its reason, a usage of 100 prompt tokens (80 of them cached) and 10 completion tokens, and
/// `[DONE]`.
pub(crate) fn end(reason: &str) -> [StreamStep; 3] {
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 80}});
    [
        chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), &Value::Null),
        chunk(&json!([]), &usage),
        StreamStep::Data("[DONE]".to_owned()),
    ]
}

fn chunk(choices: &Value, usage: &Value) -> StreamStep {
    let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "test",
        "choices": choices, "usage": usage});
    StreamStep::Data(chunk.to_string())
}

fn script_is_over() -> ScriptedResponse {
    let body = r#"{"error":{"message":"the script of the test is over"}}"#.to_owned();
    ScriptedResponse::Whole { status: "500 Internal Server Error", headers: "", body }
}

fn read_request(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let Some((name, value)) = line.split_once(':') else {
            if line.is_empty() {
                break;
            }
            head.extend([line, "\n"]);
            continue;
        };
        let name = name.to_ascii_lowercase();
        if name == "content-length" {
            length = value.trim().parse().unwrap();
        }
        head.extend([&name, ":", value, "\n"]);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Request { head, body: String::from_utf8(body).unwrap() })
}

fn serve(mut stream: &TcpStream, answer: ScriptedResponse, left: &Sender<()>) -> io::Result<()> {
    let steps = match answer {
        ScriptedResponse::Stream(steps) => steps,
        ScriptedResponse::Whole { status, headers, body } => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n"
            );
            return stream.write_all(format!("{head}{body}").as_bytes());
        }
        ScriptedResponse::Bytes(bytes, steps) => {
            stream.write_all(&bytes)?;
            return play(stream, steps, left);
        }
    };
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    play(stream, steps, left)?;
    stream.write_all(b"0\r\n\r\n")
}

/// Plays the steps of an answer. An error closes the connection before the body has ended.
fn play(mut stream: &TcpStream, steps: Vec<StreamStep>, left: &Sender<()>) -> io::Result<()> {
    for step in steps {
        match step {
            StreamStep::Data(data) => write_in_two_chunks(stream, &format!("data: {data}\n\n"))?,
            StreamStep::Raw(bytes) => write_chunk(stream, bytes.as_bytes())?,
            StreamStep::Wait(time) => std::thread::sleep(time),
            StreamStep::Cut => return Err(io::ErrorKind::ConnectionAborted.into()),
            StreamStep::Reset => return Err(reset(stream)),
            StreamStep::ForEver(bytes, apart) => loop {
                write_chunk(stream, bytes.as_bytes())?;
                std::thread::sleep(apart);
            },
            StreamStep::UntilClientLeaves => {
                // The client sends nothing more: this read ends when it closes or resets the connection.
                let _ = stream.read(&mut [0; 64]);
                // The send fails if the test has ended, which is no failure.
                let _ = left.send(());
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
    }
    Ok(())
}

/// Makes closing the connection an error for the client: the connection is reset instead of closed in order.
fn reset(stream: &TcpStream) -> io::Error {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let _inside = runtime.enter();
    let copy = stream.try_clone().unwrap();
    copy.set_nonblocking(true).unwrap();
    tokio::net::TcpStream::from_std(copy).unwrap().set_zero_linger().unwrap();
    io::ErrorKind::ConnectionReset.into()
}

/// A network may split data anywhere, so an event is sent in two chunks, split in its middle.
fn write_in_two_chunks(stream: &TcpStream, event: &str) -> io::Result<()> {
    let (start, rest) = event.as_bytes().split_at(event.len() / 2);
    write_chunk(stream, start)?;
    write_chunk(stream, rest)
}

fn write_chunk(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)?;
    stream.flush()
}

/// An answer of Anthropic's Messages API that calls a tool.
pub(crate) fn messages_call(id: &str, tool: &str, args: &Value) -> ScriptedResponse {
    messages_answer(
        &json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
        &json!({ "type": "input_json_delta", "partial_json": args.to_string() }),
        "tool_use",
    )
}

/// An answer of Anthropic's Messages API in words.
pub(crate) fn messages_say(text: &str) -> ScriptedResponse {
    let block = json!({ "type": "text", "text": "" });
    messages_answer(&block, &json!({ "type": "text_delta", "text": text }), "end_turn")
}

fn messages_answer(block: &Value, delta: &Value, reason: &str) -> ScriptedResponse {
    let id = format!("msg_{}", number());
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ];
    named_events(&events)
}

/// An answer of OpenAI's Responses API that calls a tool.
pub(crate) fn responses_call(tool: &str, args: &Value) -> ScriptedResponse {
    let call = format!("call_{}", number());
    responses_answer(
        &json!({ "type": "function_call", "id": format!("f_{call}"), "call_id": call, "name": tool,
        "arguments": args.to_string(), "status": "completed" }),
    )
}

/// An answer of OpenAI's Responses API that calls a tool whose input is a text.
pub(crate) fn responses_text_call(tool: &str, input: &str) -> ScriptedResponse {
    let call = format!("call_{}", number());
    responses_answer(
        &json!({ "type": "custom_tool_call", "id": format!("c_{call}"), "call_id": call, "name": tool,
        "input": input, "status": "completed" }),
    )
}

/// An answer of OpenAI's Responses API in words.
pub(crate) fn responses_say(text: &str) -> ScriptedResponse {
    responses_answer(&json!({ "type": "message", "id": format!("m_{}", number()), "role": "assistant",
        "status": "completed", "content": [{ "type": "output_text", "text": text, "annotations": [] }] }))
}

fn responses_answer(item: &Value) -> ScriptedResponse {
    let usage = json!({ "input_tokens": 100, "input_tokens_details": { "cached_tokens": 80 }, "output_tokens": 10,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 110 });
    let id = format!("r_{}", number());
    let events = [
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }),
    ];
    named_events(&events)
}

/// A number for an id. Clients would take pieces with the same id for one answer.
fn number() -> usize {
    static ANSWERS: AtomicUsize = AtomicUsize::new(1);
    ANSWERS.fetch_add(1, Ordering::Relaxed)
}

fn named_events(events: &[Value]) -> ScriptedResponse {
    let raw = |event: &Value| {
        StreamStep::Raw(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
    };
    ScriptedResponse::Stream(events.iter().map(raw).collect())
}
