//! Holds what happens when prompts, ends and kills come at moments at which nobody expects them.

use std::fs::File;
use std::time::{Duration, Instant};

use super::{NEXT, User, Value, answer_text, json, kill, list_sessions, with};
use crate::client::Client;
use crate::support::PATIENCE;

/// Long enough that something which should wait would have come by then if it did not wait.
const MOMENT: Duration = Duration::from_millis(300);

fn one_file() -> Value {
    json!([{ "write": "made.txt", "content": "made\n" }, { "say": "Made." }])
}

/// A client that is shown work as ready, in a mode in which its user is not asked about edits; and its session.
fn ready(user: &User) -> (Client, String) {
    let (mut client, session) = user.after_hello();
    client.request("session/set_mode", json!({ "sessionId": session, "modeId": "acceptEdits" }));
    client.suggested(NEXT, Some("ready"));
    (client, session)
}

/// Whether a message suggests [`NEXT`] without work for it.
fn is_bare(message: &Value) -> bool {
    let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
    first["text"] == NEXT && first.get("_meta").is_none()
}

fn is_answer(message: &Value) -> bool {
    message.get("id").is_some() && message.get("method").is_none()
}

/// Waits until the proxy has written something under this name into its notes for the next start, and returns it.
fn wait_for_note(user: &User, what: &str) -> serde_json::Map<String, Value> {
    let file = user.session.home().join(".local/state/headstart/acp-proxy/claude-agent-acp.json");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let noted: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        if let Some(noted) = noted[what].as_object().filter(|noted| !noted.is_empty()) {
            return noted.clone();
        }
        assert!(Instant::now() < deadline, "no {what} is noted: {noted}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Takes the lock of the project; until it is dropped, nobody can commit to the project.
fn lock_project(user: &User) -> File {
    let folder = File::open(user.session.workspace()).unwrap();
    folder.lock().unwrap();
    folder
}

#[test]
fn a_prompt_that_comes_while_an_accept_commits_waits() {
    for (second, expected) in [("something else", "Made.Hello there."), ("/next", "Made.Hello there.")] {
        let user = User::with_next(one_file());
        let (mut client, session) = ready(&user);
        let held = lock_project(&user);
        let from = client.log.len();
        let ids = [client.prompt(&session, "/next"), client.prompt(&session, second)];
        while let Some(message) = client.next_within(MOMENT) {
            assert!(!is_answer(&message), "{message}");
        }
        assert_eq!(user.read("made.txt"), None);
        drop(held);
        for id in ids {
            let answer = client.until("an answer", is_answer);
            assert_eq!((&answer["id"], &answer["result"]["stopReason"]), (&json!(id), &json!("end_turn")));
        }
        assert_eq!(answer_text(&client, from), expected);
        assert_eq!(user.read("made.txt").unwrap(), "made\n");
        let fork = user.stored_sessions().into_iter().find(|name| *name != session).unwrap();
        let file = user.session.home().join(".claude/projects").join(format!("{fork}.json"));
        let history = std::fs::read_to_string(file).unwrap();
        assert!(history.find("Made.") < history.find(second), "it goes on after what was taken: {history}");
    }
}

#[test]
fn a_prompt_that_waits_can_be_cancelled() {
    let user = User::with_next(one_file());
    let (mut client, session) = ready(&user);
    let held = lock_project(&user);
    let ids = [client.prompt(&session, "/next"), client.prompt(&session, "something else")];
    client.notify("$/cancel_request", json!({ "requestId": ids[1] }));
    assert_eq!(client.answer_to(ids[1])["result"]["stopReason"], "cancelled");
    drop(held);
    assert_eq!(client.answer_to(ids[0])["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

#[test]
fn an_accept_is_not_disturbed_by_another_session() {
    let user = User::with_next(one_file());
    let (mut client, session) = ready(&user);
    let other = client.open(&user.session);
    let held = lock_project(&user);
    let from = client.log.len();
    let ids = [client.prompt(&session, "/next"), client.prompt(&other, "hello")];
    // The turn of the other session ends while the first session waits, and then something would be suggested for it.
    let mut answers = vec![client.until("an answer", is_answer)];
    drop(held);
    answers.push(client.until("an answer", is_answer));
    for id in ids {
        let answer = answers.iter().find(|answer| answer["id"] == id).unwrap();
        assert_eq!(answer["result"]["stopReason"], "end_turn");
    }
    let said =
        client.log[from..].iter().filter(|(_, message)| message["params"]["sessionId"] == session.as_str());
    let said: Vec<_> = said.cloned().collect();
    assert_eq!(said.iter().filter(|(_, message)| message.to_string().contains("Made.")).count(), 1);
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

#[test]
fn a_limit_that_the_first_agent_meets_ends_the_second() {
    let user = User::with_next(json!([{ "say": "I begin. " }, { "sleep": 600 }]));
    let user = with(user, "limited", json!([{ "fail": "429 rate limit reached" }]));
    let told = json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "_meta": { "_claude/rateLimit": { "status": "rejected" } } });
    let user = with(user, "told", json!([{ "update": told }, { "sleep": 1 }]));
    for words in ["limited", "told"] {
        let (mut client, session) = user.after_hello();
        let other = client.open(&user.session);
        client.suggested(NEXT, Some("running"));
        let id = client.prompt(&other, words);
        let is_answered = |message: &Value| message["id"] == id && message.get("method").is_none();
        if words == "limited" {
            assert!(client.until("an answer", is_answered).get("error").is_some());
        }
        client.until("the suggestion without its work", is_bare);
        let listed = list_sessions(&mut client);
        assert!(listed.contains(&session) && listed.contains(&other), "{listed:?}");
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn a_second_agent_that_dies_or_says_what_is_no_message_costs_its_work_alone() {
    for last in [
        json!({ "exit": 9 }),
        json!({ "python": "import signal; os.kill(os.getpid(), signal.SIGKILL)" }),
        json!({ "line": "garbage" }),
        json!({ "line": "[]" }),
        json!({ "line": "{\"jsonrpc\":\"2.0\"}" }),
        json!({ "line": "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":" }),
    ] {
        let user =
            User::with_next(json!([{ "write": "made.txt", "content": "made\n" }, last, { "sleep": 600 }]));
        let before = user.session.tree();
        let (mut client, session) = user.after_hello();
        client.until("the suggestion without its work", is_bare);
        assert_eq!(client.said(&session, "something else"), "end_turn", "the first one goes on");
        assert_eq!(user.session.tree(), before);
        assert_eq!(list_sessions(&mut client), [session.as_str()]);
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn an_agent_that_dies_while_its_work_is_taken_is_told() {
    let user = User::with_next(json!([{ "say": "I begin. " }, { "sleep": 1 }, { "say": "I end." }]));
    let user = with(user, "resume", json!("dies"));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("running"));
    let mut ids = vec![client.prompt(&session, "/next"), client.prompt(&session, "something else")];
    while !ids.is_empty() {
        let answer = client.until("an answer", is_answer);
        ids.retain(|id| answer["id"] != *id);
        assert!(answer["error"]["message"].as_str().unwrap().contains("exit code 3"), "{answer}");
    }
    assert_eq!(client.end(), Some(3));
}

#[test]
fn two_proxies_on_one_folder_take_one_after_the_other() {
    let user = User::with_next(one_file());
    let (mut first, session) = ready(&user);
    let (mut second, other) = ready(&user);
    let held = lock_project(&user);
    let ids = (first.prompt(&session, "/next"), second.prompt(&other, "/next"));
    std::thread::sleep(MOMENT);
    drop(held);
    for (client, id) in [(&mut first, ids.0), (&mut second, ids.1)] {
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    }
    let anew = [&first, &second].map(|client| {
        client.log.iter().any(|(_, message)| message.to_string().contains("changed meanwhile"))
    });
    let made = user.read("made.txt").unwrap();
    assert_eq!(made, "made\n", "{anew:?}");
    // The second client's proxy has not deleted the fork that the first client took.
    let names = wait_for_note(&user, "names");
    let there = user.stored_sessions();
    assert!(names.values().all(|fork| there.iter().any(|name| fork == name)), "{names:?} of {there:?}");
    // Each client goes on in its own conversation, and neither is shown one that is not its user's.
    for (client, session) in [(&mut first, &session), (&mut second, &other)] {
        assert_eq!(client.said(session, "and now?"), "end_turn");
        let shown = list_sessions(client);
        assert!(shown.contains(session), "{shown:?}");
        assert_eq!(client.end(), Some(0));
    }
    let mut third = user.client();
    let (mut expected, mut shown) = ([session, other], list_sessions(&mut third));
    expected.sort();
    shown.sort();
    assert_eq!(shown, expected);
}

/// The proxy learns the name of a fork from the agent's answer, so at its end it waits for one that was asked for.
#[test]
fn a_fork_that_is_made_as_the_editor_leaves_is_not_shown() {
    let user = with(User::with_next(one_file()), "fork_takes", json!(1));
    let (mut client, session) = user.after_hello();
    let deadline = Instant::now() + PATIENCE;
    while user.stored_sessions().len() < 2 {
        assert!(Instant::now() < deadline, "nothing is forked");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(client.end(), Some(0));
    assert_eq!(list_sessions(&mut user.client()), [session]);
}

/// The agent has made the fork, but has not said its name yet, when its user types something else.
#[test]
fn a_fork_that_is_made_as_its_user_goes_on_is_not_shown() {
    let user = with(User::with_next(one_file()), "fork_takes", json!(1));
    let (mut client, session) = user.after_hello();
    let deadline = Instant::now() + PATIENCE;
    while user.stored_sessions().len() < 2 {
        assert!(Instant::now() < deadline, "nothing is forked");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(client.said(&session, "and now?"), "end_turn");
    assert_eq!(client.end(), Some(0));
    assert_eq!(list_sessions(&mut user.client()), [session]);
}

#[test]
fn what_is_told_of_a_fork_after_its_end_is_nobodys() {
    let user = with(User::with_next(one_file()), "late", json!(true));
    let (mut client, session) = ready(&user);
    let from = client.log.len();
    assert_eq!(client.said(&session, "something else"), "end_turn");
    client.suggested(NEXT, Some("ready"));
    client.request("_flush", json!({}));
    let updates = client.log[from..].iter().filter(|(own, _)| !own);
    let strange: Vec<_> = updates
        .filter(|(_, message)| message["params"]["sessionId"].as_str().is_some_and(|name| name != session))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

/// Whether the conversation that the next editor is given contains the turn that wrote the file. Fails if that editor
/// is shown any of the other sessions that the agent had before (`kept`).
fn is_in_the_conversation(user: &User, session: &str, kept: &[String]) -> bool {
    let mut next = user.client();
    let workspace = user.session.workspace().canonicalize().unwrap();
    let params = json!({ "sessionId": session, "cwd": workspace, "mcpServers": [] });
    let answer = next.request("session/load", params);
    assert!(answer.get("result").is_some(), "{answer}");
    let shown = list_sessions(&mut next);
    assert!(shown.iter().any(|name| name == session), "{shown:?}");
    // A fork that the agent made immediately before the proxy was killed may be shown, because nobody has noted it.
    assert!(shown.iter().all(|name| name == session || !kept.contains(name)), "{shown:?}");
    assert_eq!(next.said(session, "and now?"), "end_turn");
    assert_eq!(next.end(), Some(0));
    assert!(answer_text(&next, 0).contains("First answer."));
    answer_text(&next, 0).contains("Made.")
}

#[test]
fn an_editor_that_hangs_up_while_an_accept_commits_finds_all_of_it_or_nothing() {
    // The commit becomes possible first while the proxy still waits for it, and then after the proxy has given up.
    for (waits, is_taken) in [(MOMENT, true), (Duration::from_secs(8), false)] {
        let user = User::with_next(one_file());
        let (mut client, session) = ready(&user);
        let (kept, held) = (user.stored_sessions(), lock_project(&user));
        client.prompt(&session, "/next");
        std::thread::sleep(MOMENT);
        let ended = std::thread::spawn(move || client.end());
        std::thread::sleep(waits);
        drop(held);
        assert_eq!(ended.join().unwrap(), Some(0));
        assert_eq!(user.read("made.txt").is_some(), is_taken);
        assert_eq!(is_in_the_conversation(&user, &session, &kept), is_taken);
    }
}

#[test]
fn a_proxy_that_is_killed_after_its_commit_knows_what_was_taken_at_the_next_start() {
    for is_changed in [false, true] {
        let user = User::with_next(one_file());
        let (mut client, session) = ready(&user);
        let (kept, held) = (user.stored_sessions(), lock_project(&user));
        client.prompt(&session, "/next");
        wait_for_note(&user, "taking");
        // While this lock is held, nobody can write which fork stands for a session.
        let lock = user.session.home().join(".local/state/headstart/acp-proxy/lock");
        let lock = File::options().append(true).open(lock).unwrap();
        lock.lock().unwrap();
        drop(held);
        let deadline = Instant::now() + PATIENCE;
        while user.read("made.txt").is_none() {
            assert!(Instant::now() < deadline, "it is not committed");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(MOMENT);
        kill(&client);
        drop((client, lock));
        if is_changed {
            user.session.write("project/made.txt", "made, and changed by its user\n");
        }
        assert!(is_in_the_conversation(&user, &session, &kept));
    }
}

#[test]
fn a_proxy_that_is_killed_before_its_commit_took_nothing() {
    let user = User::with_next(one_file());
    let (mut client, session) = ready(&user);
    let (kept, held) = (user.stored_sessions(), lock_project(&user));
    client.prompt(&session, "/next");
    std::thread::sleep(MOMENT);
    kill(&client);
    drop((client, held));
    assert!(!is_in_the_conversation(&user, &session, &kept));
    assert_eq!(user.read("made.txt"), None);
    // The fork is gone, also from the agent's sessions.
    assert_eq!(user.stored_sessions(), [session]);
}
