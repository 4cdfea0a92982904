//! Writes records as another process would have left them.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use headstart_forked_query::{Part, ToolCall, ToolOutcome, Usage};
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, Content, EntryKind, Fingerprint, WorkspacePath};
use headstart_speculation::{Cost, Ending, Finished, Transcript};
use serde_json::{Value, json};

use super::Session;

/// A record is a little more than three days old, so that its age is shown as the same text however slow the test is.
const AGE: Duration = Duration::from_secs(3 * 24 * 60 * 60 + 60);

/// A speculation that completed: one file is changed, and one is new.
pub(crate) fn completed(id: &str) -> Finished {
    let mut transcript = Transcript::new("add a farewell");
    transcript.answer(vec![
        Part::Text { text: "I will look at the greeting first.".into() },
        read_file("1", "greeting.txt"),
        read_file("2", "missing.txt"),
    ]);
    transcript.resolve("1", ToolOutcome::Output(json!("hello\n")));
    transcript.resolve("2", ToolOutcome::Error("missing.txt does not exist".into()));
    transcript.answer(vec![Part::Text { text: "Done.\nBoth files say farewell.".into() }]);
    Finished {
        id: id.into(),
        prompt: "add a farewell".into(),
        ending: Ending::Completed,
        transcript,
        task_calls: Vec::new(),
        changes: ChangeSet {
            changes: vec![
                written("farewell.txt", None, "bye\n"),
                written("greeting.txt", Some("hello\n"), "hello\nbye\n"),
            ],
            reads: Vec::new(),
        },
        git: None,
        next: Some("run the tests".into()),
        cost: Cost {
            tokens: Usage {
                input_tokens: 1_200,
                cached_input_tokens: 1_000,
                output_tokens: 80,
                ..Usage::default()
            },
            turns: 2,
            tool_calls: 2,
            staged_files: 2,
            staged_bytes: 14,
            model_ms: 700,
            tool_ms: 3,
            work_ms: 710,
            ..Cost::default()
        },
        not_kept: Vec::new(),
        keepable: Vec::new(),
        failed: Vec::new(),
        viewed_ms: None,
        preview: None,
        check: None,
    }
}

/// The record of a speculation that ended as `finished` says.
pub(crate) fn finished(session: &Session, finished: &Finished) -> Value {
    let mut record = interrupted(session, &finished.id);
    record["state"] = json!("finished");
    record["prompt"] = json!(finished.prompt);
    record["finished"] = serde_json::to_value(finished).unwrap();
    record
}

/// The record of a speculation whose process died while it was running.
pub(crate) fn interrupted(session: &Session, id: &str) -> Value {
    let created = (SystemTime::now() - AGE).duration_since(SystemTime::UNIX_EPOCH).unwrap();
    json!({
        "formatVersion": 1,
        "id": id,
        "workspace": session.workspace().canonicalize().unwrap(),
        "createdAt": u64::try_from(created.as_millis()).unwrap(),
        "owner": {"pid": 1, "startTime": 1, "bootId": "a machine that was switched off"},
        "state": "running",
        "mode": "default",
        "model": "replay:recording.json",
        "prompt": "add a farewell",
        "finished": null,
    })
}

/// Puts a record where headstart keeps it, and returns the path of its file.
pub(crate) fn store(session: &Session, record: &Value) -> PathBuf {
    let folder = session.store().join(record["id"].as_str().unwrap());
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("record.json");
    fs::write(&file, record.to_string()).unwrap();
    file
}

fn read_file(id: &str, path: &str) -> Part {
    let args = serde_json::Map::from_iter([("file_path".to_owned(), json!(path))]);
    Part::ToolCall(ToolCall { id: id.into(), name: "read_file".into(), args })
}

/// The change that writes a file with this content, either a new one or one that had the text `base`.
pub(crate) fn written(path: &str, base: Option<&str>, content: impl Into<Content>) -> Change {
    Change {
        path: WorkspacePath::parse(path).unwrap(),
        base: base.map(|text| Fingerprint {
            kind: EntryKind::File,
            device: 0,
            inode: 0,
            len: text.len() as u64,
            mode: 0o100_644,
            modified_ns: 0,
            changed_ns: 0,
            racy: false,
        }),
        base_content: base.map(|text| text.as_bytes().into()),
        kind: ChangeKind::Write { content: content.into(), executable: false, moved_from: None },
        mode: None,
    }
}
