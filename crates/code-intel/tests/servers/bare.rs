//! Measures how long it takes after an edit until its errors are known: through code intelligence, and with the server
//! alone for comparison.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use headstart_code_intel::{Adapter, FrameDecoder, Settings, Severity, Snapshot, encode, uri_of};
use serde_json::{Value, json};

use crate::support::{TestProject, find, path, require};

const ROUNDS: usize = 20;

/// A project with one file, and its text with and without an error in round `n`.
struct Case {
    server: &'static str,
    files: &'static [(&'static str, &'static str)],
    main: &'static str,
    text: fn(usize, bool) -> String,
    /// Whether the server finds its errors in the files on disk.
    is_saved: bool,
}

#[test]
#[ignore = "it only prints; `.ci/long` runs it"]
fn figures() {
    let python = |n: usize, wrong: bool| {
        format!("def f(x: int) -> int:\n    return x + {n}\n\nf({})\n", if wrong { "\"a\"" } else { "1" })
    };
    let cases = [
        Case { server: "pyright", files: &[("main.py", "")], main: "main.py", text: python, is_saved: false },
        Case {
            server: "basedpyright",
            files: &[("main.py", "")],
            main: "main.py",
            text: python,
            is_saved: false,
        },
        Case {
            server: "typescript-language-server",
            files: &[("tsconfig.json", "{}\n"), ("main.ts", "export {};\n")],
            main: "main.ts",
            text: |n, wrong| {
                format!(
                    "export const x: number = {};\nexport const y = x + {n};\n",
                    if wrong { "\"a\"" } else { "1" }
                )
            },
            is_saved: false,
        },
        Case {
            server: "rust-analyzer",
            files: &[
                ("Cargo.toml", "[package]\nname = \"bare\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
                ("src/lib.rs", "pub fn f() {}\n"),
            ],
            main: "src/lib.rs",
            // An error that only the compiler finds, so that both measurements have to wait for the compiler.
            text: |n, wrong| {
                format!(
                    "pub fn f() -> usize {{\n    let x = String::new();\n    {}\n    x.len() + {n}\n}}\n",
                    if wrong { "drop(x);" } else { "" }
                )
            },
            is_saved: true,
        },
        Case {
            server: "gopls",
            files: &[
                ("go.mod", "module example.com/bare\n\ngo 1.18\n"),
                ("main.go", "package main\n\nfunc main() {}\n"),
            ],
            main: "main.go",
            text: |n, wrong| {
                format!(
                    "package main\n\nfunc main() {{\n\tvar x int = {}\n\tprintln(x, {n})\n}}\n",
                    if wrong { "\"a\"" } else { "1" }
                )
            },
            is_saved: false,
        },
        Case {
            server: "clangd",
            files: &[("compile_flags.txt", "-xc++\n"), ("main.cpp", "int main() {}\n")],
            main: "main.cpp",
            text: |n, wrong| {
                format!("int main() {{ int x = {}; return x + {n}; }}\n", if wrong { "\"a\"" } else { "1" })
            },
            is_saved: false,
        },
    ];
    for case in &cases {
        let (cold, bare) = bare(case);
        let (our_cold, ours) = through(case);
        println!(
            "{}: cold {cold:?} bare, {our_cold:?} here; warm {:?} bare, {:?} here (medians of {ROUNDS})",
            case.server,
            median(bare),
            median(ours)
        );
    }
}

fn through(case: &Case) -> (Duration, Vec<Duration>) {
    let mut settings = Settings { request_timeout: Duration::from_secs(60), ..Settings::default() };
    settings.adapters.retain(|adapter| adapter.name == case.server);
    let world = TestProject::new(case.files, settings);
    let started = Instant::now();
    world.ready(case.main);
    let cold = started.elapsed();
    let rounds = (0..ROUNDS).map(|round| {
        let wrong = round % 2 == 0;
        let text = (case.text)(round, wrong);
        let snapshot = Snapshot::of(world.staged(&[(case.main, Some(&text))]));
        let asked = Instant::now();
        let delta = async_io::block_on(world.intel.diagnostics(&snapshot, &[], Severity::Error)).unwrap();
        assert_eq!(delta.new_errors, usize::from(wrong), "{}: {delta:#?}", case.server);
        asked.elapsed()
    });
    (cold, rounds.collect())
}

/// Measures the server alone: the clock runs from the change that is sent to the diagnostics of its version.
fn bare(case: &Case) -> (Duration, Vec<Duration>) {
    let adapter = Adapter::standard().into_iter().find(|adapter| adapter.name == case.server).unwrap();
    require(&adapter.command);
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    for (name, text) in case.files {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let disk = root.join(case.main);
    // Some servers publish nothing for a file without an error. A file that is checked on disk therefore begins with
    // one.
    let begins = if case.is_saved {
        (case.text)(ROUNDS, true)
    } else {
        case.files.iter().find(|(name, _)| *name == case.main).unwrap().1.to_owned()
    };
    std::fs::write(&disk, &begins).unwrap();
    let root = root.to_str().unwrap().to_owned();
    let uri = uri_of(&root, &path(case.main));
    let started = Instant::now();
    let mut bare = BareClient::start(&adapter, &root, !case.is_saved);
    let language = adapter.language(&path(case.main)).unwrap();
    bare.notify(
        "textDocument/didOpen",
        &json!({ "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": begins } }),
    );
    while bare.diagnostics(&uri, 1).is_empty() && case.is_saved {}
    let cold = started.elapsed();
    let rounds = (0..ROUNDS).map(|round| {
        let wrong = (round % 2 == 0) != case.is_saved;
        let version = round + 2;
        let text = (case.text)(round, wrong);
        let change = json!({
            "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }],
        });
        let asked = Instant::now();
        bare.notify("textDocument/didChange", &change);
        if case.is_saved {
            std::fs::write(&disk, text).unwrap();
            bare.notify("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
        }
        // Diagnostics of an older version may come first.
        while bare.diagnostics(&uri, version).iter().any(|one| one["severity"] == 1) != wrong {}
        asked.elapsed()
    });
    (cold, rounds.collect())
}

struct BareClient {
    child: Child,
    decoder: FrameDecoder,
    id: i64,
    pulls: bool,
}

impl BareClient {
    fn start(adapter: &Adapter, root: &str, asks: bool) -> Self {
        let mut command = Command::new(find(&adapter.command).unwrap());
        command.args(&adapter.args).current_dir(root);
        let child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut bare = Self { child, decoder: FrameDecoder::default(), id: 0, pulls: false };
        let folder = format!("file://{root}");
        let mut documents = json!({ "publishDiagnostics": { "versionSupport": true } });
        if asks {
            documents["diagnostic"] = json!({});
        }
        let answer = bare.ask(
            "initialize",
            &json!({
                "processId": null, "rootUri": folder, "workspaceFolders": [{ "uri": folder, "name": "bare" }],
                "initializationOptions": adapter.options,
                "capabilities": {
                    "textDocument": documents,
                    "workspace": { "configuration": true, "workspaceFolders": true },
                    "window": { "workDoneProgress": true },
                },
            }),
        );
        bare.pulls = asks && !answer["capabilities"]["diagnosticProvider"].is_null();
        bare.notify("initialized", &json!({}));
        bare
    }

    fn diagnostics(&mut self, uri: &str, version: usize) -> Vec<Value> {
        if self.pulls {
            let answer = self.ask("textDocument/diagnostic", &json!({ "textDocument": { "uri": uri } }));
            return answer["items"].as_array().cloned().unwrap_or_default();
        }
        loop {
            let message = self.next();
            let params = &message["params"];
            let is_new = params["version"].as_u64().is_none_or(|of| version as u64 <= of);
            if message["method"] == "textDocument/publishDiagnostics" && params["uri"] == uri && is_new {
                return params["diagnostics"].as_array().cloned().unwrap_or_default();
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.next();
            if message["id"] == id && message["method"].is_null() {
                return message["result"].clone();
            }
        }
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        self.child.stdin.as_mut().unwrap().write_all(&encode(message)).unwrap();
    }

    /// The next message of the server. Its requests are answered with nothing.
    fn next(&mut self) -> Value {
        let mut buffer = vec![0; 1 << 16];
        loop {
            if let Some(message) = self.decoder.next_message().unwrap() {
                if !message["id"].is_null() && !message["method"].is_null() {
                    let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                    let result = if 0 < items { json!(vec![Value::Null; items]) } else { Value::Null };
                    self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
                }
                return message;
            }
            let count = self.child.stdout.as_mut().unwrap().read(&mut buffer).unwrap();
            assert_ne!(count, 0, "the server ended");
            self.decoder.push(&buffer[..count]);
        }
    }
}

impl Drop for BareClient {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
