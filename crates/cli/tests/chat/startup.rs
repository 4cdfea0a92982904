//! Holds what a newcomer sees who types `headstart` alone, begins a chat without a model, plays the bundled recording,
//! or gives a prompt at once.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use crate::fixture::{Chat, project};
use crate::pty::Pty;
use crate::support::Session;

/// The arguments that play the bundled recording fast.
const RECORDED: [&str; 5] = ["chat", "--model", "replay:demo", "--speed", "20"];

fn terminal(session: &Session, arguments: &[&str], columns: u16) -> Pty {
    Pty::of(&session.command(arguments), columns, 40)
}

/// Starts a server on this machine that lists one model, as Ollama does. Returns the value of `OLLAMA_HOST`.
fn ollama() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("a port").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("somebody asks");
            let _ = stream.read(&mut [0; 4096]);
            let body = r#"{"models":[{"name":"qwen3:8b"}]}"#;
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    host
}

#[test]
fn headstart_alone_shows_where_to_begin_and_touches_nothing() {
    let session = Session::new();
    for columns in [40, 80, 120] {
        let mut pty = terminal(&session, &[], columns);
        assert_eq!(pty.exit_code(), 0, "{}", pty.contents());
        pty.wait_for("Nothing is sent");
        let page = pty.contents();
        for word in ["headstart demo", "--model replay:demo", "headstart help", "once Ollama runs"] {
            assert!(page.contains(word), "{columns}: {page}");
        }
        for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            assert!(columns < 80 || page.contains(&format!("once {key} is set")), "{columns}: {page}");
        }
        let rows = page.trim_end().lines().count();
        assert!(columns < 80 || rows <= 10, "{columns}: {rows} rows\n{page}");
    }
    assert_eq!(session.tree(), []);
    assert_eq!(fs::read_dir(session.home()).unwrap().count(), 0);
    let outcome = session.run(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome}");
    assert!(outcome.stderr.contains("Usage: headstart"), "{outcome}");
}

#[test]
fn a_terminal_that_does_not_know_its_width_is_one_of_80_columns() {
    let session = Session::new();
    for arguments in [&[][..], &["demo", "--speed", "100"]] {
        assert_eq!(terminal(&session, arguments, 0).exit_code(), 0, "{arguments:?}");
    }
}

#[test]
fn a_chat_without_a_model_says_what_there_is_and_what_to_type() {
    let session =
        Session::new().variable("OPENAI_API_KEY", "sk-secret-key").variable("OLLAMA_HOST", &ollama());
    let outcome = session.run(&["chat"]);
    let port = outcome.stderr.split("http://localhost:").nth(1).unwrap_or_default();
    let port = port.split_whitespace().next().unwrap_or_default();
    outcome.assert_refused(
        2,
        &[
            "no model is chosen yet. What there is here:\n",
            &format!("  headstart chat --model ollama:qwen3:8b --base-url http://localhost:{port}\n"),
            &format!("Ollama answers on localhost:{port}\n"),
            "  headstart chat --model openai:gpt-5.4  OPENAI_API_KEY is set\n",
            "  headstart chat --model replay:demo ",
            "HEADSTART_MODEL, or `model` in ",
        ],
    );
    assert!(!outcome.stderr.contains("secret"), "{outcome}");
    let json = session.run(&["chat", "--json"]);
    assert_eq!(json.json()[0]["type"], "error");
    assert!(json.json()[0]["message"].as_str().unwrap().contains("ollama:qwen3:8b"), "{json}");
}

/// Holds that a user with an empty home gets to an answer with a number, a yes and a prompt.
#[test]
fn a_chat_without_a_model_lets_its_user_choose_one_by_a_number() {
    let session = Session::with_project().variable("OLLAMA_HOST", &ollama());
    let file = session.home().join(".config/headstart/config.toml");
    let mut pty = terminal(&session, &["chat"], 80);
    pty.wait_for("headstart has no model yet. Choose one:");
    pty.wait_for("  1  ollama:qwen3:8b              Ollama answers on localhost:");
    pty.wait_for("  2  replay:demo ");
    pty.wait_for("1-3, or Enter alone to leave: ");
    pty.send("7\r");
    pty.wait_for("7 is none of them.");
    pty.send("1\r");
    pty.wait_for("[y/N] ");
    assert!(!file.exists());
    pty.send("y\r");
    pty.wait_for("headstart: qwen3:8b · default");
    let content = fs::read_to_string(&file).unwrap();
    assert!(content.starts_with("model = \"ollama:qwen3:8b\"\nbase_url = \"http://localhost:"), "{content}");
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
    // The question is not asked again, and `headstart` alone now begins a chat.
    let mut pty = terminal(&session, &[], 80);
    pty.wait_for("headstart: qwen3:8b · default");
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn whoever_chooses_no_model_is_told_what_to_type_and_what_their_file_says_stays() {
    let session = Session::with_project().variable("ANTHROPIC_API_KEY", "sk-secret-key");
    let file = session.home().join(".config/headstart/config.toml");
    let mut pty = terminal(&session, &["chat"], 80);
    pty.wait_for("  1  anthropic:claude-sonnet-5    ANTHROPIC_API_KEY is set");
    pty.send("\r");
    assert_eq!(pty.exit_code(), 2);
    pty.wait_for("To keep a choice: HEADSTART_MODEL");
    assert!(!file.exists());
    // The user names a model; the file already has tables.
    session.write("home/.config/headstart/config.toml", "[limits]\nturns = 3\n");
    let mut pty = terminal(&session, &["chat"], 80);
    pty.wait_for("to leave: ");
    pty.send("3\r");
    pty.wait_for("Model, as ");
    pty.send("nobody\r");
    pty.wait_for("nobody");
    pty.send("ollama:mine\r");
    pty.wait_for("Address, or Enter");
    pty.send("\r");
    pty.wait_for("[y/N] ");
    pty.send("y\r");
    pty.wait_for("headstart: mine · default");
    assert_eq!(fs::read_to_string(&file).unwrap(), "model = \"ollama:mine\"\n[limits]\nturns = 3\n");
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
    assert!(!pty.contents().contains("secret"), "{}", pty.contents());
}

#[test]
fn a_prompt_on_the_command_line_is_sent_at_once() {
    let project = project().says(0, "First answer.").says(0, "Second answer.");
    let arguments = [project.arguments("default"), vec!["say something".to_owned()]].concat();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.wait_for("> say something\nFirst answer.");
    chat.send("more\r");
    chat.wait_for("Second answer.");
    chat.leave();
}

#[test]
fn a_prompt_on_the_command_line_of_a_script_is_one_turn() {
    let project = project().says(0, "First answer.").says(0, "Second answer.");
    let arguments = [project.arguments("default"), vec!["say something".to_owned()]].concat();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = project.session.run(&arguments);
    assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "First answer."), "{outcome}");
    project.session.run(&["chat", "  "]).assert_refused(2, &["it holds no word"]);
}

/// The recording is played with Enter and with Tab three times.
#[test]
fn the_recording_is_played_by_whoever_presses_the_keys() {
    let temporary = tempfile::tempdir().unwrap();
    let session = Session::with_project()
        .variable("TMPDIR", &temporary.path().display().to_string())
        .variable("HEADSTART_SHADOW", "");
    let before = session.hash();
    let mut pty = terminal(&session, &RECORDED, 80);
    pty.wait_for("A recording answers here, not a model");
    pty.wait_for("> add a function that gives the most frequent words  [Enter]");
    pty.send("\r");
    pty.wait_for("[Tab]");
    pty.send("what are you?\r");
    pty.wait_for("I am a recording, not a model");
    for suggestion in ["add tests for top", "update the changelog", "commit and push"] {
        pty.wait_for(&format!("> {suggestion}  [Tab]"));
        // A key that was on its way when the suggestion appeared takes nothing, so the test waits.
        std::thread::sleep(std::time::Duration::from_millis(450));
        pty.send("\t");
        pty.wait_until("the suggestion taken", |screen| {
            !screen.contents().contains(&format!("> {suggestion}  [Tab]"))
        });
    }
    pty.wait_for("1 commit on main");
    pty.wait_for("git push");
    pty.wait_for("[n]o");
    std::thread::sleep(std::time::Duration::from_millis(500));
    pty.send("y");
    pty.wait_until("the end of the last turn", |screen| {
        let text = screen.contents();
        text.contains("That was all of the recording") && !text.contains("(Ctrl-C interrupts)")
    });
    let sample = fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().path().join("project"));
    let sample = sample.into_iter().find(|project| project.is_dir()).unwrap();
    let mut git = std::process::Command::new("git");
    let log = git.args(["log", "--stat", "--format=%s", "-1"]).current_dir(&sample).output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    for word in ["Add top", "tests/top.sh", "CHANGELOG.md", "wordcount.sh"] {
        assert!(log.contains(word), "{log}");
    }
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
    pty.wait_for("5 turns · ");
    pty.wait_for("What to do next");
    // No file of the user was touched, and nothing is left behind.
    assert_eq!(session.hash(), before);
    assert_eq!(fs::read_dir(session.home()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

/// The recording in default mode is asked about as any turn is, where there are views.
#[test]
fn a_turn_of_the_recording_asks_once_and_what_is_dropped_is_offered_again() {
    const ASKS: &str = "y writes, d shows, n drops";
    const FIRST: &str = "add a function that gives the most frequent words";
    let temporary = tempfile::tempdir().unwrap();
    let session = Session::with_project()
        .variable("TMPDIR", &temporary.path().display().to_string())
        .variable("HEADSTART_SHADOW", "");
    let mut pty = terminal(&session, &[&RECORDED[..], &["--mode", "default"]].concat(), 100);
    pty.wait_for(&format!("> {FIRST}  [Enter]"));
    pty.send("\r");
    pty.wait_for(ASKS);
    assert!(!pty.contents().contains("run this?"), "{}", pty.contents());
    pty.send("n\r");
    pty.wait_for("dropped: 1 file");
    pty.send("add tests for top\r");
    pty.wait_for(&format!("The next one is \"{FIRST}\""));
    pty.wait_for(&format!("> {FIRST}  [Tab]"));
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
    // What nobody answered goes with the folder, and that is said.
    let mut pty = terminal(&session, &[&RECORDED[..], &["--mode", "default"]].concat(), 100);
    pty.wait_for(&format!("> {FIRST}  [Enter]"));
    pty.send("\r");
    pty.wait_for(ASKS);
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
    pty.wait_for("it goes with the sample project");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

/// Nobody has typed the recording's first prompt: it makes room for what the user types, and only Enter sends it.
#[test]
fn what_is_typed_takes_the_place_of_the_first_prompt_of_the_recording() {
    let temporary = tempfile::tempdir().unwrap();
    let session = Session::with_project().variable("TMPDIR", &temporary.path().display().to_string());
    let mut pty = terminal(&session, &RECORDED, 80);
    let first = "> add a function that gives the most frequent words";
    pty.wait_for(&format!("{first}  [Enter]"));
    pty.send("what");
    pty.wait_until("what is typed alone", |screen| screen.contents().contains("> what\n"));
    assert!(!pty.contents().contains("most frequent"), "{}", pty.contents());
    // When nothing is typed any more, the first prompt is shown again, and Tab lets the user change it.
    pty.send("\x15");
    pty.wait_for("[Enter]");
    pty.send("\tX");
    pty.wait_for(&format!("{first}X"));
    assert!(!pty.contents().contains("[Enter]"), "{}", pty.contents());
    pty.send("\x15what are you?\r");
    pty.wait_for("I am a recording, not a model");
    pty.send("\x04");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn the_recording_is_for_a_chat_in_its_own_project() {
    let session = Session::with_project();
    let before = session.hash();
    let cases: [(&[&str], &str); 3] = [
        (&["speculate", "--model", "replay:demo", "x"], "in `headstart chat` only"),
        (&["chat", "--model", "replay:demo", "--workspace", "."], "leave --workspace out"),
        (&["chat", "--model", "replay:demo", "--record", "x.json"], "leave --record out"),
    ];
    for (arguments, words) in cases {
        session.run(arguments).assert_refused(2, &[words]);
    }
    assert_eq!(session.hash(), before);
}
