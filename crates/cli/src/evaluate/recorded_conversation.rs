use std::collections::{BTreeMap, HashMap};

use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult, Usage};
use serde_json::{Map, Value};

/// What a line of a file means, in any format. Times are in milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SessionEvent {
    /// A person sent a prompt.
    Prompt {
        /// Identifies the prompt in its file: the number of the line, or of the message.
        place: usize,
        /// What the person typed, without what a product added to it.
        typed: String,
        /// Everything that the model was sent.
        text: String,
        at: Option<u64>,
    },
    /// A text that the model was sent as the user's, but that nobody typed.
    Beside(String),
    Answer {
        parts: Vec<AnswerPart>,
        at: Option<u64>,
        /// The id of the answered request, and its cost. Several lines may belong to one request; the last one counts.
        usage: Option<(String, Usage)>,
    },
    Results {
        results: Vec<CallResult>,
        at: Option<u64>,
    },
    /// The user stopped the turn, or it failed.
    Broken,
    /// From here on, these events replace for the model everything that was said before.
    Replaced(Vec<SessionEvent>),
    /// Everything from the prompt at this place on was taken back.
    BackBefore(usize),
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnswerPart {
    Words(String),
    Call { id: String, name: String, args: Map<String, Value> },
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallResult {
    pub(super) id: String,
    pub(super) outcome: ToolOutcome,
}

/// A prompt, and what came before and after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentPrompt {
    /// See [`SessionEvent::Prompt`].
    pub(crate) place: usize,
    pub(crate) typed: String,
    pub(crate) at: Option<u64>,
    /// The time between the end of the turn before and this prompt.
    pub(crate) waited_ms: Option<u64>,
    /// How long the prompt's own turn took, if it ended well.
    pub(crate) turn_ms: Option<u64>,
    /// What the prompt's turn cost, if the file says so.
    pub(crate) turn_usage: Option<Usage>,
    /// The conversation before the prompt; `None` if no finished turn is before it.
    before: Option<HistoryPosition>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct HistoryPosition {
    history: usize,
    messages: usize,
}

/// The conversation in one file.
#[derive(Debug, Default)]
pub(crate) struct RecordedConversation {
    pub(crate) prompts: Vec<SentPrompt>,
    /// What the model knew at different times. A summary, or taking prompts back, begins a new history.
    histories: Vec<Vec<Message>>,
}

impl RecordedConversation {
    /// Reads a conversation from its events.
    pub(super) fn of(events: Vec<SessionEvent>) -> Self {
        let mut reader = ConversationReader { histories: vec![Vec::new()], ..ConversationReader::default() };
        for event in events {
            reader.take(event);
        }
        reader.end_turn();
        Self { prompts: reader.prompts, histories: reader.histories }
    }

    /// Whether a finished turn came before a prompt.
    pub(crate) fn follows_a_turn(prompt: &SentPrompt) -> bool {
        prompt.before.is_some()
    }

    /// The conversation before a prompt, up to the answer that the user had read.
    pub(crate) fn before(&self, prompt: &SentPrompt) -> &[Message] {
        let messages = |before: HistoryPosition| self.histories.get(before.history)?.get(..before.messages);
        prompt.before.and_then(messages).unwrap_or_default()
    }
}

#[derive(Default)]
struct ConversationReader {
    prompts: Vec<SentPrompt>,
    histories: Vec<Vec<Message>>,
    /// The places of the prompts that were not taken back, each with the number of messages up to the answer before it.
    standing: Vec<(usize, usize)>,
    /// The calls by the ids in the file: the name of each, and the id that it is given here.
    calls: HashMap<String, (String, String)>,
    numbers: usize,
    turn: Turn,
}

/// The turn that is being read.
#[derive(Default)]
struct Turn {
    /// The number of the prompt with which the turn began. Events before the first prompt belong to none.
    prompt: Option<usize>,
    /// Whether this is an earlier turn that is shown again because what followed it was taken back.
    stands_after: bool,
    is_broken: bool,
    ended: Option<u64>,
    usage: BTreeMap<String, Usage>,
}

impl ConversationReader {
    fn take(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Prompt { place, typed, text, at } => self.prompt(place, typed, text, at),
            SessionEvent::Beside(text) => self.say(Role::User, vec![Part::Text { text }]),
            SessionEvent::Answer { parts, at, usage } => {
                let parts: Vec<_> = parts.into_iter().map(|part| self.part(part)).collect();
                self.say(Role::Model, parts);
                self.turn.ended = at.or(self.turn.ended);
                self.turn.usage.extend(usage);
            }
            SessionEvent::Results { results, at } => {
                let results: Vec<_> = results.into_iter().filter_map(|result| self.result(result)).collect();
                self.say(Role::Tool, results);
                self.turn.ended = at.or(self.turn.ended);
            }
            SessionEvent::Broken => self.turn.is_broken = true,
            SessionEvent::Replaced(events) => {
                self.histories.push(Vec::new());
                // The earlier prompts cannot be found in the new history, so nothing before it can be taken back.
                self.standing.clear();
                for event in events {
                    match event {
                        SessionEvent::Prompt { text, .. } => self.say(Role::User, vec![Part::Text { text }]),
                        event => self.take(event),
                    }
                }
            }
            SessionEvent::BackBefore(number) => self.go_back(number),
        }
    }

    fn prompt(&mut self, place: usize, typed: String, text: String, at: Option<u64>) {
        let ended = self.turn.ended;
        let before = self.end_turn();
        self.standing.push((place, self.answered().map_or(0, |answered| answered + 1)));
        let waited_ms = before.and(ended).zip(at).and_then(|(ended, at)| at.checked_sub(ended));
        self.turn = Turn { prompt: Some(self.prompts.len()), ..Turn::default() };
        self.prompts.push(SentPrompt {
            place,
            typed,
            at,
            waited_ms,
            turn_ms: None,
            turn_usage: None,
            before,
        });
        self.say(Role::User, vec![Part::Text { text }]);
    }

    /// Ends the turn, and notes its time and cost. Returns the place in the conversation after it; `None` if the turn
    /// did not end well.
    fn end_turn(&mut self) -> Option<HistoryPosition> {
        let turn = std::mem::take(&mut self.turn);
        let history = self.histories.len().saturating_sub(1);
        let answered = self.answered()?;
        let last = self.now().get(answered)?;
        let is_well = !turn.is_broken && last.role == Role::Model && last.tool_calls().next().is_none();
        let messages = answered + 1;
        if turn.stands_after {
            return is_well.then_some(HistoryPosition { history, messages });
        }
        let prompt = turn.prompt.filter(|_| is_well)?;
        // The prompt got no answer, because the last answer belongs to an earlier turn.
        if self.standing.last().is_some_and(|(_, before)| messages <= *before) {
            return None;
        }
        let prompt = self.prompts.get_mut(prompt)?;
        prompt.turn_ms = prompt.at.zip(turn.ended).and_then(|(at, ended)| ended.checked_sub(at));
        prompt.turn_usage = turn.usage.into_values().reduce(|mut sum, usage| {
            sum += usage;
            sum
        });
        Some(HistoryPosition { history, messages })
    }

    fn go_back(&mut self, place: usize) {
        self.end_turn();
        let Some(number) = self.standing.iter().position(|(prompt, _)| *prompt == place) else { return };
        let (_, messages) = self.standing[number];
        let history = self.now().get(..messages).unwrap_or_default().to_vec();
        self.histories.push(history);
        self.standing.truncate(number);
        // The turn whose answer the user sees now ended long ago, so it is unknown how long they waited before their
        // next prompt.
        let shown = number.checked_sub(1).and_then(|shown| self.standing.get(shown)).map(|(place, _)| *place);
        self.turn = Turn { stands_after: shown.is_some(), ..Turn::default() };
    }

    /// The index of the last answer. Texts that came after it are part of what the user sends next.
    fn answered(&self) -> Option<usize> {
        self.now().iter().rposition(|message| message.role != Role::User)
    }

    fn now(&self) -> &[Message] {
        self.histories.last().map(Vec::as_slice).unwrap_or_default()
    }

    /// Adds to the conversation. Parts of the same role as the last message are added to that message, because some
    /// servers refuse two messages of one role in a row.
    fn say(&mut self, role: Role, parts: Vec<Part>) {
        let Some(messages) = self.histories.last_mut().filter(|_| !parts.is_empty()) else { return };
        match messages.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => messages.push(Message { role, parts }),
        }
    }

    fn part(&mut self, part: AnswerPart) -> Part {
        match part {
            AnswerPart::Words(text) => Part::Text { text },
            AnswerPart::Call { id, name, args } => {
                self.numbers += 1;
                let call = ToolCall { id: format!("call-{}", self.numbers), name: plain_name(&name), args };
                self.calls.insert(id, (call.name.clone(), call.id.clone()));
                Part::ToolCall(call)
            }
        }
    }

    /// Adds a result. Only the first result of a call counts.
    fn result(&mut self, CallResult { id, outcome }: CallResult) -> Option<Part> {
        let (name, id) = self.calls.remove(&id)?;
        Some(Part::ToolResult(ToolResult { id, name, outcome }))
    }
}

/// The name in a form that every provider accepts: up to 64 ASCII letters, digits, `_` and `-`.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().take(64).map(plain).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(place: usize, typed: &str) -> SessionEvent {
        let at = Some(place as u64 * 1_000);
        SessionEvent::Prompt { place, typed: typed.to_owned(), text: typed.to_owned(), at }
    }

    fn answer(text: &str, at: u64) -> SessionEvent {
        SessionEvent::Answer { parts: vec![AnswerPart::Words(text.to_owned())], at: Some(at), usage: None }
    }

    fn call(id: &str) -> SessionEvent {
        let parts = vec![AnswerPart::Call { id: id.to_owned(), name: "mcp: x".to_owned(), args: Map::new() }];
        SessionEvent::Answer { parts, at: None, usage: None }
    }

    /// The messages before each prompt as `role: text`; empty if no finished turn is before it.
    fn before(events: Vec<SessionEvent>) -> Vec<Vec<String>> {
        let recorded = RecordedConversation::of(events);
        let describe = |message: &Message| format!("{:?}: {}", message.role, message.to_text());
        let prompts = recorded.prompts.iter();
        prompts.map(|prompt| recorded.before(prompt).iter().map(describe).collect()).collect()
    }

    #[test]
    fn only_a_turn_that_ended_well_is_followed_by_a_suggestion() {
        let none: Vec<String> = Vec::new();
        let of_first = ["User: a", "Model: 1"].map(str::to_owned).to_vec();
        let after = |events: Vec<SessionEvent>| {
            let events = [vec![prompt(1, "a")], events, vec![prompt(9, "b")]].concat();
            before(events).pop().unwrap()
        };
        assert_eq!(after(vec![answer("1", 2_000)]), of_first);
        assert_eq!(after(vec![]), none);
        assert_eq!(after(vec![answer("1", 2_000), SessionEvent::Broken]), none);
        assert_eq!(after(vec![answer("1", 2_000), call("x")]), none, "a call waits");
        let result = |id: &str| {
            let outcome = ToolOutcome::Output("out".into());
            SessionEvent::Results { results: vec![CallResult { id: id.to_owned(), outcome }], at: None }
        };
        assert_eq!(after(vec![call("x"), result("x")]), none, "nothing was said after the call");
        // Texts of the product that come after the answer belong to the next prompt.
        assert_eq!(after(vec![answer("1", 2_000), SessionEvent::Beside("note".to_owned())]), of_first);
        // A prompt without an answer does not count as the turn before.
        let twice = vec![prompt(1, "a"), answer("1", 2_000), prompt(3, "b"), prompt(4, "c")];
        assert_eq!(before(twice), [none.clone(), of_first, none]);
    }

    #[test]
    fn times_are_those_between_the_answer_and_the_prompts_around_it() {
        let recorded = RecordedConversation::of(vec![
            prompt(1, "a"),
            answer("1", 5_000),
            prompt(9, "b"),
            answer("2", 19_000),
        ]);
        let times: Vec<_> =
            recorded.prompts.iter().map(|prompt| (prompt.waited_ms, prompt.turn_ms)).collect();
        assert_eq!(times, [(None, Some(4_000)), (Some(4_000), Some(10_000))]);
        // No time is known if the clock was put back.
        let recorded = RecordedConversation::of(vec![
            prompt(5, "a"),
            answer("1", 2_000),
            prompt(1, "b"),
            answer("2", 500),
        ]);
        assert!(recorded.prompts.iter().all(|prompt| prompt.waited_ms.is_none() && prompt.turn_ms.is_none()));
    }

    #[test]
    fn a_summary_and_a_step_back_change_what_the_model_knows() {
        let summary = SessionEvent::Replaced(vec![SessionEvent::Beside("so far".to_owned())]);
        let events = vec![
            prompt(1, "a"),
            answer("1", 2_000),
            summary,
            prompt(3, "b"),
            answer("2", 4_000),
            prompt(5, "c"),
        ];
        let last = before(events).pop().unwrap();
        assert_eq!(last, ["User: so farb", "Model: 2"]);
        let events = vec![
            prompt(1, "a"),
            answer("1", 2_000),
            prompt(3, "b"),
            answer("2", 4_000),
            SessionEvent::BackBefore(3),
            prompt(5, "c"),
            answer("3", 6_000),
            SessionEvent::BackBefore(1),
            prompt(7, "d"),
        ];
        let histories = before(events.clone());
        assert_eq!(histories[2], ["User: a", "Model: 1"]);
        assert_eq!(histories[3], [""; 0], "all of it was taken back");
        let waited: Vec<_> =
            RecordedConversation::of(events).prompts.iter().map(|prompt| prompt.waited_ms).collect();
        assert_eq!(waited, [None, Some(1_000), None, None], "nobody knows how long they thought");
    }

    #[test]
    fn any_provider_takes_names_and_ids() {
        let long = "long".repeat(40);
        let result = |id: &str| CallResult { id: id.to_owned(), outcome: ToolOutcome::Output("out".into()) };
        let results = vec![result("\u{e9}"), result(&long), result(&long), result("nobody's")];
        let results = SessionEvent::Results { results, at: None };
        let events =
            vec![prompt(1, "a"), call(&long), call("\u{e9}"), results, answer("1", 2_000), prompt(3, "b")];
        let recorded = RecordedConversation::of(events);
        let before = recorded.before(&recorded.prompts[1]);
        let calls: Vec<_> = before.iter().flat_map(Message::tool_calls).collect();
        let named: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
        assert_eq!(named, [("call-1", "mcp__x"), ("call-2", "mcp__x")]);
        // Each call has one result. Their order is corrected when the model is asked.
        assert_eq!(before[2].parts.len(), 2, "{before:?}");
    }
}
