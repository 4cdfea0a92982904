//! Holds how language servers work in a chat: in turns, ahead, for several runs at the same time, and that they end
//! with the chat.

#![expect(clippy::unwrap_used, reason = "what the server cannot do stops the test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Chat, Project, project, project_with_suggestion};
use crate::parallel::{call, text};
use crate::provider::read_request;
use crate::support::PATIENCE;

const SERVER: &str = include_str!("../support/language_server.py");

/// Configures a server for the files of a made-up language, with time limits that a busy machine does not reach.
fn with_server(project: Project, settings: &str) -> Project {
    let session = &project.session;
    session.write("server/mock", SERVER);
    let server = session.workspace().with_file_name("server").join("mock").canonicalize().unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let server = server.display();
    session
        .write(
            "home/.config/headstart/config.toml",
            format!(
                "[code-intel]\nafter_edit = '20s'\n{settings}\n[code-intel.servers.mock]\ncommand = '{server}'\nargs = ['good']\n\
                 languages = {{ mock = 'mock' }}\nsettling = 'versions'\n\
                 check = {{ command = '{server}', args = ['check'], format = 'tsc' }}\n"
            ),
        )
        .write("project/a.mock", "one\n")
        .write("project/b.mock", "two\n");
    project.variable("HEADSTART_SHADOW", "")
}

fn edits(project: Project, file: &str, from: &str, to: &str) -> Project {
    project.calls(0, "edit", json!({ "file_path": file, "old_string": from, "new_string": to }))
}

fn looks(project: Project) -> Project {
    project.calls(0, "diagnostics", json!({ "paths": ["a.mock"] }))
}

/// Nobody has to wait at their first edit for a server that was started only then.
#[test]
fn a_server_of_the_projects_language_starts_with_the_conversation() {
    let project = with_server(project(), "").says(0, "Never asked.");
    let server = project.session.workspace().with_file_name("server").join("mock").canonicalize().unwrap();
    let mut words = server.into_os_string().into_encoded_bytes();
    words.extend(b"\0good\0");
    let runs = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| line.ends_with(&words))
    };
    let chat = project.chat_in("default", 80, 24);
    chat.wait_until("a server runs before the first prompt", |_| runs());
    chat.leave();
    let deadline = Instant::now() + PATIENCE;
    while runs() {
        assert!(Instant::now() < deadline, "the server ends with the chat");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Each edit of a turn is staged before the next one, and the server's view follows.
#[test]
fn a_turn_tells_the_errors_that_each_of_its_edits_brought() {
    let project = looks(with_server(project(), ""));
    let project = edits(project, "a.mock", "one", "ERR one");
    let project = edits(project, "b.mock", "two", "use c.mock");
    let project = project.writes(0, "c.mock", "ERR three\n");
    let project = edits(project, "a.mock", "ERR one", "one").says(0, "All is told.");
    let mut chat = project.chat_in("auto-edit", 100, 40);
    chat.send("begin\r");
    chat.wait_for("All is told.");
    chat.wait_for("written · /undo takes it back");
    let screen = chat.contents();
    let told: Vec<&str> = screen.lines().map(str::trim).filter(|row| row.starts_with("mock: ")).collect();
    assert_eq!(
        told,
        ["mock: 1 new error in a.mock", "mock: 1 new error in b.mock", "mock: 1 new error in c.mock"],
        "{screen}"
    );
    assert_eq!(chat.read("a.mock").as_deref(), Some("one\n"));
    assert_eq!(chat.read("b.mock").as_deref(), Some("use c.mock\n"));
    chat.leave();
}

#[test]
fn an_edit_of_the_users_is_known_to_the_server() {
    let project = looks(with_server(project(), "")).says(0, "First.");
    let project = edits(project, "b.mock", "two", "use c.mock").says(0, "Second.");
    let mut chat = project.chat_in("auto-edit", 100, 40);
    chat.send("begin\r");
    chat.wait_for("First.");
    chat.project.session.write("project/c.mock", "three\n");
    chat.send("go on\r");
    chat.wait_for("Second.");
    assert_eq!(chat.count("new error"), 0, "{}", chat.contents());
    chat.leave();
}

/// A checker runs anew for each question, on the file as it is then.
#[test]
fn an_edit_of_the_users_is_known_to_a_checker() {
    let mut project = with_server(project(), "mode = 'check'");
    project.session.write("project/a.mock", "one\nERR two\n");
    for said in ["First.", "Second.", "Third."] {
        project = looks(project).says(0, said);
    }
    let mut chat = project.chat_in("auto-edit", 100, 40);
    chat.send("begin\r");
    chat.wait_for("First.");
    let file = chat.project.session.workspace().join("a.mock");
    // The file is replaced, as editors do when they save.
    fs::write(file.with_extension("new"), "one\ntwo\n").unwrap();
    fs::rename(file.with_extension("new"), &file).unwrap();
    chat.send("go on\r");
    chat.wait_for("Second.");
    fs::rename(&file, file.with_file_name("c.mock")).unwrap();
    fs::write(&file, "ERR one\ntwo\n").unwrap();
    chat.send("go on\r");
    chat.wait_for("Third.");
    chat.leave_keeping(|session| {
        let sessions = session.home().join(".local/state/headstart/sessions");
        let folder = fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
        let mut files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let kept = files.find(|file| file.extension().is_some_and(|end| end == "jsonl")).unwrap();
        let lines = fs::read_to_string(kept).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let read: Vec<Value> = lines.map(|line| line["message"]["parts"][0]["output"].clone()).collect();
        let read: Vec<&str> = read.iter().filter_map(Value::as_str).collect();
        let told = [
            "present (1):\na.mock:2:1: error T1: ERR two",
            "nothing new",
            "present (1):\na.mock:1:1: error T1: ERR one",
        ];
        assert_eq!(read, told);
    });
}

#[test]
fn work_ahead_is_told_and_the_disk_shows_nothing_before_tab() {
    let project = looks(with_server(project_with_suggestion(), ""));
    let project = edits(project, "a.mock", "one", "ERR one");
    let project = edits(project, "a.mock", "ERR one", "uno").says(0, "Mended.");
    let mut chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    assert_eq!((chat.count("new error"), chat.read("a.mock").as_deref()), (0, Some("one\n")));
    chat.take();
    chat.wait_for("Mended.");
    assert_eq!(chat.count("mock: 1 new error in a.mock"), 1, "{}", chat.contents());
    assert_eq!(chat.read("a.mock").as_deref(), Some("uno\n"));
    chat.leave();
}

/// For each prompt, the results that its run has read.
type Read = Arc<(Mutex<BTreeMap<String, Vec<String>>>, Condvar)>;

/// Two prompts run at the same time and write one file each. When both have done so, each looks at what the one server
/// for both sees.
fn serve(mut stream: TcpStream, read: &Read) {
    let request = read_request(&stream);
    let messages = request["messages"].as_array().unwrap();
    let asked = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let prompt = messages[asked]["content"].as_str().unwrap().to_owned();
    let results: Vec<String> = messages[asked + 1..]
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    let _ = write!(stream, "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    if prompt.contains("Give up to three guesses") {
        return text(&mut stream, "1. write the tests\n2. commit this");
    }
    let (all, changed) = &**read;
    all.lock().unwrap().insert(prompt.clone(), results.clone());
    changed.notify_all();
    let name = format!("{}.mock", prompt.replace(' ', "-"));
    let place = json!({ "path": "a.mock", "line": 1, "symbol": "one" });
    match (prompt.as_str(), results.len()) {
        (_, 0) => call(&mut stream, "diagnostics", &json!({ "paths": ["a.mock"] })),
        ("begin", _) => text(&mut stream, "First answer."),
        (_, 1) => {
            call(
                &mut stream,
                "write_file",
                &json!({ "file_path": name, "content": format!("ERR {name}\n") }),
            );
        }
        (_, 2) => {
            let both = |all: &mut BTreeMap<String, Vec<String>>| {
                ["write the tests", "commit this"]
                    .iter()
                    .any(|one| all.get(*one).is_none_or(|read| read.len() < 2))
            };
            drop(changed.wait_timeout_while(all.lock().unwrap(), PATIENCE, both).unwrap());
            call(&mut stream, "hover", &place);
        }
        _ => text(&mut stream, "All of it is done."),
    }
}

#[test]
fn two_that_run_ahead_at_the_same_time_see_nothing_of_each_other() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let read = Read::default();
    let kept = Arc::clone(&read);
    // The thread ends with the process of the test.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let read = Arc::clone(&kept);
            std::thread::spawn(move || serve(stream, &read));
        }
    });
    let project = with_server(project(), "").variable("OPENAI_API_KEY", "test");
    let settings = project.session.home().join(".config/headstart/config.toml");
    let servers = fs::read_to_string(&settings).unwrap();
    let several = "background = 'always'\n[models.some-model]\nfree = false\n";
    fs::write(&settings, format!("{several}{servers}")).unwrap();
    let arguments = ["chat", "--model", "openai:some-model", "--base-url", &url, "--mode", "auto-edit"];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 72, 40);
    let before = chat.project.session.tree();
    chat.send("begin\r");
    chat.wait_for("working · 1 file +1 -0");
    // The second one runs once it is marked. The first goes on when both have written.
    chat.send("\x1bn");
    let (all, changed) = &*read;
    let missing = |all: &mut BTreeMap<String, Vec<String>>| {
        ["write the tests", "commit this"].iter().any(|one| all.get(*one).is_none_or(|read| read.len() < 3))
    };
    let all = changed.wait_timeout_while(all.lock().unwrap(), PATIENCE, missing).unwrap().0.clone();
    for (own, other) in [("write the tests", "commit-this"), ("commit this", "write-the-tests")] {
        let read = &all[own];
        let name = own.replace(' ', "-");
        assert!(read[1].contains(&format!("[mock: 1 new error in {name}.mock]")), "{own}: {read:#?}");
        assert!(read[2].contains(&format!("ERR {name}.mock")), "{own}: {read:#?}");
        assert!(!read.concat().contains(other), "{own}: {read:#?}");
    }
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}
