//! Holds how the model of work ahead uses the index: it contains what is staged, leaves out closed files, and never
//! delays the work.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Outcome, Session};

pub(crate) fn call(name: &str, args: impl Into<Value>) -> Value {
    let args = args.into();
    json!({"toolCalls": [{"name": name, "args": args}]})
}

fn codebase(query: &str) -> Value {
    call("codebase", json!({"query": query}))
}

pub(crate) fn recording(turns: &[Value]) -> Value {
    let turns = [turns, &[json!({"text": "Done."})]].concat();
    json!({"turns": turns})
}

/// What the model read as the result of each call.
pub(crate) fn results(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.json().into_iter().filter(|line| line["type"] == "toolResult");
    let text = |line: Value| {
        let result = &line["result"];
        result["output"].as_str().or(result["error"].as_str()).unwrap_or_default().to_owned()
    };
    lines.map(text).collect()
}

/// Repeats an attempt until the index was open in time. A search waits 300 ms for the index and then does without it,
/// which may happen on a busy machine.
fn with_open_index(mut attempt: impl FnMut() -> Outcome) -> Outcome {
    let mut outcome = attempt();
    for _ in 0..10 {
        if !results(&outcome).iter().any(|result| result.contains("[indexed 0 %")) {
            break;
        }
        outcome = attempt();
    }
    outcome
}

fn project() -> Session {
    let session = Session::with_project();
    session
        .write("project/src/auth.rs", "/// Checks a password.\npub fn check_login() -> bool {\n    true\n}\n")
        .write("project/src/cart.rs", "pub fn total() -> u64 {\n    0\n}\n")
        .write("project/.env", "PASSWORD=check_login\n")
        .write("project/private/login.rs", "pub fn check_login_of_boss() {}\n");
    session.write("home/.config/headstart/config.toml", "deny = [\"private/**\"]\n");
    session
}

fn index_of(session: &Session) -> std::path::PathBuf {
    session.home().join(".local/state/headstart/index")
}

#[test]
fn a_staged_edit_is_found_by_the_very_next_call() {
    let mut session = project();
    session.run(&["index"]);
    let before = session.hash();
    let work = recording(&[
        codebase("where is check_login defined?"),
        call("write_file", json!({"file_path": "src/pay.rs", "content": "pub fn retry_payment() {}\n"})),
        codebase("retry_payment"),
        call(
            "edit",
            json!({"file_path": "src/auth.rs", "old_string": "check_login", "new_string": "verify_login"}),
        ),
        codebase("verify_login"),
        codebase("check_login"),
        call("repo_map", json!({"path": "src"})),
    ]);
    let outcome = with_open_index(|| session.speculate(&work, "auto-edit").0);
    let results = results(&outcome);
    assert_eq!(results.len(), 7, "{outcome}");
    assert!(
        results[0].starts_with("src/auth.rs:2-4 check_login\n1: /// Checks a password.\n2: "),
        "{}",
        results[0]
    );
    assert!(
        results[2].starts_with("src/pay.rs:1-1 retry_payment\n1: pub fn retry_payment() {}"),
        "{}",
        results[2]
    );
    assert!(results[4].starts_with("src/auth.rs:2-4 verify_login\n"), "{}", results[4]);
    assert!(!results[5].contains("fn check_login"), "{}", results[5]);
    assert!(results[6].contains("src/auth.rs\n 2: function verify_login"), "{}", results[6]);
    assert_eq!(session.hash(), before);
}

#[test]
fn what_is_accepted_by_a_command_is_in_the_index() {
    let mut session = project();
    let files = |session: &Session| session.run(&["index", "status", "--json"]).json()[0]["files"].clone();
    session.run(&["index"]);
    let before = files(&session).as_u64().unwrap();
    let work = call("write_file", json!({"file_path": "src/refund.rs", "content": "pub fn refund() {}\n"}));
    let (_, id) = session.speculate(&recording(&[work]), "auto-edit");
    // Work ahead has an index in a thread of its own; what it added is not in this index.
    assert_eq!(files(&session), before);
    let accepted = session.run(&["accept", &id]);
    assert!(accepted.stdout.contains("src/refund.rs") && accepted.stderr.is_empty(), "{accepted}");
    assert_eq!(files(&session), before + 1);
    // An index that cannot be written does not prevent an accept.
    let work = call("write_file", json!({"file_path": "src/more.rs", "content": "pub fn more() {}\n"}));
    let (_, id) = session.speculate(&recording(&[work]), "auto-edit");
    fs::remove_dir_all(index_of(&session)).unwrap();
    fs::write(index_of(&session), "in the place of the folder").unwrap();
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(session.workspace().join("src/more.rs").exists());
}

#[test]
fn a_closed_file_is_never_named() {
    let mut session = project();
    let (outcome, _) = session.speculate(
        &recording(&[
            codebase("check_login_of_boss"),
            codebase("PASSWORD check_login"),
            call("repo_map", json!({})),
            call("codebase", json!({"query": "boss", "path": "private/login.rs"})),
        ]),
        "auto-edit",
    );
    let results = results(&outcome);
    assert_eq!(results.len(), 3, "{outcome}");
    for result in &results {
        assert!(
            !result.contains("boss()") && !result.contains("private") && !result.contains(".env"),
            "{result}"
        );
    }
    let finished = outcome.finished();
    assert_eq!(finished["status"], "boundary", "{outcome}");
    assert_eq!(finished["boundary"]["verdict"]["reason"], "denied_path", "{outcome}");
}

#[test]
fn what_a_link_in_the_place_of_a_folder_leads_to_is_not_shown() {
    let mut session = project();
    session.run(&["index"]);
    fs::remove_dir_all(session.workspace().join("src")).unwrap();
    std::os::unix::fs::symlink("private", session.workspace().join("src")).unwrap();
    session.write("project/private/auth.rs", "pub fn check_login_by_link() {}\n");
    let (outcome, _) = session.speculate(&recording(&[codebase("check_login")]), "auto-edit");
    let results = results(&outcome);
    assert!(!results[0].contains("auth.rs"), "{}", results[0]);
}

/// The message that is shown, and how the test damages the index.
type Damage = (&'static str, fn(&Session));

#[test]
fn an_index_that_cannot_be_used_is_told_and_the_work_goes_on() {
    let cases: [Damage; 3] = [
        ("searches do without an index", |session| {
            fs::create_dir_all(index_of(session).parent().unwrap()).unwrap();
            fs::write(index_of(session), "in the place of the folder").unwrap();
        }),
        ("is damaged; it is made anew", |session| {
            session.run(&["index"]);
            let mut files = fs::read_dir(index_of(session)).unwrap().map(|entry| entry.unwrap().path());
            let database = files.find(|file| file.extension().is_some_and(|it| it == "sqlite")).unwrap();
            fs::write(database, "no database").unwrap();
        }),
        ("paused", |session| {
            session.run(&["index", "clear"]);
            session.run(&["index", "pause"]);
        }),
    ];
    for (words, harm) in cases {
        let mut session = project();
        harm(&session);
        let (outcome, _) = session.speculate(&recording(&[codebase("check_login")]), "auto-edit");
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let results = results(&outcome);
        assert!(results[0].contains("check_login"), "{words}: {}", results[0]);
        assert!(results[0].contains("src/auth.rs"), "{words}: {}", results[0]);
        let all = format!("{}\n{}", outcome.stderr, results[0]);
        assert!(all.contains(words), "{words}: {all}");
    }
}

#[test]
fn without_an_index_there_are_no_tools_of_one() {
    let mut session = project();
    session.write("home/.config/headstart/config.toml", "[code-index]\nenabled = false\n");
    let (outcome, _) = session.speculate(&recording(&[codebase("check_login")]), "auto-edit");
    let results = results(&outcome);
    assert!(results[0].contains("no tool \"codebase\""), "{outcome}");
    assert!(!index_of(&session).exists());
}

#[test]
fn a_turn_finds_what_it_has_just_written_and_the_work_after_it_as_well() {
    let session = project();
    session.run(&["index"]);
    let turns = [
        call("write_file", json!({"file_path": "src/pay.rs", "content": "pub fn retry_payment() {}\n"})),
        codebase("retry_payment"),
        call(
            "edit",
            json!({"file_path": "src/pay.rs", "old_string": "retry_payment", "new_string": "repeat_payment"}),
        ),
        codebase("repeat_payment"),
        codebase("retry_payment"),
    ];
    let model = session.recording(&recording(&turns));
    let outcome = with_open_index(|| {
        // The file of an earlier attempt must go, because this attempt has not read it.
        let _ = fs::remove_file(session.workspace().join("src/pay.rs"));
        session.run_with_input(&["chat", "--json", "--mode", "yolo", "--model", &model], "pay\n")
    });
    let results = results(&outcome);
    assert_eq!(results.len(), 5, "{outcome}");
    assert!(results[1].starts_with("src/pay.rs:1-1 retry_payment\n"), "{}", results[1]);
    assert!(results[3].starts_with("src/pay.rs:1-1 repeat_payment\n"), "{}", results[3]);
    assert!(!results[4].contains("fn retry_payment"), "{}", results[4]);
    // What the turn wrote is in the index, or a search finds it without.
    assert!(session.run(&["search", "repeat_payment"]).stdout.starts_with("src/pay.rs:1  repeat_payment"));
}

#[test]
#[ignore = "mounts a small file system in a user namespace; the long checks run it"]
fn on_a_full_disk_the_index_says_so_and_the_work_goes_on() {
    let session = project();
    for number in 0..600 {
        let words: Vec<String> = (0..80).map(|word| format!("word_{number}_{word}")).collect();
        session.write(&format!("project/src/many/{number}.rs"), format!("// {}\n", words.join("\n// ")));
    }
    fs::create_dir_all(index_of(&session)).unwrap();
    let model = session.recording(&recording(&[codebase("where is check_login defined?")]));
    // Only the folder of the index is on the small disk.
    let mount = format!(
        "mount -t tmpfs -o size=512k,mode=700 tmpfs '{}' && exec \"$0\" \"$@\"",
        index_of(&session).display()
    );
    let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "say farewell"];
    let plain = session.command(&arguments);
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
        .arg(plain.get_program())
        .args(arguments);
    command.current_dir(session.workspace()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let outcome = session.outcome(&arguments, child.expect("this test needs unshare (util-linux)"));
    assert_eq!(outcome.code, Some(0), "this test needs user namespaces and tmpfs: {outcome}");
    let results = results(&outcome);
    // The answer comes either from the index, as far as it got, or from the search of the other files.
    assert!(
        results[0].contains("src/auth.rs:") && results[0].contains("pub fn check_login() -> bool {"),
        "{}",
        results[0]
    );
    assert!(results[0].contains("full") && outcome.stderr.contains("full"), "{outcome}");
}
