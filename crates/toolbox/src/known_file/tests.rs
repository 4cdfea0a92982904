use serde_json::json;

use super::*;

/// A conversation in which calls were answered.
#[derive(Default)]
struct Talk(Vec<Message>);

impl Talk {
    fn call(mut self, name: &str, args: &Value, outcome: ToolOutcome) -> Self {
        let id = self.0.len().to_string();
        let call =
            ToolCall { id: id.clone(), name: name.to_owned(), args: args.as_object().unwrap().clone() };
        let result = headstart_forked_query::ToolResult { id, name: name.to_owned(), outcome };
        self.0.push(Message { role: Role::Model, parts: vec![Part::ToolCall(call)] });
        self.0.push(Message { role: Role::Tool, parts: vec![Part::ToolResult(result)] });
        self
    }

    fn read(self, args: &Value, output: &str) -> Self {
        self.call("read_file", args, ToolOutcome::Output(output.into()))
    }

    fn edit(self, old: &str, new: &str) -> Self {
        let args = json!({ "file_path": "/project/src/a.rs", "old_string": old, "new_string": new });
        self.call("edit", &args, ToolOutcome::Output("replaced 1 occurrence".into()))
    }

    fn known(&self) -> KnownFile {
        let args = json!({ "file_path": "src/a.rs", "content": "" }).as_object().unwrap().clone();
        let call = ToolCall { id: "w".to_owned(), name: "write_file".to_owned(), args };
        KnownFile::of(&call, self.0.iter(), "/project")
    }
}

fn whole() -> Value {
    json!({ "file_path": "src/a.rs" })
}

#[test]
fn what_was_read_whole_is_known_until_it_is_another() {
    let known = Talk::default().read(&whole(), "one\ntwo\n").known();
    for same in ["one\ntwo\n", "one\ntwo", "one\r\ntwo\r\n", "\u{feff}one\ntwo\n"] {
        assert!(known.shows(same.as_bytes()), "{same:?}");
    }
    // Lines that were added, removed, changed or moved.
    for other in
        ["one\ntwo\nthree\n", "one\n", "two\n", "one\nTwo\n", "two\none\n", "one\n\ntwo\n", "one\0two", ""]
    {
        assert!(!known.shows(other.as_bytes()), "{other:?}");
    }
    assert!(!Talk::default().known().shows(b"one\n"));
    let failed = ToolOutcome::Error("one\ntwo\n".to_owned());
    assert!(!Talk::default().call("read_file", &whole(), failed).known().shows(b"one\ntwo\n"));
    let another = json!({ "file_path": "a.rs" });
    assert!(!Talk::default().read(&another, "one\ntwo\n").known().shows(b"one\ntwo\n"));
}

#[test]
fn what_was_written_and_edited_is_known_without_reading_it_again() {
    let written = json!({ "file_path": "src/a.rs", "content": "one\ntwo\n" });
    let talk = Talk::default().call("write_file", &written, ToolOutcome::Output("created".into()));
    assert!(talk.known().shows(b"one\ntwo\n"));
    let talk = talk.edit("two", "zwei").edit("one\n", "eins\n");
    assert!(talk.known().shows(b"eins\nzwei\n") && !talk.known().shows(b"one\ntwo\n"));
    let edits = json!({ "file_path": "src/a.rs", "edits": [
        { "old_string": "eins", "new_string": "1" }, { "old_string": "1", "new_string": "I" } ] });
    let talk = talk.call("multi_edit", &edits, ToolOutcome::Output("replaced".into()));
    assert!(talk.known().shows(b"I\nzwei\n"));
    // An edit of a file that was never read shows one place of it.
    assert!(!Talk::default().edit("one", "eins").known().shows(b"eins\ntwo\n"));
}

#[test]
fn parts_are_the_file_once_all_are_read() {
    let part = |first: usize| json!({ "file_path": "src/a.rs", "offset": first, "limit": 2 });
    let talk = Talk::default().read(&part(1), "1\n2\n[lines 1 to 2 of 5; to read on, use offset 3]");
    assert!(!talk.known().shows(b"1\n2\n3\n4\n5\n") && !talk.known().shows(b"1\n2\n"));
    let talk = talk.read(&part(3), "3\n4\n[lines 3 to 4 of 5; to read on, use offset 5]");
    let talk = talk.read(&part(5), "5\n[lines 5 to 5 of 5, the end]");
    assert!(talk.known().shows(b"1\n2\n3\n4\n5\n") && talk.known().is_whole);
    for other in ["1\n2\n3\n4\n5\n6\n", "1\n2\n5\n", "1\n2\n3\n4\n"] {
        assert!(!talk.known().shows(other.as_bytes()), "{other:?}");
    }
    // A part that was read again is what it is now; the rest stays.
    let again = talk.read(&part(3), "3\nfour\n[lines 3 to 4 of 5; to read on, use offset 5]");
    assert!(again.known().shows(b"1\n2\n3\nfour\n5\n"));
    // A part in the middle says nothing of what is before it.
    let middle = Talk::default().read(&part(3), "3\n4\n[lines 3 to 4 of 4, the end]");
    assert!(!middle.known().is_whole && !middle.known().shows(b"1\n2\n3\n4\n"));
    let section = Talk::default().read(&whole(), "a = 1\n[lines of code]\n");
    assert!(section.known().shows(b"a = 1\n[lines of code]\n"));
}

#[test]
fn what_a_command_printed_or_a_prompt_mentions_is_known() {
    let printed = |command: &str| {
        let args = json!({ "command": command });
        Talk::default().call("shell", &args, ToolOutcome::Output("one\ntwo".into())).known()
    };
    assert!(
        printed("cat src/a.rs").shows(b"one\ntwo\n") && printed("cd src && cat a.rs").shows(b"one\ntwo\n")
    );
    assert!(
        !printed("cat src/b.rs").shows(b"one\ntwo\n") && !printed("head -2 a.rs").shows(b"one\ntwo\n3\n")
    );
    let mention = |attributes: &str| {
        let text =
            format!("look\n\nWhat is named with an @:\n<mentioned {attributes}>\none\ntwo\n</mentioned>");
        let mut talk = Talk::default();
        talk.0.push(Message::text(Role::User, text));
        talk
    };
    assert!(mention("file=\"src/a.rs\"").known().shows(b"one\ntwo\n"));
    assert!(mention("file=\"src/a.rs\"").edit("one", "1").known().shows(b"1\ntwo\n"));
    assert!(!mention("file=\"src/a.rs\"").known().shows(b"one\n"));
    assert!(!mention("file=\"src/a.rs\" lines=\"1-2\"").known().shows(b"one\ntwo\n"));
    assert!(!mention("file=\"b/src/a.rs\"").known().shows(b"one\ntwo\n"));
}
