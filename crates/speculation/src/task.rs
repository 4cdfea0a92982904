//! Sub-tasks: parts of the work that the model has done in a separate conversation.
//!
//! A sub-task is a run within the run, over the same files and under the same rules. In a turn the user is asked
//! about its calls. Work ahead stops before a sub-task if one of its calls may not run ahead, and then nothing of it is
//! done. Only its last answer goes into the conversation that began it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use headstart_forked_query::{Message, ModelRequest, Part, Role, ToolCall, ToolOutcome, ToolSchema};
use headstart_tool_gate::{Behaviour, Declaration, ours};
use headstart_toolbox::{
    Arguments, PartialOutput, Tool, ToolContext, ToolError, ToolOutput, Toolbox, Wording, edited_file,
};
use serde_json::{Map, Value, json};
use tracing::{Instrument, debug_span};

use crate::clock::Clock;
use crate::event::{CallOutputReporter, EventSender};
use crate::executor::{StopReason, TaskSavepoint};
use crate::lock::lock;
use crate::transcript::CallResult;
use crate::turn_loop::{Progress, TurnLoop};
use crate::{Cost, Ending, Limit, Transcript};

/// How many bytes of a sub-task's last answer are given back.
const MOST_BYTES: usize = 16 * 1024;
/// How many names of files that it edited are given back.
const MOST_NAMED: usize = 20;

/// What the model reads before the prompt of a sub-task.
const PREFACE: &str = "What follows is a part of a larger task, which you do in a conversation of your own: you know nothing of the other one, and whoever \
    gave you the part reads nothing of this one but your last answer, of which 16 KiB are given back. Nobody answers questions. Do the part with the tools, \
    and end with what you found or did, with the names of files.";

/// The tool `task`, with which a model has a part of its work done in a separate conversation; for [`Toolbox::with`].
/// The engine only runs it if the gate has its declaration too: [`task_declaration`].
pub fn task_tool() -> Arc<dyn Tool> {
    Arc::new(TaskTool)
}

/// The declaration of the tool for the gate, for [`GateContext::tools`](headstart_tool_gate::GateContext::tools).
pub fn task_declaration() -> Declaration {
    ours::TASK.clone()
}

/// The title that a call gives to the sub-task that it begins; `None` for any other call.
pub fn task_title(call: &ToolCall) -> Option<&str> {
    let title = || call.args.get("title").and_then(Value::as_str).unwrap_or("…");
    (call.name == ours::TASK.name).then(title)
}

struct TaskTool;

#[async_trait]
impl Tool for TaskTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::TASK.name,
            "Has a part of the work done in a conversation of its own, with the same tools and files, and gives back its last answer. For parts that need \
             many calls of which only the outcome matters: a search through the project, a change that stands by itself. It knows nothing of this \
             conversation, and nobody answers its questions. One runs at a time.",
            &json!({
                "title": { "type": "string", "description": "The part in three to six words, for the user." },
                "prompt": {
                    "type": "string",
                    "description": "All that has to be known for it: what is to be done, where, when it is done, what to answer."
                },
            }),
            &["title", "prompt"],
        )
    }

    async fn run(
        &self,
        _args: &Map<String, Value>,
        _context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("sub-tasks are not declared to the gate here, so none is run"))
    }
}

/// The calls of a sub-task.
pub(crate) struct TaskLog {
    calls: Mutex<TaskCalls>,
    /// Receives the progress, if the call that began the sub-task is watched.
    reporter: Option<CallOutputReporter>,
}

#[derive(Default)]
struct TaskCalls {
    /// The calls that ran and had an effect, in order.
    done: Vec<ToolCall>,
    /// How many calls there were of each of the [`KINDS`].
    counts: [usize; KINDS.len()],
    /// The files that were edited, as the calls name them.
    edited: Vec<String>,
    /// The calls that are running, by their ids.
    running: Vec<(String, String)>,
}

/// The word for one call of each kind, and for several.
const KINDS: [(&str, &str); 5] = [
    ("read", "reads"),
    ("search", "searches"),
    ("edit", "edits"),
    ("command", "commands"),
    ("other call", "other calls"),
];

impl TaskLog {
    fn new(reporter: Option<CallOutputReporter>) -> Arc<Self> {
        Arc::new(Self { calls: Mutex::default(), reporter })
    }

    pub(crate) fn note_call_begun(&self, call: &ToolCall, toolbox: &Toolbox) {
        let description = Wording::filled(&toolbox.wording(&call.name).is_currently, &call.args);
        lock(&self.calls).running.push((call.id.clone(), description));
        self.report_progress();
    }

    pub(crate) fn note_call_ended(&self, call: &ToolCall, outcome: &ToolOutcome, toolbox: &Toolbox) {
        let is_edit = toolbox.is_edit(&call.name);
        let kind = match Declaration::of_ours(&call.name).map(|tool| &tool.behaviour) {
            _ if is_edit => 2,
            Some(Behaviour::Reads) => 0,
            Some(Behaviour::Searches) => 1,
            Some(Behaviour::RunsCommand) => 3,
            _ => 4,
        };
        {
            let mut calls = lock(&self.calls);
            calls.running.retain(|(id, _)| *id != call.id);
            calls.counts[kind] += 1;
            if matches!(outcome, ToolOutcome::Output(_)) {
                let path = edited_file(call);
                if let Some(path) =
                    path.filter(|path| is_edit && calls.edited.iter().all(|known| known != path))
                {
                    calls.edited.push(path.to_owned());
                }
                calls.done.push(call.clone());
            }
        }
        self.report_progress();
    }

    /// Tells the progress, if it is watched.
    fn report_progress(&self) {
        let Some(reporter) = &self.reporter else { return };
        let calls = lock(&self.calls);
        let running = calls.running.iter().map(|(_, description)| description.clone());
        let lines: Vec<_> = std::iter::once(calls.count_summary()).chain(running).collect();
        reporter.on_output(lines.join("\n").trim_start());
    }

    /// The result in a few words: `3 reads, 1 edit; edited src/lib.rs`.
    fn summary(&self) -> String {
        let calls = lock(&self.calls);
        let counted = Some(calls.count_summary()).filter(|counted| !counted.is_empty());
        let counted = counted.unwrap_or_else(|| "no calls".to_owned());
        match calls.edited_summary() {
            Some(edited) => format!("{counted}; edited {edited}"),
            None => counted,
        }
    }

    fn edited_files(&self) -> Option<String> {
        lock(&self.calls).edited_summary()
    }

    fn take_done(&self) -> Vec<ToolCall> {
        std::mem::take(&mut lock(&self.calls).done)
    }
}

impl TaskCalls {
    fn count_summary(&self) -> String {
        let parts = KINDS.iter().zip(self.counts).filter(|(_, count)| 0 < *count);
        let parts = parts
            .map(|((one, several), count)| format!("{count} {}", if count == 1 { one } else { several }));
        parts.collect::<Vec<_>>().join(", ")
    }

    fn edited_summary(&self) -> Option<String> {
        let mut named = self.edited.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        if let Some(more) = self.edited.len().checked_sub(MOST_NAMED).filter(|more| 0 < *more) {
            let _ = write!(named, " and {more} more");
        }
        (!named.is_empty()).then_some(named)
    }
}

impl TurnLoop<'_> {
    /// Runs the sub-task that a call begins, to its end. If the future is dropped earlier, the cost so far is counted.
    /// Work ahead then takes back what was staged in the sub-task; in a turn the call gets a result that says what was
    /// done.
    pub(crate) fn run_task<'a>(
        &'a self,
        call: &'a ToolCall,
    ) -> BoxFuture<'a, Result<CallResult, StopReason>> {
        async move {
            let arguments = Arguments::new(&ours::TASK, &call.args, &["title", "prompt"]);
            let prompt = arguments.and_then(|arguments| arguments.required_text("prompt"));
            let prompt = match prompt {
                Ok(prompt) if prompt.trim().is_empty() => {
                    return Ok(CallResult::failed(
                        "task: the prompt is empty; say what is to be done".to_owned(),
                    ));
                }
                Ok(prompt) => prompt,
                Err(error) => return Ok(CallResult::failed(error.to_string())),
            };
            let log = TaskLog::new(self.events.output_reporter(&call.id));
            let executor = self.executor.for_task(&log);
            let tools =
                self.base.tools.iter().filter(|schema| schema.name != ours::TASK.name).cloned().collect();
            let base = ModelRequest { tools, messages: Vec::new(), ..self.base.clone() };
            let limits = self.limits.for_task(&lock(self.progress).cost);
            // The prompt is a model's, so it is not searched for mentions: only the user may make those.
            let transcript = Transcript::new(&format!("{PREFACE}\n\n{}", prompt.trim()));
            let progress = Mutex::new(Progress::new(transcript));
            let task = RunningTask {
                run: self,
                call,
                progress: &progress,
                log: &log,
                savepoint: self.executor.task_savepoint(),
                is_done: false,
            };
            let mut call_ids: HashSet<_> = self.call_ids.clone();
            call_ids.extend(lock(self.progress).transcript.call_ids());
            let run = TurnLoop {
                model: self.model,
                base: &base,
                earlier: &[],
                call_ids,
                executor: &*executor,
                host: self.host,
                limits: &limits,
                progress: &progress,
                events: &EventSender::discarding(),
                clock: Clock::default(),
                clock_above: Some(&self.clock),
            };
            let ending = run.run_to_end().instrument(debug_span!("sub-task", id = call.id)).await;
            task.end(ending)
        }
        .boxed()
    }
}

/// A sub-task that has not ended.
struct RunningTask<'a> {
    run: &'a TurnLoop<'a>,
    call: &'a ToolCall,
    progress: &'a Mutex<Progress>,
    log: &'a TaskLog,
    savepoint: Option<TaskSavepoint>,
    is_done: bool,
}

impl RunningTask<'_> {
    fn end(mut self, ending: Ending) -> Result<CallResult, StopReason> {
        let stopped_by = match ending {
            Ending::Boundary { mut verdict } => {
                verdict.detail = format!("in the sub-task: {}", verdict.detail);
                return Err(StopReason::Boundary(Box::new(verdict)));
            }
            Ending::Exhausted { limit: Limit::Staged } => return Err(StopReason::Limit(Limit::Staged)),
            Ending::Failed { error, .. } => {
                let stands = match self.log.edited_files() {
                    Some(_) if self.is_ahead() => "; what it changed is taken back".to_owned(),
                    Some(edited) => format!("; what it changed stands: {edited}"),
                    None => String::new(),
                };
                // In a turn nothing is taken back, and the model reads this error.
                self.is_done = !self.is_ahead();
                return Ok(CallResult::failed(format!("the sub-task failed: {error}{stands}")));
            }
            Ending::Exhausted { limit } => Some(limit),
            Ending::Completed | Ending::Aborted => None,
        };
        if stopped_by.is_some()
            && self.is_ahead()
            && let Some(limit) = self.limit_above()
        {
            // The sub-task had less to spend than its own limits, so in a turn it would have done more than it did
            // here.
            return Err(StopReason::Limit(limit));
        }
        self.is_done = true;
        if self.is_ahead() {
            lock(self.run.progress).task_calls.extend(self.log.take_done());
        }
        let answer = last_answer(&lock(self.progress).transcript.messages);
        let stopped = stopped_by
            .map(|limit| format!("it was stopped at its limit of {}, and is not done; ", limit_name(limit)));
        Ok(ToolOutput::Text(format!("{answer}\n[{}{}]", stopped.unwrap_or_default(), self.log.summary()))
            .into())
    }

    fn is_ahead(&self) -> bool {
        self.savepoint.is_some()
    }

    /// The limit of the surrounding run, if that is the one that was reached.
    fn limit_above(&self) -> Option<Limit> {
        let spent = lock(self.run.progress).cost.with_task(&lock(self.progress).cost);
        let turns = (self.run.limits.turns <= spent.turns).then_some(Limit::Turns);
        turns.or_else(|| self.run.limits.spent(&spent))
    }
}

impl Drop for RunningTask<'_> {
    fn drop(&mut self) {
        let spent = lock(self.progress).cost;
        let mut progress = lock(self.run.progress);
        progress.cost = progress.cost.with_task(&spent);
        if self.is_done {
            return;
        }
        match self.savepoint.take() {
            Some(savepoint) => {
                drop(progress);
                self.run.executor.roll_back(savepoint);
            }
            None => {
                if let Some(edited) = self.log.edited_files() {
                    let why = format!("the sub-task was interrupted; what it changed stands: {edited}");
                    progress.transcript.resolve(&self.call.id, ToolOutcome::Error(why));
                }
            }
        }
    }
}

impl Cost {
    /// Adds the cost of a sub-task. The time of commands in views is counted by the view, and the time of the work by
    /// the run, so both are left out here.
    fn with_task(self, task: &Self) -> Self {
        let mut tokens = self.tokens;
        tokens += task.tokens;
        Self {
            tokens,
            turns: self.turns + task.turns,
            tool_calls: self.tool_calls + task.tool_calls,
            model_ms: self.model_ms + task.model_ms,
            tool_ms: self.tool_ms + task.tool_ms,
            ..self
        }
    }
}

/// The last answer of the model, cut to the limit.
fn last_answer(messages: &[Message]) -> String {
    let last = messages.iter().rev().find(|message| message.role == Role::Model);
    let texts = last.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text { text } => Some(text.trim()),
        _ => None,
    });
    let answer = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    let end = (0..=answer.len().min(MOST_BYTES))
        .rev()
        .find(|end| answer.is_char_boundary(*end))
        .unwrap_or_default();
    match answer.len() - end {
        0 if answer.is_empty() => "It ended without a word.".to_owned(),
        0 => answer,
        left_out => format!("{}\n[{left_out} more bytes of its answer are left out]", &answer[..end]),
    }
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Turns => "answers",
        Limit::Messages => "messages",
        Limit::Tokens => "tokens",
        Limit::Cost => "cost",
        Limit::Staged => "staged files",
        Limit::Time => "time",
        Limit::Output => "one answer's length",
        Limit::Repeated => "calls that are answered with the same again and again",
        Limit::Window => "what the model sees at once",
    }
}
