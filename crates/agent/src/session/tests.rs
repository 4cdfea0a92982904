use headstart_forked_query::{ToolCall, ToolOutcome, ToolResult, check_pairing};
use proptest::prelude::*;
use serde_json::{Map, Value};

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

/// A session of two turns, of which the second has a call.
fn kept() -> (String, Vec<Message>) {
    let first = [Message::text(Role::User, "[Note: x]\n\nhello"), Message::text(Role::Model, "Hello.")];
    let second =
        [Message::text(Role::User, "look"), call("1"), result("1"), Message::text(Role::Model, "Found.")];
    let text = header(("k3v9", ""), "hello", "m", 5)
        + &turn("hello", (6, 7), &first)
        + &turn("look", (8, 9), &second);
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
    for over in [turn("go on", (9, 9), &[]), cleared(), note("")] {
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
    let damaged = text.replacen(r#"{"type":"message""#, r#"{"type":"message"#, 1);
    let Err(SessionError::Damaged { number, source }) = Session::read(damaged.as_bytes()) else {
        panic!("{text}")
    };
    assert_eq!(number, 3);
    assert!(source.downcast_ref::<serde_json::Error>().is_some_and(serde_json::Error::is_syntax), "{source}");
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
