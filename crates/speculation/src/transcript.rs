use std::collections::{BTreeMap, HashSet};

use headstart_forked_query::{Image, Message, Part, Role, ToolCall, ToolOutcome, ToolResult};
use headstart_overlay_fs::WorkspacePath;
use headstart_toolbox::{ContextItem, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is sent along with a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachments {
    /// The text that the model reads; `None` if there is none.
    pub text: Option<String>,
    /// The images that the model is shown.
    pub images: Vec<Image>,
    /// The files whose content is part of this: work that runs ahead depends on them.
    pub read: Vec<WorkspacePath>,
}

/// The result of a call that ran.
#[derive(Debug, Clone)]
pub(crate) struct CallResult {
    pub(crate) outcome: ToolOutcome,
    /// The parts of the outcome.
    pub(crate) items: Vec<ContextItem>,
}

impl From<ToolOutcome> for CallResult {
    fn from(outcome: ToolOutcome) -> Self {
        Self { outcome, items: Vec::new() }
    }
}

impl From<ToolOutput> for CallResult {
    fn from(output: ToolOutput) -> Self {
        let (text, items) = output.into_parts();
        Self { outcome: ToolOutcome::Output(Value::String(text)), items }
    }
}

impl CallResult {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        ToolOutcome::Error(message.into()).into()
    }

    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.outcome, ToolOutcome::Error(_))
    }
}

/// A transcript that is legal at every moment, and the part of the model's answer that is not in it yet.
///
/// The model's answer waits in [`rest`](Self::rest). Each call moves to the messages together with its result. So a run
/// that is cut anywhere (by a boundary, a limit or a clock) leaves a transcript in which every call has exactly one
/// result, in order, and nothing of the answer is lost.
///
/// Calls that only read run at the same time, and a later one may be done before an earlier one. Its result then waits
/// in [`ready`](Self::ready) until the earlier calls have theirs. A run that is cut meanwhile keeps this result: when
/// it goes on, only the calls without a result run. No write is between the two, so the result is the same as if it
/// came later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    /// What would be added to the conversation: first the prompt, then every call with its result.
    pub messages: Vec<Message>,
    /// What the model said after the last finished call of its answer, including the next call.
    pub rest: Vec<Part>,
    /// Whether `rest` continues the last model message of `messages`; if not, it is a separate message.
    pub rest_continues: bool,
    /// Results of calls of `rest` that come after a call without a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<ToolResult>,
    /// The parts of results, by the ids of their calls, if they have names and places. The model reads only the
    /// results.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub items: BTreeMap<String, Vec<ContextItem>>,
}

impl Transcript {
    /// The first line of the model's last answer, if it said anything.
    pub fn answer_line(&self) -> Option<String> {
        let last = self.messages.iter().rev().find(|message| message.role == Role::Model)?;
        let mut lines = last.parts.iter().filter_map(|part| match part {
            Part::Text { text } => text.lines().map(str::trim).find(|line| !line.is_empty()),
            _ => None,
        });
        lines.next().map(str::to_owned)
    }

    /// A transcript that begins with the user's prompt.
    pub fn new(prompt: &str) -> Self {
        Self { messages: vec![Message::text(Role::User, prompt)], ..Self::default() }
    }

    /// A transcript that begins with the user's prompt and, in the same message, what the model reads and sees with it
    /// ([`Host::prompt_attachments`](crate::Host::prompt_attachments)).
    pub fn with_attachments(prompt: &str, attachments: &Attachments) -> Self {
        let mut transcript = match &attachments.text {
            Some(text) => Self::new(&format!("{prompt}\n\n{text}")),
            None => Self::new(prompt),
        };
        transcript.messages[0].parts.extend(attachments.images.iter().cloned().map(Part::Image));
        transcript
    }

    /// Says in the first message what the user sent in place of the prompt with which the run began: `prompt`, behind
    /// `note`, is replaced; what was sent along stays.
    pub fn reword(&mut self, note: &str, prompt: &str, sent: &str) {
        let first = self.messages.first_mut().and_then(|message| message.parts.first_mut());
        let Some(Part::Text { text }) = first else { return };
        let begun =
            |prompt: &str| if note.is_empty() { prompt.to_owned() } else { format!("{note}\n\n{prompt}") };
        if let Some(sent_along) = text.strip_prefix(&begun(prompt)) {
            *text = begun(sent) + sent_along;
        }
    }

    /// The next call of the answer that has no result yet.
    pub fn pending_call(&self) -> Option<&ToolCall> {
        self.pending_calls().next()
    }

    /// The calls of the answer that have no result yet, in order.
    pub fn pending_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let has_none = |call: &&ToolCall| !self.ready.iter().any(|result| result.id == call.id);
        self.waiting_calls().filter(has_none)
    }

    /// The calls of the answer that have not moved to the messages, including those whose result is ready.
    pub(crate) fn waiting_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.rest.iter().filter_map(as_call)
    }

    /// What was said after the first `known` entries, to be kept as it happens: each message of the user or the model is
    /// an entry, and so is each result, as a message of its own. The last answer is whole from the start, also while its
    /// calls have no results.
    pub fn said_since(&self, known: usize) -> Vec<Message> {
        let mut entries = 0;
        let mut said = Vec::new();
        let mut add = |role: Role, parts: &[Part], behind: &[Part]| {
            entries += 1;
            if known < entries {
                said.push(Message { role, parts: [parts, behind].concat() });
            }
        };
        let last_answer = self.messages.iter().rposition(|message| message.role == Role::Model);
        for (place, message) in self.messages.iter().enumerate() {
            let is_open = self.rest_continues && Some(place) == last_answer;
            match message.role {
                Role::Tool => {
                    for result in &message.parts {
                        add(Role::Tool, std::slice::from_ref(result), &[]);
                    }
                }
                role => add(role, &message.parts, if is_open { &self.rest } else { &[] }),
            }
        }
        if !self.rest_continues && !self.rest.is_empty() {
            add(Role::Model, &self.rest, &[]);
        }
        said
    }

    /// The ids of all calls, including those of the rest.
    pub(crate) fn call_ids(&self) -> HashSet<String> {
        let mut ids = call_ids(&self.messages);
        ids.extend(self.waiting_calls().map(|call| call.id.clone()));
        ids
    }

    /// Takes a whole answer of the model. Text before the first call becomes part of the transcript at once, together
    /// with what the model wants back; without such text, the latter waits for the first call.
    ///
    /// Anything that was left of the previous answer is dropped, because an answer is asked for only when the last one
    /// is done.
    pub fn answer(&mut self, parts: Vec<Part>) {
        self.rest = parts;
        self.rest_continues = false;
        self.ready.clear();
        let before_call = self.rest.iter().take_while(|part| as_call(part).is_none()).count();
        let has_text = self.rest[..before_call].iter().any(|part| matches!(part, Part::Text { .. }));
        self.move_parts(if has_text { before_call } else { 0 });
    }

    /// Gives a pending call its result.
    ///
    /// If no pending call has this id, nothing happens.
    pub fn resolve(&mut self, id: &str, outcome: ToolOutcome) {
        self.resolve_and_report(id, outcome.into(), |_, _, _| {});
    }

    /// As [`resolve`](Self::resolve), and calls `on_resolved` for each call that moves to the messages with its result:
    /// for none if an earlier call has no result, for several if later calls were done before.
    pub(crate) fn resolve_and_report(
        &mut self,
        id: &str,
        CallResult { outcome, items }: CallResult,
        on_resolved: impl FnMut(&ToolCall, &ToolResult, &[ContextItem]),
    ) {
        let Some(name) = self.pending_calls().find(|call| call.id == id).map(|call| call.name.clone()) else {
            return;
        };
        if !items.is_empty() {
            self.items.insert(id.to_owned(), items);
        }
        self.ready.push(ToolResult { id: id.to_owned(), name, outcome });
        self.settle(on_resolved);
    }

    /// Moves the first calls to the messages, as far as they have their results.
    pub(crate) fn settle(&mut self, mut on_resolved: impl FnMut(&ToolCall, &ToolResult, &[ContextItem])) {
        while let Some((index, result)) = self.next_ready() {
            if let Some(call) = as_call(&self.rest[index]) {
                let items = self.items.get(&result.id).map(Vec::as_slice);
                on_resolved(call, &result, items.unwrap_or_default());
            }
            self.move_parts(index + 1);
            let result = Part::ToolResult(result);
            match self.messages.last_mut() {
                Some(message) if message.role == Role::Tool => message.parts.push(result),
                _ => self.messages.push(Message { role: Role::Tool, parts: vec![result] }),
            }
            if self.waiting_calls().next().is_none() {
                self.move_parts(self.rest.len());
            }
        }
    }

    /// The place of the first call in the rest, and its result, if it has one.
    fn next_ready(&mut self) -> Option<(usize, ToolResult)> {
        let (index, call) = self.rest.iter().enumerate().find_map(|(at, part)| Some((at, as_call(part)?)))?;
        let ready = self.ready.iter().position(|result| result.id == call.id)?;
        Some((index, self.ready.remove(ready)))
    }

    /// Moves the first `count` parts of the rest into the model message to which they belong.
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

fn as_call(part: &Part) -> Option<&ToolCall> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// Gives each call whose id is empty or already taken a new id.
pub(crate) fn make_ids_unique(parts: &mut [Part], used: &mut HashSet<String>) {
    for part in parts {
        let Part::ToolCall(call) = part else {
            continue;
        };
        if call.id.is_empty() {
            "call".clone_into(&mut call.id);
        }
        if used.contains(&call.id) {
            let base = call.id.clone();
            // One of this many numbers is free.
            call.id = (2..=used.len() + 2)
                .map(|number| format!("{base}-{number}"))
                .find(|id| !used.contains(id))
                .expect("works because there are more numbers than ids that are taken");
        }
        used.insert(call.id.clone());
    }
}

/// The ids of all calls in a conversation.
pub(crate) fn call_ids(messages: &[Message]) -> HashSet<String> {
    messages.iter().flat_map(Message::tool_calls).map(|call| call.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use headstart_forked_query::Opaque;
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    fn text(text: &str) -> Part {
        Part::Text { text: text.into() }
    }

    fn call(id: &str) -> Part {
        Part::ToolCall(ToolCall { id: id.into(), name: "ls".into(), args: Map::new() })
    }

    fn opaque() -> Part {
        Part::Opaque(Opaque { format: "chat".into(), model: "m".into(), data: json!([]) })
    }

    fn output(text: &str) -> ToolOutcome {
        ToolOutcome::Output(json!(text))
    }

    #[test]
    fn a_resolved_answer_is_one_model_message_and_one_tool_message() {
        let mut transcript = Transcript::new("go");
        transcript.answer(vec![text("looking"), call("1"), call("2"), text("after")]);
        assert_eq!(transcript.messages.len(), 2);
        transcript.resolve("1", output("a"));
        assert_eq!(transcript.pending_call().unwrap().id, "2");
        transcript.resolve("2", output("b"));
        assert!(transcript.rest.is_empty());
        assert_eq!(transcript.messages[1].parts, [text("looking"), call("1"), call("2"), text("after")]);
        assert_eq!(transcript.messages[2].parts.len(), 2);
        transcript.answer(vec![call("3")]);
        transcript.resolve("3", output("c"));
        assert_eq!(transcript.messages.len(), 5);
    }

    #[test]
    fn a_result_waits_for_those_before_it() {
        let mut transcript = Transcript::new("go");
        transcript.answer(vec![call("1"), text("between"), call("2"), call("3")]);
        transcript.resolve("2", output("b"));
        assert_eq!(transcript.messages.len(), 1, "the call before it has no result");
        let pending: Vec<_> = transcript.pending_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(pending, ["1", "3"]);
        let kept = serde_json::to_string(&transcript).unwrap();
        let mut transcript: Transcript = serde_json::from_str(&kept).unwrap();
        let mut told = Vec::new();
        transcript.resolve_and_report("1", output("a").into(), |call, result, _| {
            assert_eq!(call.id, result.id);
            told.push(call.id.clone());
        });
        assert_eq!(told, ["1", "2"]);
        assert_eq!(transcript.messages[1].parts, [call("1"), text("between"), call("2")]);
        assert_eq!(transcript.pending_call().unwrap().id, "3");
        transcript.resolve("2", output("twice"));
        assert!(transcript.ready.is_empty());
        assert_eq!(transcript.messages[2].parts.len(), 2);
    }

    #[test]
    fn a_pending_call_is_not_in_the_messages() {
        let mut transcript = Transcript::new("go");
        transcript.answer(vec![call("1")]);
        assert_eq!(transcript.messages, [Message::text(Role::User, "go")]);
        transcript.resolve("1", ToolOutcome::Error("declined".into()));
        transcript.resolve("1", output("nobody asked"));
        assert_eq!(transcript.messages.len(), 3);
    }

    #[test]
    fn ids_are_made_unique() {
        let mut used = HashSet::from(["1".to_owned()]);
        let mut parts = [call("1"), call("1"), call(""), call("x")];
        make_ids_unique(&mut parts, &mut used);
        let ids: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Part::ToolCall(call) => call.id.as_str(),
                _ => "",
            })
            .collect();
        assert_eq!(ids, ["1-2", "1-3", "call", "x"]);
    }

    #[test]
    fn what_was_said_is_told_as_it_happens_and_only_once() {
        let answers =
            [vec![text("looking"), call("1"), text("and"), call("2")], vec![call("3")], vec![text("Done.")]];
        let mut transcript = Transcript::new("go");
        let (mut told, mut lengths) = (transcript.said_since(0), Vec::new());
        let mut tell = |transcript: &Transcript| {
            let news = transcript.said_since(told.len());
            lengths.push(news.len());
            told.extend(news);
        };
        for answer in answers.clone() {
            transcript.answer(answer);
            tell(&transcript);
            for id in ["2", "1", "3"] {
                transcript.resolve(id, output("it"));
                tell(&transcript);
            }
        }
        assert_eq!(lengths, [1, 0, 2, 0, 1, 0, 0, 1, 1, 0, 0, 0]);
        let of = |role: Role| {
            told.iter().filter(move |message| message.role == role).map(|message| &message.parts)
        };
        assert_eq!(of(Role::Model).cloned().collect::<Vec<_>>(), answers);
        assert_eq!(of(Role::Tool).map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(told[0], transcript.messages[0]);
    }

    proptest! {
        /// Wherever an answer is cut, and in whichever order its calls are done, the messages are legal. When all calls
        /// are resolved, nothing is lost, and every result belongs to its call.
        #[test]
        fn legal_at_every_moment(
            answers in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<bool>(), 1..6)), 1..4),
            order in prop::collection::vec(any::<prop::sample::Index>(), 24),
        ) {
            let mut transcript = Transcript::new("go");
            let mut number = 0;
            let mut order = order.into_iter();
            for (wants_back, answer) in answers {
                let given = answer.iter().map(|is_call| {
                    number += 1;
                    if *is_call { call(&number.to_string()) } else { text(&number.to_string()) }
                });
                let parts: Vec<Part> = wants_back.then(opaque).into_iter().chain(given).collect();
                transcript.answer(parts.clone());
                loop {
                    headstart_forked_query::check_pairing(&transcript.messages).unwrap();
                    let has_text = |message: &Message| message.parts.iter().any(|part| !matches!(part, Part::Opaque(_)));
                    prop_assert!(transcript.messages.iter().all(has_text), "a message of nothing");
                    let pending: Vec<_> = transcript.pending_calls().map(|call| call.id.clone()).collect();
                    if pending.is_empty() { break; }
                    let id = order.next().unwrap().get(&pending);
                    transcript.resolve(id, output(id));
                }
                let said = transcript.messages.iter().rev().find(|message| message.role == Role::Model).unwrap();
                prop_assert_eq!(&said.parts, &parts);
                prop_assert!(transcript.rest.is_empty() && transcript.ready.is_empty());
            }
            for result in transcript.messages.iter().flat_map(|message| &message.parts) {
                let Part::ToolResult(result) = result else { continue };
                prop_assert_eq!(&result.outcome, &output(&result.id));
            }
        }
    }
}
