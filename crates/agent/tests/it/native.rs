//! An agent that works in a real folder.
#![expect(clippy::disallowed_methods, reason = "the folder on disk is what is looked at")]
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]

use headstart_agent::native::{NativeAgent, NativeError, NativeOptions, SessionsError};
use headstart_budget::policy::Mode;
use headstart_providers::{Recording, Replay};
use headstart_speculation::Ending;
use headstart_tool_gate::ApprovalMode;

const WRITES: &str = r#"{
    "turns": [
        { "text": "It is empty." },
        { "text": "Notes." },
        { "toolCalls": [{ "name": "write_file", "args": { "file_path": "notes.txt", "content": "one\n" } }] },
        { "text": "They are written." },
        { "text": "Nothing else." }
    ],
    "suggestions": ["write the notes"]
}"#;

fn model(recording: &str) -> Replay {
    Replay::instant(Recording::parse(recording).unwrap())
}

/// The way of a conversation in a real folder: a suggestion runs ahead, is taken, and is part of the session that
/// another process resumes.
#[tokio::test]
async fn a_suggestion_runs_ahead_and_is_taken_and_the_next_process_goes_on() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = || {
        NativeOptions::new(folder.path(), "replay", model(WRITES))
            .mode(ApprovalMode::AutoEdit)
            .background(Mode::Always)
            .kept_in(kept.path())
    };
    let mut agent = options().begin().unwrap();
    assert_eq!(agent.say("what is here?").await.unwrap().text, "It is empty.");
    assert_eq!(agent.suggestion().await, None, "nothing is suggested before the second answer");
    agent.say("what is missing?").await.unwrap();
    let suggested = agent.suggestion().await.unwrap();
    assert_eq!(suggested, "write the notes");
    assert!(!folder.path().join("notes.txt").exists(), "nothing is written before it is taken");
    let reply = agent.take(&suggested).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.applied.len()), ("They are written.", 1));
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "one\n");
    let sessions = NativeAgent::sessions(kept.path()).unwrap();
    let [session] = sessions.as_slice() else { panic!("{sessions:?}") };
    assert_eq!(session.prompts, ["what is here?", "what is missing?", "write the notes"]);
    // The session is open here, so it cannot be resumed a second time.
    let elsewhere = options().resume(&session.id).begin().err();
    assert!(matches!(elsewhere, Some(NativeError::Session(SessionsError::Open { .. }))), "{elsewhere:?}");
    agent.close().await;
    let mut again = options().resume(&session.id).begin().unwrap();
    assert_eq!(again.handle().view().items.len(), 7, "three prompts, three answers and a call");
    again.say("what else?").await.unwrap();
    again.close().await;
    assert_eq!(NativeAgent::sessions(kept.path()).unwrap()[0].prompts.len(), 4);
    assert!(std::fs::read_to_string(kept.path().join("ledger.jsonl")).unwrap().lines().count() > 3);
}

/// Without a mode, an agent asks before it writes. Nobody answers here, so it writes nothing.
#[tokio::test]
async fn whoever_says_nothing_of_a_mode_has_an_agent_that_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let recording = r#"{ "turns": [
        { "toolCalls": [{ "name": "write_file", "args": { "file_path": "notes.txt", "content": "one" } }] },
        { "text": "I may not." }
    ] }"#;
    let mut agent = NativeAgent::open(folder.path(), "replay", model(recording)).unwrap();
    let reply = agent.say("write the notes").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.ending), ("I may not.", Some(Ending::Completed)));
    assert!(!folder.path().join("notes.txt").exists());
    agent.close().await;
}

/// Every reason for which an agent cannot begin has an error of its own.
#[tokio::test]
async fn what_cannot_begin_says_why() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = || NativeOptions::new(folder.path(), "replay", model(WRITES));
    assert!(matches!(options().resume("x").begin(), Err(NativeError::NotKept)));
    let none = options().kept_in(kept.path()).resume("x").begin().err();
    assert!(matches!(none, Some(NativeError::Session(SessionsError::Unknown { .. }))), "{none:?}");
    std::fs::create_dir_all(kept.path().join("sessions")).unwrap();
    std::fs::write(kept.path().join("sessions/x.jsonl"), "hello\n").unwrap();
    let damaged = options().kept_in(kept.path()).resume("x").begin().err();
    assert!(matches!(damaged, Some(NativeError::Session(SessionsError::Unreadable { .. }))), "{damaged:?}");
    let nowhere = NativeAgent::open(folder.path().join("none"), "replay", model(WRITES)).err();
    assert!(matches!(nowhere, Some(NativeError::File { .. })), "{nowhere:?}");
}
