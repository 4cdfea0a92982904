use headstart_forked_query::{ToolCall, ToolOutcome, ToolResult, check_pairing};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::cut_off::{INTERRUPTED, NOT_RUN};
use super::*;

fn call(id: &str) -> Message {
    let call = ToolCall { id: id.to_owned(), name: "grep".to_owned(), args: Map::new() };
    Message { role: Role::Model, parts: vec![Part::ToolCall(call)] }
}

fn result(id: &str) -> Message {
    let outcome = ToolOutcome::Output(Value::from("found"));
    let result = ToolResult { id: id.to_owned(), name: "grep".to_owned(), outcome };
    Message { role: Role::Tool, parts: vec![Part::ToolResult(result)] }
}

/// The lines of a turn as they are kept while it runs.
fn turn(prompt_text: &str, messages: &[Message]) -> String {
    let messages = messages.iter().map(message);
    std::iter::once(prompt(prompt_text, 8)).chain(messages).chain([ended(9)]).collect()
}

/// The lines of a turn in older files.
fn older_turn(text: &str, messages: &[Message]) -> String {
    let prompt = SessionLine::Prompt { text: text.to_owned(), at: 6, ended: Some(7), open: false };
    std::iter::once(line(&prompt)).chain(messages.iter().map(message)).collect()
}

/// A session of two turns, of which the second has a call.
fn kept() -> (String, Vec<Message>) {
    let first = [Message::text(Role::User, "[Note: x]\n\nhello"), Message::text(Role::Model, "Hello.")];
    let second =
        [Message::text(Role::User, "look"), call("1"), result("1"), Message::text(Role::Model, "Found.")];
    let text = header(("k3v9", ""), "hello", "m", 5) + &older_turn("hello", &first) + &turn("look", &second);
    (text, [first.to_vec(), second.to_vec()].concat())
}

#[test]
fn what_was_kept_is_what_is_read() {
    let (text, history) = kept();
    let session = Session::read(text.as_bytes()).unwrap();
    assert_eq!(session.history, history);
    let told =
        (session.id.as_str(), session.title.as_str(), session.model.as_str(), session.created, session.last);
    assert_eq!(told, ("k3v9", "hello", "m", 5, 8));
    assert_eq!(
        (session.prompts.as_slice(), session.turns()),
        (&["hello".to_owned(), "look".to_owned()][..], 2)
    );
    let [
        Item::Prompt { text },
        Item::Answer { .. },
        Item::Prompt { .. },
        Item::Call(call),
        Item::Answer { .. },
    ] = &session.items[..]
    else {
        panic!("{:?}", session.items);
    };
    assert_eq!((text.as_str(), call.outcome.is_some()), ("hello", true));
}

#[test]
fn a_note_counts_until_a_prompt_has_told_it() {
    let (text, _) = kept();
    let noted = text + &note("first") + &note("the user has undone a.txt");
    assert_eq!(Session::read(noted.as_bytes()).unwrap().note, "the user has undone a.txt");
    for over in [older_turn("go on", &[]), cleared(), note("")] {
        assert_eq!(Session::read((noted.clone() + &over).as_bytes()).unwrap().note, "", "{over}");
    }
}

#[test]
fn a_session_that_cannot_be_read_says_why() {
    let (text, _) = kept();
    let newer = text.replace(r#""version":1"#, r#""version":2"#);
    assert_eq!(Session::read(newer.as_bytes()), Err(SessionError::Newer { version: 2 }));
    for nothing in ["", "\n", "hello\n", "{\"type\":\"cleared\"}\n", r#"{"type":"session","version":1"#] {
        assert_eq!(Session::read(nothing.as_bytes()), Err(SessionError::NoSession), "{nothing:?}");
    }
    // What a later version adds does not change how the known lines are read.
    let later = format!("{text}{{\"type\":\"weather\",\"is\":\"fine\"}}\n");
    assert_eq!(Session::read(later.as_bytes()), Session::read(text.as_bytes()));
}

#[test]
fn titles_are_one_line_and_the_last_one_counts() {
    let long = "a prompt of many words, with\na line in it, ".repeat(9);
    let text = header(("a", ""), &long, "m", 1);
    let title = Session::read(text.as_bytes()).unwrap().title;
    assert!(title.chars().count() == TITLE_CHARS && title.ends_with('…') && !title.contains('\n'), "{title}");
    let renamed = text + &Session::title_line("one") + &Session::title_line(" the  parser\n");
    assert_eq!(Session::read(renamed.as_bytes()).unwrap().title, "the parser");
}

#[test]
fn what_was_forgotten_is_not_there_and_its_prompts_can_be_called_back() {
    let (text, _) = kept();
    let session = Session::read((text + &cleared()).as_bytes()).unwrap();
    assert!(session.history.is_empty() && session.items.is_empty());
    assert_eq!((session.title.as_str(), session.turns()), ("", 0), "both were of what is forgotten");
    assert_eq!(session.prompts, ["hello", "look"]);
}

proptest! {
    /// Wherever the writer was stopped, what is read is a legal history and a beginning of what was said, except that
    /// the result of a call may be missing.
    #[test]
    fn a_torn_session_is_legal(cut in 0..2_000_usize) {
        let (text, history) = kept();
        let cut = cut.min(text.len());
        let begun = header(("k3v9", ""), "hello", "m", 5).len();
        match Session::read(&text.as_bytes()[..cut]) {
            Err(error) => prop_assert!(cut < begun, "{error}"),
            Ok(session) => {
                prop_assert!(begun <= cut);
                prop_assert!(check_pairing(&session.history).is_ok());
                let same = session.history.iter().zip(&history).take_while(|(read, said)| read == said).count();
                prop_assert!(session.history.len() - same <= 1, "{:?}", session.history);
                prop_assert_eq!(session.torn, cut - text[..cut].rfind('\n').map_or(0, |end| end + 1));
            }
        }
    }
}

/// Of a turn that was cut off everything is there that was kept, and what became of its calls is told.
#[test]
fn a_turn_that_was_cut_off_is_known_as_far_as_it_came() {
    let (text, history) = kept();
    let made = |id: &str, name: &str, args: &Value| {
        let args = args.as_object().unwrap().clone();
        Part::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), args })
    };
    let write = made("2", "write_file", &serde_json::json!({ "file_path": "b.txt", "content": "b" }));
    let edit = made("3", "edit", &serde_json::json!({ "file_path": "a.txt" }));
    let run = made("4", "shell", &serde_json::json!({ "command": "make" }));
    let never = made("5", "shell", &serde_json::json!({ "command": "make install" }));
    let answer = Message { role: Role::Model, parts: vec![edit, write, run, never] };
    let begun_turn = text.clone() + &prompt("build it", 10);
    let running = begun_turn.clone()
        + &message(&Message::text(Role::User, "build it"))
        + &message(&answer)
        + &begun("3")
        + &message(&result("3"))
        + &begun("2")
        + &message(&result("2"))
        + &begun("4");
    let session = Session::read(running.as_bytes()).unwrap();
    let told =
        "the last turn was cut off; until then it had edited a.txt, written b.txt, and was running make";
    assert_eq!(session.cut_off.as_deref(), Some(told));
    assert_eq!(session.history[..history.len()], history);
    let [_, said, Message { role: Role::Tool, parts }] = &session.history[history.len()..] else {
        panic!("{:?}", session.history)
    };
    assert_eq!((said, check_pairing(&session.history)), (&answer, Ok(())));
    let errors: Vec<_> = parts
        .iter()
        .map(|part| match part {
            Part::ToolResult(ToolResult { outcome: ToolOutcome::Error(error), .. }) => error.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(errors, ["", "", INTERRUPTED, NOT_RUN]);
    // Once that was told, it is no news, and the conversation is the same.
    let later = Session::read((running + &ended(11)).as_bytes()).unwrap();
    assert_eq!((later.cut_off, later.history), (None, session.history));

    let session = Session::read(begun_turn.as_bytes()).unwrap();
    assert_eq!(
        session.cut_off.as_deref(),
        Some("the last turn was cut off; until then it had changed nothing")
    );
    assert_eq!(session.history.last(), Some(&Message::text(Role::User, "build it")));
    let session = Session::read((begun_turn + &withdrawn()).as_bytes()).unwrap();
    assert_eq!((session.cut_off, session.history), (None, history));
    assert_eq!((session.prompts.len(), session.items.len()), (2, 5));
}

#[test]
fn a_damaged_line_costs_that_line_and_is_told() {
    let (text, history) = kept();
    let lines: Vec<_> = text.lines().collect();
    for damaged in 1..lines.len() {
        for broken in ["{\"type\":\"mess", "\u{0}\u{0}\u{0}", "[1]"] {
            let mut kept = lines.clone();
            kept[damaged] = broken;
            let session = Session::read((kept.join("\n") + "\n").as_bytes()).unwrap();
            assert_eq!(session.damaged, [damaged + 1]);
            assert!(check_pairing(&session.history).is_ok());
            let same = session.history.iter().filter(|message| history.contains(message)).count();
            assert!(history.len() <= same + 2, "a call and its result at most: {:?}", session.history);
            let told = format!("line {} of what was kept is damaged and left out", damaged + 1);
            assert_eq!(session.damaged_lines(), Some(told));
        }
    }
    let mut kept = lines.clone();
    kept[0] = "{\"type\":\"sess";
    let session = Session::read((kept.join("\n") + "\n").as_bytes()).unwrap();
    assert_eq!((session.title.as_str(), session.history, session.damaged), ("hello", history, vec![1]));
}
