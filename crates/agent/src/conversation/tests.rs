use futures::executor::block_on;
use headstart_forked_query::Part;
use headstart_overlay_fs::{CommitOptions, MemoryTree, Overlay, Quota, Tree, WorkspacePath};

use super::*;

fn conversation() -> (Arc<MemoryTree>, Conversation) {
    let tree = Arc::new(MemoryTree::from_files([("notes.txt", "one\n")]).unwrap());
    let conversation = Conversation::new("system", Vec::new(), "m", Arc::<MemoryTree>::clone(&tree));
    (tree, conversation)
}

fn says(transcript: &mut Transcript, text: &str) {
    let parts = vec![Part::Text { text: text.to_owned() }];
    transcript.messages.push(Message { role: Role::Model, parts });
}

/// Runs a turn that the model answers with these words, or not at all.
fn turn(conversation: &mut Conversation, prompt: &str, answer: Option<&str>, ending: &Ending) {
    let undo_report = block_on(conversation.undo_report());
    let mut transcript = conversation.open(prompt, &Attachments::default(), undo_report);
    if let Some(answer) = answer {
        says(&mut transcript, answer);
    }
    conversation.conclude(transcript, ending);
}

fn texts(conversation: &Conversation) -> Vec<String> {
    let parts = conversation.history().iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

/// Each request must begin with the previous one, because only then the provider finds it in its cache.
#[test]
fn history_only_grows_and_every_request_begins_with_the_one_before() {
    let (_tree, mut conversation) = conversation();
    let mut before = conversation.request();
    for (prompt, answer) in [("a", "1"), ("b", "2"), ("c", "3")] {
        turn(&mut conversation, prompt, Some(answer), &Ending::Completed);
        let request = conversation.request();
        assert!(request.messages.starts_with(&before.messages));
        assert_eq!((&request.system, &request.model), (&before.system, &before.model));
        assert_eq!(conversation.params().history(), conversation.history());
        before = request;
    }
    assert_eq!(texts(&conversation), ["a", "1", "b", "2", "c", "3"]);
}

/// A prompt without an answer is not part of the conversation. What its turn would have told is told by the next turn.
#[test]
fn a_prompt_without_an_answer_is_no_part_of_the_conversation() {
    let (_tree, mut conversation) = conversation();
    turn(&mut conversation, "a", Some("1"), &Ending::Completed);
    conversation.add_note("the file keeps the user's text");
    turn(&mut conversation, "b", None, &Ending::failed("overloaded", "busy".to_owned()));
    assert_eq!(texts(&conversation), ["a", "1"]);
    assert_eq!(conversation.guards(false).turn, TurnEnd::Failed);
    // What that turn would have told is told by the next one, once.
    assert_ne!(conversation.preface(&UndoReport::default()), "");
    turn(&mut conversation, "b", Some("2"), &Ending::Completed);
    turn(&mut conversation, "c", Some("3"), &Ending::Completed);
    let told = "[Note: the file keeps the user's text]\n\nb";
    assert_eq!(texts(&conversation), ["a", "1", told, "2", "c", "3"]);
    assert_eq!(conversation.preface(&UndoReport::default()), "");
}

/// An interrupted turn keeps what the model said, and no suggestion is made after it.
#[test]
fn a_turn_that_was_stopped_keeps_what_was_said_and_asks_for_no_suggestion() {
    let (_tree, mut conversation) = conversation();
    turn(&mut conversation, "a", Some("half"), &Ending::Aborted);
    assert_eq!(texts(&conversation), ["a", "half"]);
    assert_eq!(conversation.guards(true), Guards { turn: TurnEnd::Aborted, plan_mode: true });
}

/// If the user undoes a change of the agent, the model is told with the next prompt, once.
#[test]
fn what_the_user_takes_back_is_told_before_their_next_words() {
    let (tree, mut conversation) = conversation();
    let notes = WorkspacePath::parse("notes.txt").unwrap();
    let overlay = Overlay::new(Arc::<MemoryTree>::clone(&tree) as Arc<dyn Tree>, Quota::default());
    block_on(overlay.write(&notes, b"two\n".to_vec())).unwrap();
    let committed =
        block_on(conversation.workspace().commit(&overlay.change_set(), CommitOptions::default()));
    committed.unwrap();
    turn(&mut conversation, "a", Some("1"), &Ending::Completed);
    tree.write(&notes, b"one\n");
    let undo_report = block_on(conversation.undo_report());
    assert_ne!(conversation.preface(&undo_report), "");
    turn(&mut conversation, "b", Some("2"), &Ending::Completed);
    let said = &texts(&conversation)[2];
    assert!(said.contains("notes.txt") && said.ends_with('b'), "{said}");
    assert!(block_on(conversation.undo_report()).is_empty(), "the model knows it now");
    tree.write(&notes, b"two\n");
    conversation.clear();
    assert!(
        block_on(conversation.undo_report()).is_empty(),
        "what was said is forgotten, and so is what it was about"
    );
    assert_eq!(conversation.history(), []);
}
