//! The servers that the tests use, each played under its name.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use headstart_code_intel::{FrameDecoder, encode};
use serde_json::{Value, json};

/// Plays a server until its input ends.
pub(crate) fn play(part: &str) {
    match part {
        "garbage" => return write_raw(b"Starting the server, please wait...\n"),
        "half a frame" => return write_raw(b"Content-Length: 100\r\n\r\n{\"jsonrpc\""),
        "check" => return check(),
        "huge" => return write_raw(b"Content-Length: 99000000000\r\n\r\n{"),
        "crash" => {
            eprintln!("thread 'main' panicked: \u{1b}[31mout of luck\u{1b}[0m");
            std::process::exit(101);
        }
        _ => {}
    }
    let mut server = FakeServer { part: part.to_owned(), documents: BTreeMap::new(), asked: 0 };
    let mut decoder = FrameDecoder::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match std::io::stdin().read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => decoder.push(&buffer[..count]),
        }
        while let Some(message) = decoder.next_message().unwrap() {
            server.handle_message(&message);
        }
    }
}

/// Prints a line as `tsc` would for each mistake in the files of the folder.
fn check() {
    for file in std::fs::read_dir(".").unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        for (number, _) in std::fs::read_to_string(&name)
            .unwrap()
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains("ERR"))
        {
            println!("{name}({},1): error T1: ERR", number + 1);
        }
    }
}

struct FakeServer {
    part: String,
    documents: BTreeMap<String, (i64, String)>,
    asked: u32,
}

impl FakeServer {
    fn handle_message(&mut self, message: &Value) {
        let params = &message["params"];
        let document = &params["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default().to_owned();
        let version = document["version"].as_i64().unwrap_or_default();
        match message["method"].as_str().unwrap_or_default() {
            "textDocument/didOpen" => self.text(uri, version, &document["text"]),
            "textDocument/didChange" => self.text(uri, version, &params["contentChanges"][0]["text"]),
            "textDocument/didClose" => {
                self.documents.remove(&uri);
            }
            "initialize" if self.part == "sleeps" => {}
            "initialize" => {
                if self.part == "starts slowly" {
                    std::thread::sleep(Duration::from_millis(700));
                }
                answer(
                    message,
                    &json!({ "capabilities": {
                    "positionEncoding": "utf-8",
                    "hoverProvider": true, "renameProvider": true, "definitionProvider": true,
                    "documentSymbolProvider": true, "codeActionProvider": { "resolveProvider": false },
                } }),
                );
            }
            method if message.get("id").is_some() => self.handle_request(method, message),
            _ => {}
        }
    }

    fn handle_request(&mut self, method: &str, message: &Value) {
        self.asked += 1;
        let root = self.documents.keys().next().cloned().unwrap_or_default();
        let inside =
            |name: &str| format!("{}/{name}", root.rsplit_once('/').map_or("", |(folder, _)| folder));
        let edit = |uri: &str| json!({ "range": range(0, 0), "newText": uri });
        match (self.part.as_str(), method) {
            ("silent", _) => {}
            ("crash when asked", "textDocument/hover") => {
                eprintln!("stack overflow");
                std::process::exit(134);
            }
            ("flood", "textDocument/hover") => loop {
                let text = "x".repeat(60_000);
                send(
                    &json!({ "jsonrpc": "2.0", "method": "window/logMessage", "params": { "message": text } }),
                );
            },
            ("asks", "textDocument/hover") => {
                for id in 0..5_000 {
                    send(
                        &json!({ "jsonrpc": "2.0", "id": format!("q{id}"), "method": "workspace/configuration",
                        "params": { "items": [{ "section": "a" }, {}] } }),
                    );
                }
                answer(message, &json!({ "contents": "asked" }));
            }
            ("late", "textDocument/hover") if self.asked == 1 => {
                std::thread::sleep(Duration::from_millis(1_500));
                answer(message, &json!({ "contents": "late" }));
            }
            ("again", "textDocument/hover") if self.asked < 4 => fail(message, -32801, "content modified"),
            ("edits", "textDocument/hover") => {
                let edit = json!({ "changes": { inside("b.mock"): [edit("evil")] } });
                send(
                    &json!({ "jsonrpc": "2.0", "id": "e", "method": "workspace/applyEdit", "params": { "edit": edit } }),
                );
                answer(message, &json!({ "contents": "edited" }));
            }
            ("odd", "textDocument/definition") => answer(message, &json!({ "where": [1, 2] })),
            ("outside", "textDocument/definition") => {
                let places = ["file:///etc/passwd".to_owned(), inside("../../secret"), inside("b.mock")];
                let place = |uri: &String| json!({ "uri": uri, "range": range(900, 4_000_000_000) });
                answer(message, &places.iter().map(place).collect());
            }
            ("outside", "textDocument/rename") => {
                answer(
                    message,
                    &json!({ "changes": { root: [edit("x")], "file:///etc/passwd": [edit("x")] } }),
                );
            }
            ("stale", "textDocument/rename") => {
                let change = json!({ "textDocument": { "uri": root, "version": 99 }, "edits": [edit("x")] });
                answer(message, &json!({ "documentChanges": [change] }));
            }
            (_, "textDocument/codeAction") => answer(
                message,
                &json!([
                    { "title": "run it", "command": { "title": "run it", "command": "evil.run", "arguments": ["rm"] } },
                    { "title": "also run it", "command": "evil.run" },
                ]),
            ),
            (_, "workspace/executeCommand") => std::process::exit(66),
            (_, "textDocument/documentSymbol") => answer(message, &json!([])),
            (_, "textDocument/hover") => {
                let text =
                    self.documents.values().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("|");
                answer(message, &json!({ "contents": { "kind": "plaintext", "value": text } }));
            }
            _ => answer(message, &Value::Null),
        }
    }

    /// Takes the text of a file, and publishes an error for each line that contains `ERR`.
    fn text(&mut self, uri: String, version: i64, text: &Value) {
        let text = text.as_str().unwrap_or_default().to_owned();
        let found = text.lines().enumerate().filter(|(_, line)| line.contains("ERR"));
        let diagnostics: Vec<Value> = found
            .map(|(number, line)| {
                json!({ "range": range(number, line.find("ERR").unwrap_or(0)), "severity": 1, "message": line })
            })
            .collect();
        if self.part == "slow" && 1 < version {
            std::thread::sleep(Duration::from_millis(700));
        }
        if self.part == "flood of diagnostics" {
            for number in 0..5_500 {
                let uri = format!("{uri}.{number}.mock");
                publish(&uri, version, &vec![json!({ "range": range(0, 0), "message": "m".repeat(700) }); 1]);
            }
        }
        let tells = self.part == "tells progress";
        if tells {
            progress(version, &json!({ "kind": "begin", "title": "diagnosing changed files" }));
        }
        publish(&uri, version, &diagnostics);
        if self.part.starts_with("tells") {
            let waits = [("slow", 500), ("a moment", 100)].into_iter().find(|(word, _)| text.contains(word));
            let (other, diagnostics) = (uri.replace("a.mock", "b.mock"), diagnostics);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(waits.map_or(0, |(_, wait)| wait)));
                publish(&other, version, &diagnostics);
                if tells {
                    progress(version, &json!({ "kind": "end" }));
                }
            });
        }
        self.documents.insert(uri, (version, text));
    }
}

fn progress(token: i64, value: &Value) {
    send(&json!({ "jsonrpc": "2.0", "method": "$/progress", "params": { "token": token, "value": value } }));
}

fn publish(uri: &str, version: i64, diagnostics: &[Value]) {
    let params = json!({ "uri": uri, "version": version, "diagnostics": diagnostics });
    send(&json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params }));
}

fn range(line: usize, character: usize) -> Value {
    let at = json!({ "line": line, "character": character });
    json!({ "start": at, "end": at })
}

fn answer(message: &Value, result: &Value) {
    send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
}

fn fail(message: &Value, code: i64, text: &str) {
    send(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": code, "message": text } }));
}

fn send(message: &Value) {
    let mut stdout = std::io::stdout().lock();
    // The host may have closed the pipe already.
    if stdout.write_all(&encode(message)).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Writes the bytes and waits until its input ends.
fn write_raw(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_ok() {
        let _ended = std::io::stdin().read_to_end(&mut Vec::new());
    }
}
