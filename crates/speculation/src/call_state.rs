//! The state of each call of a run, from the first letter of its arguments to its result.

use headstart_forked_query::ToolCall;
use headstart_tool_gate::DecidingPolicy;
use headstart_toolbox::Wording;
use serde::Serialize;
use serde_json::{Map, Value};

/// The shortest time between two reports of arguments that are still being written, in milliseconds.
const REPORT_INTERVAL_MS: u64 = 100;

/// The state of a call. The states from [`Done`](Self::Done) on are ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CallStage {
    /// The model is writing the arguments of the call.
    Generating,
    /// The arguments are complete. The call waits for the calls before it, or for the user's answer.
    Generated,
    /// The call runs.
    Calling,
    /// The call has a result.
    Done,
    /// The call failed, or a rule refused it; the model reads why.
    Errored,
    /// The call did not run, or not to its end: it was cut, declined or interrupted.
    Canceled,
    /// Work that runs ahead stopped before the call. When the work is taken, the turn that goes on with it generates
    /// the call anew.
    Boundary,
}

impl CallStage {
    /// What to say of a call after "the agent": `wants to run cargo test`.
    pub fn sentence(self, wording: &Wording, args: &Map<String, Value>) -> String {
        let (intro, words) = match self {
            Self::Generating => ("is generating output to ", &wording.would_like_to),
            Self::Generated | Self::Boundary => ("wants to ", &wording.would_like_to),
            Self::Calling => ("is ", &wording.is_currently),
            Self::Done => ("", &wording.has_already),
            Self::Errored | Self::Canceled => ("tried to ", &wording.would_like_to),
        };
        format!("{intro}{}", Wording::filled(words, args))
    }

    /// Whether no other state follows.
    pub fn is_end(self) -> bool {
        Self::Done <= self
    }
}

/// Whether a call belongs to a turn or to work ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// A turn of the user.
    #[default]
    Turn,
    /// Work that ran ahead of the user.
    Ahead,
}

/// A call in a new state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallState {
    /// Counts the calls of one run from 0, in the order in which the model began them.
    pub number: usize,
    /// The id of the call, which is empty until the arguments are complete.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The state.
    #[serde(rename = "state")]
    pub stage: CallStage,
    /// All arguments once they are complete. While they are being written, those that are complete so far, and of these
    /// only texts and numbers.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// Whether the call waits for the user's answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// Whether the call belongs to a turn or to work ahead.
    pub origin: Origin,
    /// Which policy of the user or the project decided about the call, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<DecidingPolicy>,
}

/// What happens to calls.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CallInput {
    /// The next letters of a call's arguments.
    Fragment {
        /// The place of the call in the current answer, counted from 0.
        index: usize,
        /// The name of the tool, as far as it is known.
        name: String,
        /// The letters.
        letters: String,
    },
    /// The answer is complete, and these are its calls.
    Answered(Vec<ToolCall>),
    /// The answer was cut: none of its calls runs.
    AnswerCut,
    /// A policy decides about the call with this id; the call's next state says so.
    Decided {
        /// The id of the call.
        id: String,
        /// What the policy says.
        policy: DecidingPolicy,
    },
    /// The user is asked about the call with this id.
    ConsentAsked(String),
    /// The user declined the call with this id.
    Declined(String),
    /// The call with this id begins.
    Begun(String),
    /// A call has its result.
    Ended {
        /// The id of the call.
        id: String,
        /// Whether the result is an error.
        failed: bool,
    },
    /// The run stops before the call with this id.
    Stopped(String),
    /// The run is over.
    RunEnded,
}

/// An input that does not fit the state of its call; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call is not in a state in which this can happen")]
pub struct InvalidTransition;

/// The states of the calls of one run.
///
/// Each call ends once: an input that comes after that is [`InvalidTransition`]. Nothing here reads a clock; the time
/// is an argument.
///
/// ```
/// use headstart_speculation::{CallInput, CallStage, CallStates, Origin, InvalidTransition};
///
/// let mut states = CallStates::new(Origin::Turn);
/// let fragment = CallInput::Fragment { index: 0, name: "edit".into(), letters: r#"{"file_path":"a.rs","old"#.into() };
/// let changed = states.handle(0, fragment)?;
/// assert_eq!((changed[0].stage, &changed[0].args["file_path"]), (CallStage::Generating, &"a.rs".into()));
/// let changed = states.handle(5, CallInput::AnswerCut)?;
/// assert_eq!(changed[0].stage, CallStage::Canceled);
/// assert_eq!(states.handle(6, CallInput::Begun("edit_0".into())), Err(InvalidTransition));
/// # Ok::<(), InvalidTransition>(())
/// ```
#[derive(Debug, Clone)]
pub struct CallStates {
    origin: Origin,
    calls: Vec<Call>,
    /// The number of the first call of the current answer.
    answer: usize,
}

#[derive(Debug, Clone)]
struct Call {
    id: String,
    name: String,
    stage: CallStage,
    waiting: bool,
    /// The place of the call in the current answer.
    index: usize,
    /// The letters of the arguments until they are complete.
    letters: String,
    /// When the arguments were told last, and how many there were.
    last_report: Option<(u64, usize)>,
    policy: Option<DecidingPolicy>,
}

impl CallStates {
    /// Begins without calls.
    pub fn new(origin: Origin) -> Self {
        Self { origin, calls: Vec::new(), answer: 0 }
    }

    /// Takes in an input at this time of the host's clock, and returns the calls whose state has changed, in order.
    pub fn handle(&mut self, now_ms: u64, input: CallInput) -> Result<Vec<CallState>, InvalidTransition> {
        match input {
            CallInput::Fragment { index, name, letters } => {
                Ok(self.add_fragment(now_ms, index, &name, &letters))
            }
            CallInput::Answered(calls) => Ok(self.match_answer(calls)),
            CallInput::AnswerCut => Ok(self.cut_answer()),
            CallInput::RunEnded => {
                // When work that ran ahead is taken, a turn goes on with its open calls.
                let end =
                    if self.origin == Origin::Ahead { CallStage::Boundary } else { CallStage::Canceled };
                Ok(self.end_all(0, end, |stage| !stage.is_end()))
            }
            CallInput::Decided { id, policy } => {
                let index = self.find(&id, |call| call.stage == CallStage::Generated)?;
                self.calls[index].policy = Some(policy);
                Ok(Vec::new())
            }
            CallInput::ConsentAsked(id) => {
                // A call that began in a view may have to be asked about because of what it wanted there.
                let may_wait = |call: &Call| matches!(call.stage, CallStage::Generated | CallStage::Calling);
                let index = self.find(&id, |call| may_wait(call) && !call.waiting)?;
                (self.calls[index].stage, self.calls[index].waiting) = (CallStage::Generated, true);
                Ok(vec![self.report(index)])
            }
            CallInput::Declined(id) => self.transition(&id, CallStage::Canceled, |call| call.waiting),
            CallInput::Begun(id) => {
                self.transition(&id, CallStage::Calling, |call| call.stage == CallStage::Generated)
            }
            CallInput::Ended { id, failed } => {
                let stage = if failed { CallStage::Errored } else { CallStage::Done };
                self.transition(&id, stage, |call| {
                    matches!(call.stage, CallStage::Generated | CallStage::Calling)
                })
            }
            CallInput::Stopped(id) => self.transition(&id, CallStage::Boundary, |call| {
                matches!(call.stage, CallStage::Generated | CallStage::Calling)
            }),
        }
    }

    fn add_fragment(&mut self, now_ms: u64, index: usize, name: &str, letters: &str) -> Vec<CallState> {
        let known = self.calls[self.answer..].iter().position(|call| call.index == index);
        let position = known.map_or(self.calls.len(), |position| self.answer + position);
        if known.is_none() {
            self.calls.push(Call {
                id: String::new(),
                name: String::new(),
                stage: CallStage::Generating,
                waiting: false,
                index,
                letters: String::new(),
                last_report: None,
                policy: None,
            });
        }
        let call = &mut self.calls[position];
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.letters.push_str(letters);
        let is_due = call.last_report.is_none_or(|(at, _)| at + REPORT_INTERVAL_MS <= now_ms);
        if call.name.is_empty() || !is_due {
            return Vec::new();
        }
        let args = complete_fields(&call.letters);
        let is_new = call.last_report.is_none_or(|(_, known)| known < args.len());
        call.last_report = Some((now_ms, args.len()));
        if is_new { vec![CallState { args, ..self.report(position) }] } else { Vec::new() }
    }

    /// Matches the calls of the complete answer with those that were begun, in their order and by their names, because
    /// only now each call has its id.
    fn match_answer(&mut self, calls: Vec<ToolCall>) -> Vec<CallState> {
        let mut changed = Vec::new();
        let mut begun = self.answer;
        for ToolCall { id, name, args } in calls {
            if self.calls[..self.answer].iter().any(|call| call.id == id) {
                continue;
            }
            let is_it = |call: &Call| call.stage == CallStage::Generating && call.name == name;
            let found = self.calls[begun..].iter().position(is_it).map(|position| begun + position);
            let position = found.unwrap_or(self.calls.len());
            if found.is_none() {
                let index = self.calls.len() - self.answer;
                let (stage, letters, last_report) = (CallStage::Generated, String::new(), None);
                let (id, waiting, policy) = (String::new(), false, None);
                let new = Call { id, name, stage, waiting, index, letters, last_report, policy };
                self.calls.push(new);
            } else {
                begun = position + 1;
            }
            let call = &mut self.calls[position];
            (call.id, call.stage, call.letters) = (id, CallStage::Generated, String::new());
            changed.push(CallState { args, ..self.report(position) });
        }
        changed
            .extend(self.end_all(self.answer, CallStage::Canceled, |stage| stage == CallStage::Generating));
        self.answer = self.calls.len();
        changed.sort_by_key(|state| state.number);
        changed
    }

    fn cut_answer(&mut self) -> Vec<CallState> {
        let changed = self.end_all(self.answer, CallStage::Canceled, |stage| stage == CallStage::Generating);
        self.answer = self.calls.len();
        changed
    }

    fn end_all(&mut self, from: usize, end: CallStage, which: impl Fn(CallStage) -> bool) -> Vec<CallState> {
        let open: Vec<_> = (from..self.calls.len()).filter(|index| which(self.calls[*index].stage)).collect();
        open.into_iter().map(|index| self.set_stage(index, end)).collect()
    }

    fn transition(
        &mut self,
        id: &str,
        stage: CallStage,
        fits: impl Fn(&Call) -> bool,
    ) -> Result<Vec<CallState>, InvalidTransition> {
        let index = self.find(id, fits)?;
        Ok(vec![self.set_stage(index, stage)])
    }

    fn set_stage(&mut self, index: usize, stage: CallStage) -> CallState {
        let call = &mut self.calls[index];
        (call.stage, call.waiting, call.letters) = (stage, false, String::new());
        self.report(index)
    }

    /// Ids are unique in a conversation, so the last call with this id is the only one.
    fn find(&self, id: &str, fits: impl Fn(&Call) -> bool) -> Result<usize, InvalidTransition> {
        let index = self
            .calls
            .iter()
            .rposition(|call| !call.id.is_empty() && call.id == id)
            .ok_or(InvalidTransition)?;
        if fits(&self.calls[index]) { Ok(index) } else { Err(InvalidTransition) }
    }

    fn report(&self, index: usize) -> CallState {
        let Call { id, name, stage, waiting, policy, .. } = &self.calls[index];
        CallState {
            number: index,
            id: id.clone(),
            name: name.clone(),
            stage: *stage,
            args: Map::new(),
            waiting: *waiting,
            origin: self.origin,
            policy: policy.clone(),
        }
    }
}

/// The complete texts and numbers of an object whose letters may end anywhere.
fn complete_fields(letters: &str) -> Map<String, Value> {
    let mut args = Map::new();
    let Some(mut rest) = letters.trim_start().strip_prefix('{') else { return args };
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        let Some((Value::String(name), behind)) = next_value(rest) else { return args };
        let Some(value) = behind.trim_start().strip_prefix(':') else { return args };
        let Some((value, behind)) = next_value(value) else { return args };
        // A number may have more digits.
        if value.is_number() && behind.is_empty() {
            return args;
        }
        if value.is_string() || value.is_number() {
            args.insert(name, value);
        }
        rest = behind;
    }
}

/// The value at the beginning of a text, and the text behind it; `None` if the value is not complete.
fn next_value(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

#[cfg(test)]
mod tests;
