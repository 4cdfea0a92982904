use std::collections::HashSet;

use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult};
use serde::{Deserialize, Serialize};

/// A transcript that is legal at every moment, and what the model has said beyond it.
///
/// The model's answer waits in [`rest`](Self::rest). Each call moves over together with its result, so that a
/// run which is cut anywhere (a boundary, a limit, a clock) leaves a transcript in which every call has exactly one
/// result, in order, and nothing of the answer is lost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    /// What would be added to the conversation: the prompt first, every call with its result.
    pub messages: Vec<Message>,
    /// What the model said after the last finished call of its answer, the next call included.
    pub rest: Vec<Part>,
    /// Whether `rest` continues the last model message of `messages`; else it is a message of its own.
    pub rest_continues: bool,
}

impl Transcript {
    /// A transcript that begins with the user's prompt.
    pub fn new(prompt: &str) -> Self {
        Self { messages: vec![Message::text(Role::User, prompt)], rest: Vec::new(), rest_continues: false }
    }

    /// The next call of the answer that has no result yet.
    pub fn pending_call(&self) -> Option<&ToolCall> {
        self.rest.iter().find_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The ids of all calls, those of the rest included.
    pub(crate) fn call_ids(&self) -> HashSet<String> {
        let mut ids = call_ids(&self.messages);
        ids.extend(self.rest.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        }));
        ids
    }

    /// Takes a whole answer of the model. Text up to the first call is part of the transcript at once.
    ///
    /// Whatever was left of the answer before is dropped: an answer is asked for only when the last one is done.
    pub fn answer(&mut self, parts: Vec<Part>) {
        self.rest = parts;
        self.rest_continues = false;
        let text = self.rest.iter().take_while(|part| matches!(part, Part::Text { .. })).count();
        self.move_parts(text);
    }

    /// Gives the pending call its result.
    ///
    /// Without a pending call nothing happens.
    pub fn resolve(&mut self, outcome: ToolOutcome) {
        let Some(index) = self.rest.iter().position(|part| matches!(part, Part::ToolCall(_))) else {
            return;
        };
        let Part::ToolCall(call) = &self.rest[index] else {
            return;
        };
        let result = Part::ToolResult(ToolResult { id: call.id.clone(), name: call.name.clone(), outcome });
        self.move_parts(index + 1);
        match self.messages.last_mut() {
            Some(message) if message.role == Role::Tool => message.parts.push(result),
            _ => self.messages.push(Message { role: Role::Tool, parts: vec![result] }),
        }
        if self.pending_call().is_none() {
            self.move_parts(self.rest.len());
        }
    }

    /// Moves the first `count` parts of the rest into the model message they belong to.
    fn move_parts(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let moved: Vec<Part> = self.rest.drain(..count).collect();
        let open = self.messages.iter_mut().rev().take(2).find(|message| message.role == Role::Model);
        match open {
            Some(message) if self.rest_continues => message.parts.extend(moved),
            _ => self.messages.push(Message { role: Role::Model, parts: moved }),
        }
        self.rest_continues = true;
    }
}

/// Gives calls whose id is empty or already taken one of their own.
pub(crate) fn make_ids_unique(parts: &mut [Part], taken: &mut HashSet<String>) {
    for part in parts {
        let Part::ToolCall(call) = part else {
            continue;
        };
        if call.id.is_empty() {
            "call".clone_into(&mut call.id);
        }
        if taken.contains(&call.id) {
            let base = call.id.clone();
            // One of so many numbers is free.
            call.id = (2..=taken.len() + 2)
                .map(|number| format!("{base}-{number}"))
                .find(|id| !taken.contains(id))
                .expect("works because there are more numbers than ids that are taken");
        }
        taken.insert(call.id.clone());
    }
}

/// The ids of all calls in a conversation.
pub(crate) fn call_ids(messages: &[Message]) -> HashSet<String> {
    messages.iter().flat_map(Message::tool_calls).map(|call| call.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    fn text(text: &str) -> Part {
        Part::Text { text: text.into() }
    }

    fn call(id: &str) -> Part {
        Part::ToolCall(ToolCall { id: id.into(), name: "ls".into(), args: Map::new(), signature: None })
    }

    fn output(text: &str) -> ToolOutcome {
        ToolOutcome::Output(json!(text))
    }

    #[test]
    fn a_resolved_answer_is_one_model_message_and_one_tool_message() {
        let mut transcript = Transcript::new("go");
        transcript.answer(vec![text("looking"), call("1"), call("2"), text("after")]);
        assert_eq!(transcript.messages.len(), 2);
        transcript.resolve(output("a"));
        assert_eq!(transcript.pending_call().unwrap().id, "2");
        transcript.resolve(output("b"));
        assert!(transcript.rest.is_empty());
        assert_eq!(transcript.messages[1].parts, [text("looking"), call("1"), call("2"), text("after")]);
        assert_eq!(transcript.messages[2].parts.len(), 2);
        transcript.answer(vec![call("3")]);
        transcript.resolve(output("c"));
        assert_eq!(transcript.messages.len(), 5);
    }

    #[test]
    fn a_pending_call_is_not_in_the_messages() {
        let mut transcript = Transcript::new("go");
        transcript.answer(vec![call("1")]);
        assert_eq!(transcript.messages, [Message::text(Role::User, "go")]);
        transcript.resolve(ToolOutcome::Error("declined".into()));
        transcript.resolve(output("nobody asked"));
        assert_eq!(transcript.messages.len(), 3);
    }

    #[test]
    fn ids_are_made_unique() {
        let mut taken = HashSet::from(["1".to_owned()]);
        let mut parts = [call("1"), call("1"), call(""), call("x")];
        make_ids_unique(&mut parts, &mut taken);
        let ids: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Part::ToolCall(call) => call.id.as_str(),
                _ => "",
            })
            .collect();
        assert_eq!(ids, ["1-2", "1-3", "call", "x"]);
    }

    proptest! {
        /// Wherever an answer is cut, the messages are legal; resolved to its end, nothing is lost.
        #[test]
        fn legal_at_every_moment(answers in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 1..5), 1..4)) {
            let mut transcript = Transcript::new("go");
            let mut number = 0;
            for answer in answers {
                let parts: Vec<Part> = answer.iter().map(|is_call| {
                    number += 1;
                    if *is_call { call(&number.to_string()) } else { text(&number.to_string()) }
                }).collect();
                transcript.answer(parts.clone());
                loop {
                    headstart_forked_query::check_pairing(&transcript.messages).unwrap();
                    if transcript.pending_call().is_none() { break; }
                    transcript.resolve(output("ok"));
                }
                let said = transcript.messages.iter().rev().find(|message| message.role == Role::Model).unwrap();
                prop_assert_eq!(&said.parts, &parts);
                prop_assert!(transcript.rest.is_empty());
            }
        }
    }
}
