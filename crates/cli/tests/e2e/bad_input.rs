//! Holds that whatever is wrong, the error names it, nothing is lost, and nothing is changed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::project::{call, farewell};
use crate::support::server::{Server, says};
use crate::support::{Outcome, Session};

/// Runs a command that must be refused and must change nothing.
fn assert_rejected(session: &Session, arguments: &[&str], code: i32, words: &[&str]) {
    let (before, kept) = (session.hash(), session.speculation_folders());
    let outcome = session.run(arguments);
    outcome.assert_refused(code, words);
    assert_eq!(outcome.stdout, "", "{outcome}");
    let as_json = session.run(&[arguments, &["--json"]].concat());
    as_json.assert_refused(code, words);
    let last = as_json.json().pop().unwrap_or_default();
    assert_eq!(last["type"], "error", "{as_json}");
    assert_eq!(session.hash(), before);
    assert_eq!(session.speculation_folders(), kept);
}

#[test]
fn histories() {
    let cases: [(&str, &[&str]); 8] = [
        ("[{", &["not valid JSON", "line 1"]),
        ("", &["not valid JSON"]),
        ("{}", &["JSON array", "an object"]),
        (r#"[{"role":"robot","parts":[{"type":"text","text":"x"}]}]"#, &["entry 0", "role"]),
        (r#"[{"role":"user","parts":[{"type":"text","text":7}]}]"#, &["entry 0, part 0"]),
        (
            r#"[{"role":"model","parts":[{"type":"toolCall","id":"c7","name":"ls","args":{}}]}]"#,
            &["entry 0", "\"c7\" has no result"],
        ),
        (
            r#"[{"role":"tool","parts":[{"type":"toolResult","id":"c7","name":"ls","output":"x"}]}]"#,
            &["entry 0", "c7"],
        ),
        ("\u{feff}[]", &["not valid JSON"]),
    ];
    let session = Session::with_project();
    let model = session.recording(&farewell());
    for (history, words) in cases {
        session.write("history.json", history);
        let words = [&["../history.json"], words].concat();
        assert_rejected(&session, &["suggest", "--model", &model, "--history", "../history.json"], 1, &words);
        assert_rejected(
            &session,
            &["speculate", "--model", &model, "--history", "../history.json", "go"],
            1,
            &words,
        );
    }
    session.write("history.json", [b'[', 0xff]);
    assert_rejected(
        &session,
        &["suggest", "--model", &model, "--history", "../history.json"],
        1,
        &["../history.json"],
    );
    assert_rejected(&session, &["suggest", "--model", &model, "--history", "."], 1, &["cannot read .:"]);
}

#[test]
fn recordings() {
    let cases: [(&str, &[&str]); 6] = [
        ("{\"turns\":", &["not valid JSON", "line 1"]),
        ("[]", &["top level"]),
        (r#"{"turns":[{"tool_calls":[]}]}"#, &["turns[0]", "unknown field `tool_calls`"]),
        (r#"{"turns":[{"text":7}]}"#, &["turns[0].text", "string"]),
        (r#"{"turns":[{"toolCalls":[{"name":"ls","args":[]}]}]}"#, &["turns[0].toolCalls[0].args"]),
        ("{}", &["neither turns nor suggestions"]),
    ];
    let session = Session::with_project();
    for (recording, words) in cases {
        session.write("recording.json", recording);
        let words = [&["../recording.json"], words].concat();
        assert_rejected(&session, &["speculate", "--model", "replay:../recording.json", "go"], 1, &words);
    }
    assert_rejected(
        &session,
        &["speculate", "--model", "replay:../none.json", "go"],
        1,
        &["cannot read ../none.json"],
    );
    assert_rejected(&session, &["speculate", "--model", "replay:src", "go"], 1, &["cannot read src"]);
}

#[test]
fn workspaces_modes_models_and_prompts() {
    let session = Session::with_project();
    let model = session.recording(&farewell());
    let with_model = |rest: &[&'static str]| -> Vec<String> {
        ["speculate", "--model", &model].iter().chain(rest).map(ToString::to_string).collect()
    };
    let cases: [(Vec<String>, i32, &[&str]); 9] = [
        (with_model(&["--workspace", "none", "go"]), 2, &["workspace none does not exist", "--workspace"]),
        (with_model(&["--workspace", "notes.txt", "go"]), 2, &["workspace notes.txt is not a directory"]),
        (with_model(&["--workspace", "notes.txt/x", "go"]), 2, &["workspace notes.txt/x is not a directory"]),
        (with_model(&["--mode", "fast", "go"]), 2, &["fast", "auto-edit", "yolo"]),
        (with_model(&[]), 2, &["PROMPT"]),
        (with_model(&["  "]), 2, &["it holds no word"]),
        (with_model(&["/clear"]), 1, &["/clear", "is a command"]),
        (with_model(&["--base-url", "here", "go"]), 2, &["here", "http://"]),
        (with_model(&["--fast-model", "test", "go"]), 2, &["test", "replay:FILE"]),
    ];
    for (arguments, code, words) in cases {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        assert_rejected(&session, &arguments, code, words);
    }
    for (spec, word) in [("test", "whose model"), ("nobody:test", "nobody"), ("openai:", "names no model")] {
        assert_rejected(&session, &["speculate", "--model", spec, "go"], 2, &[word, "openai:NAME"]);
    }
    assert_rejected(&session, &["speculate", "go"], 2, &["no model is chosen", "--model", "HEADSTART_MODEL"]);
}

/// The results of the model's calls, in order.
fn results(session: &Session, id: &str) -> Vec<Value> {
    let shown = session.run(&["show", id, "--json"]).json().pop().unwrap();
    let messages = shown["transcript"].as_array().unwrap().iter();
    let parts = messages.flat_map(|message| message["parts"].as_array().unwrap().clone());
    parts.filter(|part| part["type"] == "toolResult").collect()
}

#[test]
fn a_call_that_cannot_work_is_an_error_that_the_model_can_act_on() {
    let cases = [
        ("read_file", json!({"file_path": "none.txt"}), "none.txt"),
        ("read_file", json!({"file_path": "dangling"}), "nowhere does not exist"),
        ("read_file", json!({"file_path": "src"}), "src"),
        ("read_file", json!({"file_path": 7}), "file_path"),
        ("read_file", json!({}), "file_path"),
        ("read_file", json!({"file_path": "notes.txt", "offset": "two"}), "offset"),
        ("read_file", json!({"file_path": "notes.txt", "offset": -2}), "offset"),
        ("grep", json!({"pattern": "("}), "pattern"),
        ("glob", json!({"pattern": "["}), "not a valid glob"),
        ("ls", json!({"path": "notes.txt"}), "notes.txt"),
        ("edit", json!({"file_path": "notes.txt", "old_string": "eggs", "new_string": "x"}), "old_string"),
        ("edit", json!({"file_path": "notes.txt", "old_string": 1, "new_string": "x"}), "old_string"),
        ("edit", json!({"file_path": "none.txt", "old_string": "a", "new_string": "x"}), "none.txt"),
        ("write_file", json!({"file_path": "notes.txt"}), "content"),
        ("write_file", json!({"file_path": "src", "content": ""}), "src"),
        ("write_file", json!({"file_path": "notes.txt/x", "content": ""}), "notes.txt"),
    ];
    for (tool, args, word) in cases {
        let mut session = Session::with_project();
        let before = session.hash();
        let recording = json!({"turns": [{"toolCalls": [call(tool, &args)]}, {"text": "I see."}]});
        let (outcome, id) = session.speculate(&recording, "auto-edit");
        assert_eq!(outcome.code, Some(0), "{tool} {args}: {outcome}");
        let results = results(&session, &id);
        assert_eq!(results.len(), 1, "{tool} {args}: {outcome}");
        let error = results[0]["error"].as_str().unwrap_or_else(|| panic!("{tool} {args}: {outcome}"));
        assert!(error.contains(word), "{tool} {args}: {error}");
        let root = session.workspace().display().to_string();
        assert!(!error.contains(&root) && !error.contains("speculations"), "{tool} {args}: {error}");
        assert_eq!(outcome.finished()["changes"], json!([]), "{tool} {args}");
        assert_eq!(session.hash(), before);
    }
}

#[test]
fn a_tool_that_does_not_exist_is_an_error_for_the_model_and_never_run() {
    let mut session = Session::with_project();
    let before = session.hash();
    let recording = json!({"turns": [{"toolCalls": [call("launch", &json!({}))]}, {"text": "I see."}]});
    let (outcome, id) = session.speculate(&recording, "yolo");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let results = results(&session, &id);
    assert!(results[0]["error"].as_str().unwrap().contains("launch"), "{outcome}");
    assert_eq!(session.hash(), before);
}

#[test]
fn a_file_that_may_not_be_read_is_an_error_for_the_model() {
    let mut session = Session::with_project();
    let secret = session.workspace().join("notes.txt");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&secret).is_ok() {
        // The superuser may read every file, so there is nothing to test.
        return;
    }
    let read = call("read_file", &json!({"file_path": "notes.txt"}));
    let (outcome, id) =
        session.speculate(&json!({"turns": [{"toolCalls": [read]}, {"text": "I see."}]}), "default");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(results(&session, &id)[0]["error"].as_str().unwrap().contains("notes.txt"), "{outcome}");
}

#[test]
fn a_link_that_leaves_the_workspace_is_not_followed() {
    for (tool, args) in [
        ("read_file", json!({"file_path": "out/secret.txt"})),
        ("write_file", json!({"file_path": "out/new.txt", "content": "x"})),
        ("shell", json!({"command": "cat out/secret.txt"})),
        ("shell", json!({"command": "cd out && cat secret.txt"})),
        ("shell", json!({"command": "cat secret.txt", "directory": "out"})),
        ("shell", json!({"command": "grep -f out/secret.txt notes.txt"})),
        ("shell", json!({"command": "wc -l out/*"})),
        ("shell", json!({"command": "ls out/"})),
    ] {
        let mut session = Session::with_project();
        session.write("outside/secret.txt", "a secret\n");
        std::os::unix::fs::symlink("../outside", session.workspace().join("out")).unwrap();
        let before = session.hash();
        let recording = json!({"turns": [{"toolCalls": [call(tool, &args)]}, {"text": "I see."}]});
        let (outcome, id) = session.speculate(&recording, "auto-edit");
        let shown = session.run(&["show", &id, "--json"]);
        assert!(
            !outcome.stdout.contains("a secret") && !shown.stdout.contains("a secret"),
            "{tool}: {outcome}"
        );
        assert_eq!(outcome.finished()["changes"], json!([]), "{tool}: {outcome}");
        session.run(&["accept", &id]);
        assert_eq!(session.hash(), before);
        assert_eq!(fs::read_dir(session.home().with_file_name("outside")).unwrap().count(), 1);
    }
}

#[test]
fn a_state_folder_that_is_a_file_or_read_only_is_named() {
    let session = Session::with_project();
    let model = session.recording(&farewell());
    session.write("home/state", "mine");
    let state = session.home().join("state").display().to_string();
    let arguments = ["speculate", "--model", &model, "--state-dir", &state, "go"];
    assert_rejected(&session, &arguments, 1, &[&state]);
    assert_eq!(fs::read_to_string(&state).unwrap(), "mine");

    let folder = session.home().join("read-only");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::create_dir(folder.join("probe")).is_err() {
        let folder = folder.display().to_string();
        let arguments = ["speculate", "--model", &model, "--state-dir", &folder, "go"];
        assert_rejected(&session, &arguments, 1, &[&folder, "Permission denied"]);
    }
}

/// A deny rule is about a file, not about one of its names.
#[test]
fn a_link_is_no_way_around_a_deny_rule() {
    for (tool, args) in [
        ("read_file", json!({"file_path": "link"})),
        ("shell", json!({"command": "cat link"})),
        ("grep", json!({"pattern": "hello"})),
    ] {
        let mut session = Session::with_project();
        session.write("home/.config/headstart/config.toml", "deny = ['greeting.txt']");
        let recording = json!({"turns": [{"toolCalls": [call(tool, &args)]}, {"text": "I see."}]});
        let (outcome, _) = session.speculate(&recording, "auto-edit");
        assert!(!outcome.stdout.contains("world"), "{tool}: {outcome}");
        assert!(!outcome.stdout.contains(":hello"), "{tool}: {outcome}");
    }
}

/// Runs a command with a limit of `kib` KiB for the size of a file, which has the same effect as a full disk.
fn on_a_full_disk(session: &Session, kib: u32, arguments: &[&str]) -> Outcome {
    // Without the trap, the first write beyond the limit would kill the program.
    run_after(session, &format!("trap '' XFSZ; ulimit -f {kib}"), arguments)
}

/// Runs a command in a shell that first executes `what`.
fn run_after(session: &Session, what: &str, arguments: &[&str]) -> Outcome {
    let plain = session.command(arguments);
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{what}; exec \"$0\" \"$@\"")]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(session.workspace()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    session.outcome(arguments, command.spawn().unwrap())
}

/// A recording that writes a small file and one of 8 KiB.
fn large() -> Value {
    json!({"turns": [
        {"toolCalls": [
            call("write_file", &json!({"file_path": "a-small.txt", "content": "small\n"})),
            call("read_file", &json!({"file_path": "greeting.txt"})),
            call("edit", &json!({"file_path": "greeting.txt", "old_string": "world", "new_string": "moon"})),
            call("write_file", &json!({"file_path": "z-large.txt", "content": "large\n".repeat(1_400)})),
        ]},
        {"text": "Done."},
    ]})
}

#[test]
fn a_full_disk_under_the_state_is_an_error_and_loses_nothing() {
    let session = Session::with_project();
    let model = session.recording(&large());
    let before = session.hash();
    let arguments = ["speculate", "--mode", "auto-edit", "--model", &model, "go"];
    for kib in [0, 1, 4] {
        let outcome = on_a_full_disk(&session, kib, &arguments);
        outcome.assert_refused(1, &["record.json", "File too large"]);
        assert_eq!(session.hash(), before, "{kib}");
    }
    // Records that could still be written are removed by a sweep, and hide no work.
    let rows = session.run(&["list", "--json"]).json();
    assert!(rows.iter().all(|row| row["status"] == "interrupted"), "{rows:?}");
    assert_eq!(session.run(&["sweep"]).code, Some(0));
    assert_eq!(session.speculation_folders(), Vec::<std::path::PathBuf>::new());
    assert_eq!(session.run(&arguments).code, Some(0));
}

#[test]
fn a_full_disk_under_the_workspace_leaves_it_as_it_was() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&large(), "auto-edit");
    // Without the prepared files, there is only room for the marks of the accept.
    fs::remove_dir_all(session.home().join(".local/state/headstart/staging")).unwrap();
    let before = session.hash();
    let outcome = on_a_full_disk(&session, 4, &["accept", &id]);
    outcome.assert_refused(1, &["z-large.txt"]);
    assert_eq!(session.hash(), before);
    // When there is room again, the work is still there.
    let outcome = session.run(&["accept", &id]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(session.text("greeting.txt").unwrap(), "hello\nmoon\n");
    assert_eq!(session.text("z-large.txt").unwrap().len(), 8_400);
}

#[test]
fn what_was_prepared_is_accepted_on_a_full_disk_and_noted_later() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&large(), "auto-edit");
    let outcome = on_a_full_disk(&session, 4, &["accept", &id]);
    outcome.assert_refused(1, &["the changes are in the workspace", "accept it once more", "record.json"]);
    assert_eq!(session.text("z-large.txt").unwrap().len(), 8_400);
    let after = session.hash();
    let outcome = session.run(&["accept", &id]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(session.hash(), after);
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.text("z-large.txt"), None);
}

#[test]
fn where_no_folder_is_private_nothing_is_accepted_and_the_error_says_why() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    // Only the folder of this accept is made anew, because nobody but root could enter the ones above it.
    let staging = session.home().join(".local/state/headstart/staging");
    let homes = fs::read_dir(staging).unwrap().map(|home| home.unwrap().path());
    let prepared = homes.flat_map(|home| fs::read_dir(home).unwrap()).map(|entry| entry.unwrap().path());
    prepared.filter(|path| path.is_dir()).for_each(|path| fs::remove_dir_all(path).unwrap());
    let before = session.hash();
    // The effect is that of a file system without permissions: a new folder has other permission bits than it was made
    // with.
    let outcome = run_after(&session, "umask 0100", &["accept", &id]);
    outcome
        .assert_refused(1, &["cannot be made private", "600, not 700", "without permissions", "as a patch"]);
    assert_eq!(session.hash(), before);
    let patch = session.run(&["diff", "--patch", &id]);
    assert_eq!(patch.code, Some(0), "{patch}");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
}

#[test]
fn standard_output_that_takes_nothing_is_an_error() {
    let session = Session::with_project();
    let model = session.recording(&farewell());
    let before = session.hash();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "go"];
    let child = session.command(&arguments).stdout(full()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot write to standard output"), "{stderr}");
    assert_eq!(session.hash(), before);
}

/// Runs a command as a user who is bound by permissions, even if the tests run as the superuser; `None` if that is not
/// possible.
fn run_without_root(session: &Session, arguments: &[&str]) -> Option<Outcome> {
    if !rustix::process::geteuid().is_root() {
        return Some(session.run(arguments));
    }
    let without = "--bounding-set=-dac_override,-dac_read_search";
    let works = Command::new("setpriv").args([without, "true"]).output();
    if !works.is_ok_and(|done| done.status.success()) {
        eprintln!("NOT TESTED: nothing takes the superuser's rights away");
        return None;
    }
    let plain = session.command(arguments);
    let mut command = Command::new("setpriv");
    command.arg(without).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(session.workspace()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(session.outcome(arguments, command.spawn().unwrap()))
}

#[test]
fn a_state_folder_that_cannot_be_used_is_no_fault_of_the_workspace() {
    let session = Session::with_project();
    let model = session.recording(&farewell());
    let state = session.home().join("state");
    fs::create_dir(&state).unwrap();
    let shown = state.display().to_string();
    let commands =
        [&["speculate", "go", "--model", &model][..], &["chat", "--model", &model], &["undo"], &["list"]];
    for (bits, commands) in [(0o000, &commands[..]), (0o500, &commands[..1])] {
        fs::set_permissions(&state, fs::Permissions::from_mode(bits)).unwrap();
        for command in commands {
            let arguments = [command, &["--state-dir", &shown][..]].concat();
            let Some(outcome) = run_without_root(&session, &arguments) else { return };
            let words = ["the state cannot be kept in", &shown, "Permission denied", "--state-dir"];
            outcome.assert_refused(1, &words);
            assert!(!outcome.stderr.contains("cannot open the workspace"), "{outcome}");
        }
    }
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn an_accept_where_nothing_can_be_written_says_where_and_what_to_do() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let before = session.hash();
    let folder = session.workspace().join("src");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    let refused = run_without_root(&session, &["accept", &id]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let Some(refused) = refused else { return };
    let root = session.workspace().display().to_string();
    let words = ["nothing was changed in", &root, "src/farewell.txt: Permission denied", "can write there"];
    refused.assert_refused(1, &words);
    assert!(refused.stderr.contains(&format!("headstart accept {id}")), "{refused}");
    assert_eq!(session.hash(), before);
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
}

/// The prompt names a folder with too many entries to list, a pipe to which nobody writes, and a device that never
/// ends.
#[test]
fn what_a_prompt_mentions_is_bounded_on_a_real_disk() {
    let session = Session::with_project().variable("OPENAI_API_KEY", "sk-mentions-0123456789");
    let root = session.workspace();
    fs::create_dir(root.join("many")).unwrap();
    for number in 0..100_000 {
        fs::File::create(root.join(format!("many/{number:06}.txt"))).unwrap();
    }
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
    std::os::unix::fs::symlink("/dev/zero", root.join("zero")).unwrap();
    session.write("home/.config/headstart/config.toml", "[code-index]\nenabled = false\n");
    let server = Server::start(vec![says("I see it.")]);
    let chat = ["--json", "chat", "--model", "openai:test", "--base-url", &server.base_url];
    let outcome =
        session.run_with_input(&chat, "what is in @many/\nread @./pipe\nread @./zero\nread @./pipe:1-2\n");
    // What cannot be read is not sent, and nobody waits for it.
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{outcome}");
    for words in ["@./pipe: is no regular file", "@./zero: leads out of the workspace"] {
        assert!(outcome.to_string().contains(words), "{words}: {outcome}");
    }
    let body = requests[0].json();
    let told = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(
        told.contains("000199.txt\n… 99800 more\n</mentioned>") && !told.contains("000200.txt"),
        "{told}"
    );
    assert!(
        requests[0].body.len() < 60_000,
        "{} bytes, all about the project included",
        requests[0].body.len()
    );
}

/// The variables that name a proxy are often set for other programs, so an error names them.
#[test]
fn a_proxy_that_does_not_work_is_named_with_its_variable() {
    let with_proxy = |proxy: &str| {
        let session =
            Session::with_project().variable("OPENAI_API_KEY", "key").variable("HTTPS_PROXY", proxy);
        session.run(&["speculate", "--model", "openai:test", "go"])
    };
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = with_proxy(&format!("http://me:secret@{unused}"));
    let told = format!("through the proxy http://{unused}: ");
    assert!(outcome.to_string().contains(&told), "{outcome}");
    let words = outcome.to_string();
    assert!(words.contains("unset HTTPS_PROXY") && !words.contains("secret"), "{outcome}");
    assert!(!words.contains("start the server"), "{outcome}");
    with_proxy("::::").assert_refused(2, &["HTTPS_PROXY: \"::::\" is no address of a proxy"]);
}
