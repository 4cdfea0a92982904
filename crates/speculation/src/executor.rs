mod foreground;
mod speculative;
mod staged;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_forked_query::{CONTENT, ToolCall, ToolOutcome, ToolSchema};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, EntryKind, Overlay, Savepoint, Tree};
use headstart_tool_gate::{
    Access, AheadWrites, ApprovalMode, Behaviour, CallRef, DecidingPolicy, Decision, Declaration, Gate,
    GateContext, Reason, Verdict, ours,
};
use headstart_toolbox::{
    KnownFile, PriorGitChanges, ToolContext, ToolError, ToolLimits, Toolbox, ViewCallOutput, ViewId,
    edited_file,
};

use tracing::{Span, debug, debug_span, trace};

pub(crate) use self::foreground::{CommitFlag, ForegroundExecutor};
pub(crate) use self::speculative::SpeculativeExecutor;
pub(crate) use self::staged::StagedExecutor;
use crate::event::EventSender;
use crate::task::TaskLog;
use crate::transcript::CallResult;
use crate::turn_loop::json;
use crate::view_times::ViewTimes;
use crate::{AcceptAnswers, CallPreview, Ending, Host, Limit};

/// A running call. It may be polled on any thread.
pub(crate) type CallFuture = BoxFuture<'static, Result<CallResult, StopReason>>;

/// Why a run ends at a call that began.
#[derive(Debug, Clone)]
pub(crate) enum StopReason {
    Limit(Limit),
    /// The call is pending again, as if it had not run.
    Boundary(Box<Verdict>),
}

impl From<StopReason> for Ending {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Limit(limit) => Self::Exhausted { limit },
            StopReason::Boundary(verdict) => Self::Boundary { verdict: *verdict },
        }
    }
}

/// Whether a call runs, and how. This is what differs between a speculation and a foreground turn.
#[async_trait]
pub(crate) trait CallExecutor: Send + Sync {
    /// The permit for a call as things are now. This runs nothing and asks nobody, so other calls may run meanwhile.
    async fn decide(&self, call: &ToolCall) -> CallDecision;

    /// Asks the user if [`decide`](Self::decide) requires it. By default there is nobody to ask.
    async fn ask(&self, _call: &ToolCall, permit: CallPermit, _prepared: CallPreview) -> CallDecision {
        CallDecision::Stop(permit.verdict)
    }

    /// The policy that decides about a call as things are now.
    fn deciding_policy(&self, call: &ToolCall) -> Option<DecidingPolicy>;

    /// Looks at a call about which the user would be asked. If the call cannot be done, the error is what the model
    /// reads, and nobody is asked.
    async fn prepare(
        &self,
        _call: &ToolCall,
        _permit: &CallPermit,
        _known: &KnownFile,
    ) -> Result<CallPreview, String> {
        Ok(CallPreview::default())
    }

    /// Runs a permitted call. `known` is what the conversation shows of the file that it would replace. The error ends
    /// the whole run.
    fn run(&self, call: &ToolCall, permit: CallPermit, known: KnownFile) -> CallFuture;

    /// What becomes of a call that began in a view, which could not give what it wants. By default the run ends there.
    async fn after_boundary(&self, _call: &ToolCall, verdict: Verdict) -> CallDecision {
        CallDecision::Stop(verdict)
    }

    /// The same executor for the calls of a sub-task: `log` is told of them, and the run's events are not.
    fn for_task(&self, log: &Arc<TaskLog>) -> Box<dyn CallExecutor>;

    /// The state to which a sub-task that begins now can be taken back; `None` if what its calls did stays.
    fn task_savepoint(&self) -> Option<TaskSavepoint> {
        None
    }

    /// Takes back what was done since then.
    fn roll_back(&self, _savepoint: TaskSavepoint) {}

    /// Whether the run is a turn of the user.
    fn is_attended(&self) -> bool {
        false
    }

    /// Whether a call's changes are being committed to the workspace. By default none ever are.
    fn is_committing(&self) -> bool {
        false
    }
}

/// What work ahead has staged when one of its sub-tasks begins.
pub(crate) struct TaskSavepoint {
    staged: Savepoint,
    git: Option<GitChange>,
    view_times: ViewTimes,
}

pub(crate) enum CallDecision {
    Run(CallPermit),
    /// The call runs if the user agrees.
    Ask(CallPermit),
    /// The call does not run; the model reads why.
    Refuse(String),
    /// The run ends before this call.
    Stop(Verdict),
}

/// The rules under which a call was permitted; the call runs under the same rules.
pub(crate) struct CallPermit {
    pub(crate) context: GateContext,
    pub(crate) verdict: Verdict,
    consented: bool,
    /// Whether the call belongs to a turn of the user.
    attended: bool,
    place: CallPlace,
    hard_links: HardLinks,
    /// What the user was shown that the call changes, and agreed to.
    shown: Option<ChangeSet>,
    /// Their yes to what turns have staged and what is written before the call.
    writes_first: AcceptAnswers,
}

/// Where a call runs, and what becomes of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallPlace {
    /// Over the run's overlay, in which its changes stay.
    Overlay,
    /// In a view; the overlay takes the changes.
    View,
    /// On the workspace, in which its changes are before the next call.
    Workspace,
}

/// What becomes of the names (hard links) of a file that a call changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HardLinks {
    /// A file with several is not changed.
    Kept,
    /// One name is changed, and the others keep the former content.
    Broken,
}

/// Begins the reason for a question that is asked a second time.
const ASKED_AGAIN: &str = "what it changes was saved while you were asked, so it is shown again; ";

impl CallPermit {
    /// The permit for what the user was shown, and for nothing else.
    pub(crate) fn to(self, shown: CallPreview) -> Self {
        let writes_first = shown.staged.map(|staged| staged.approve()).unwrap_or_default();
        Self { shown: shown.changes, writes_first, ..self }
    }

    /// The permit with which the user is asked a second time.
    pub(crate) fn asked_again(mut self) -> Self {
        if !self.verdict.detail.starts_with(ASKED_AGAIN) {
            self.verdict.detail.insert_str(0, ASKED_AGAIN);
        }
        self
    }

    /// The permit with which the user is asked whether one name of a file is parted from its others.
    pub(crate) fn asked_about_hard_links(self, why: String) -> Self {
        let known = matches!(self.verdict.decision, Decision::Boundary)
            && self.verdict.reason != Reason::WriteToolNoAuto;
        let (reason, detail) = if known {
            (self.verdict.reason, format!("{why}; {}", self.verdict.detail))
        } else {
            (Reason::HardLinks, why)
        };
        let verdict = Verdict { decision: Decision::Boundary, reason, detail, ..self.verdict };
        Self { verdict, consented: true, hard_links: HardLinks::Broken, ..self }
    }

    /// The paths at which a call would change something else than what the user was shown.
    fn not_shown(&self, changes: &ChangeSet) -> Vec<String> {
        let Some(shown) = &self.shown else { return Vec::new() };
        let others = changes.changes.iter().filter(|change| !shown.changes.contains(change));
        others.map(|change| change.path.to_string()).collect()
    }

    /// Whether the call does nothing that another call could see, so that it may run beside others of its kind.
    pub(crate) fn only_reads(&self) -> bool {
        let reads = self.verdict.decision == Decision::Allow && self.verdict.reason == Reason::ReadOnly;
        reads && self.verdict.writes.is_empty() && !self.consented && self.place != CallPlace::View
    }

    /// Whether the call may run beside others that only read. One that starts or ends something beside the turns waits
    /// for the calls before it.
    pub(crate) fn runs_beside_reads(&self, call: &ToolCall) -> bool {
        let declared = self.context.declaration(&call.name);
        let serves_session = declared.is_some_and(|tool| tool.behaviour == Behaviour::ServesSession);
        self.only_reads() && !serves_session && !self.is_task(call)
    }

    /// Whether the call begins a sub-task.
    pub(crate) fn is_task(&self, call: &ToolCall) -> bool {
        let declared = self.context.declaration(&call.name);
        call.name == ours::TASK.name && declared.is_some_and(|tool| tool.behaviour == Behaviour::RunsSubTask)
    }
}

/// Everything that both kinds of run need to judge and run a call.
pub(crate) struct CallTools {
    pub(crate) toolbox: Toolbox,
    pub(crate) offered: Vec<ToolSchema>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) limits: ToolLimits,
    /// Receives what commands print.
    pub(crate) events: EventSender,
    /// Receives the calls, if they are those of a sub-task.
    pub(crate) task: Option<Arc<TaskLog>>,
    /// Whether edits are staged in a mode that asks, whatever the rules say of work ahead: the user is asked when the
    /// turn ends.
    pub(crate) stages_turns: bool,
}

impl CallTools {
    /// The same tools for a sub-task, which cannot begin another sub-task.
    fn for_task(&self, log: &Arc<TaskLog>) -> Arc<Self> {
        let mut offered = self.offered.clone();
        offered.retain(|schema| schema.name != ours::TASK.name);
        Arc::new(Self {
            toolbox: self.toolbox.clone().keeping(|name| name != ours::TASK.name),
            offered,
            gate: Arc::clone(&self.gate),
            host: Arc::clone(&self.host),
            limits: self.limits,
            events: EventSender::discarding(),
            task: Some(Arc::clone(log)),
            stages_turns: self.stages_turns,
        })
    }

    /// Notes that a call begins.
    fn note_call_begun(&self, call: &ToolCall) {
        if let Some(log) = &self.task {
            log.note_call_begun(call, &self.toolbox);
        }
    }

    /// Notes the result of a call.
    fn note_result(
        &self,
        call: &ToolCall,
        ran: Result<CallResult, StopReason>,
    ) -> Result<CallResult, StopReason> {
        match &ran {
            Ok(ran) => {
                debug!(failed = ran.is_failed(), items = ran.items.len(), "the call is done");
                trace!(target: CONTENT, outcome = json(&ran.outcome), "what it answered");
            }
            Err(reason) => {
                debug!(by_limit = matches!(reason, StopReason::Limit(_)), "the run ends at the call");
            }
        }
        if let (Some(log), Ok(ran)) = (&self.task, &ran) {
            log.note_call_ended(call, &ran.outcome, &self.toolbox);
        }
        ran
    }

    /// Puts the files that a command names into the read set, because the command reads them without the overlay. What
    /// it reads below a folder is not remembered.
    async fn add_to_read_set(&self, verdict: &Verdict, overlay: &Overlay) {
        for path in &verdict.reads {
            let Ok(metadata) = overlay.metadata(path).await else {
                continue;
            };
            if metadata.kind == EntryKind::File && metadata.len <= self.limits.file_bytes {
                // If the file cannot be read, the command reports that itself.
                let _ = overlay.read(path).await;
            }
        }
    }

    /// What the gate says of a call, and by which rules.
    fn judge(
        &self,
        call: &ToolCall,
        judge: fn(&Gate, CallRef<'_>, &GateContext) -> Verdict,
    ) -> (GateContext, Verdict) {
        let mut context = self.host.gate_context();
        if self.stages_turns {
            context.ahead_writes = AheadWrites::Ask;
        }
        let mut verdict = judge(&self.gate, CallRef { name: &call.name, args: &call.args }, &context);
        let declared = context.declaration(&call.name).or_else(|| Declaration::of_ours(&call.name));
        let is_command = declared.is_some_and(Declaration::runs_commands);
        if is_command && verdict.decision == Decision::Allow && !self.host.confines_commands() {
            let detail = "nothing on this system confines a command, so you are asked about each".to_owned();
            verdict = Verdict { decision: Decision::Boundary, detail, hardened: None, ..verdict };
        }
        let (decision, reason) = (verdict.decision.as_str(), verdict.reason.as_str());
        debug!(tool = call.name, id = call.id, decision, reason, "the gate judged a call");
        trace!(target: CONTENT, id = call.id, args = json(&call.args), detail = verdict.detail, "the call");
        (context, verdict)
    }

    fn deciding_policy(&self, call: &ToolCall, is_ahead: bool) -> Option<DecidingPolicy> {
        let called = CallRef { name: &call.name, args: &call.args };
        self.gate.deciding_policy(called, &self.host.gate_context(), is_ahead)
    }

    /// The error for a call that cannot run whatever anybody says, so that the model can act on it: nobody offers the
    /// tool, or it can do nothing with the arguments.
    fn refusal(&self, call: &ToolCall) -> Option<String> {
        if !self.host.gate_context().mode.offers_tools() {
            return Some(format!(
                "{} is not run: no tools are offered in chat mode; answer in words",
                call.name
            ));
        }
        if !self.offers(call) {
            return Some(self.toolbox.unknown_tool(&call.name).to_string());
        }
        self.toolbox.check_arguments(call).err().map(|error| error.to_string())
    }

    fn offers(&self, call: &ToolCall) -> bool {
        self.offered.iter().any(|schema| schema.name == call.name) || self.toolbox.offers(&call.name)
    }

    /// Why an edit asks in every mode but yolo: the file has several names (hard links), and the edit is not made to all of
    /// them.
    async fn hard_links(&self, call: &ToolCall, view: &Arc<Overlay>, permit: &CallPermit) -> Option<String> {
        let named = edited_file(call).filter(|_| self.toolbox.is_edit(&call.name))?;
        // What cannot be found is the call's own error.
        let path = self.context(view, permit).locate_for_write(named).await.ok()?;
        let found = view.metadata(&path).await.ok()?;
        let others = found.links.checked_sub(1).filter(|_| found.kind == EntryKind::File)?;
        let keep = match others {
            0 => return None,
            1 => "the other keeps",
            _ => "the others keep",
        };
        Some(format!(
            "{path} has {} names (hard links): this one is changed, and {keep} the former content",
            found.links
        ))
    }

    async fn run(
        &self,
        call: &ToolCall,
        view: &Arc<Overlay>,
        permit: &CallPermit,
        known: &KnownFile,
    ) -> Result<CallResult, StopReason> {
        // Only for a host's own tool is its declaration compared with what it did.
        let declared = permit.context.declaration(&call.name).filter(|tool| !tool.is_built_in());
        let declared = declared.map(|tool| (tool, view.change_set()));
        let prints = self.events.output_reporter(&call.id);
        let context = self.context(view, permit);
        let ran = match (self.toolbox.check_known(call, context, known).await, &prints) {
            (Err(unseen), _) => Err(unseen),
            (Ok(()), Some(prints)) => self.toolbox.run_streaming(call, context, prints).await,
            (Ok(()), None) => self.toolbox.run(call, context).await,
        };
        match ran {
            Ok(output) => {
                let violation = declared
                    .and_then(|(tool, before)| self.contract_violation(tool, call, &before, view, permit));
                Ok(violation.map_or_else(|| output.into(), CallResult::from))
            }
            Err(ToolError::Quota { .. }) => Err(StopReason::Limit(Limit::Staged)),
            Err(error) => Ok(CallResult::failed(error.to_string())),
        }
    }

    /// What the model reads if a host's own tool did more than its declaration and the rules allow: the gate knew only
    /// what it was told of that tool, and the paths in its arguments.
    fn contract_violation(
        &self,
        tool: &Declaration,
        call: &ToolCall,
        before: &ChangeSet,
        view: &Overlay,
        permit: &CallPermit,
    ) -> Option<ToolOutcome> {
        let now = view.change_set();
        let before: HashMap<_, _> = before.changes.iter().map(|change| (&change.path, change)).collect();
        let mut staged =
            now.changes.iter().filter(|change| before.get(&change.path).is_none_or(|known| known != change));
        let why = if tool.stages_in(&call.args) {
            let rules = GateContext { mode: ApprovalMode::AutoEdit, ..permit.context.clone() };
            let verdict = |path| self.gate.judge_path(Access::Write, path, &rules);
            // The user was asked about a protected path that the call named, and about no other.
            let is_agreed_to = |verdict: &Verdict, path| {
                permit.consented
                    && verdict.reason == Reason::ProtectedPath
                    && tool.is_about(&call.args, path, &permit.context)
            };
            staged
                .map(|change| (verdict(&change.path), &change.path))
                .find(|(verdict, path)| {
                    verdict.decision == Decision::Boundary && !is_agreed_to(verdict, path)
                })?
                .0
                .detail
        } else {
            format!("it is declared as a tool that only reads, and changed {}", staged.next()?.path)
        };
        Some(ToolOutcome::Error(format!("{} is not done: {why}", call.name)))
    }

    pub(crate) async fn run_in_view(
        &self,
        call: &ToolCall,
        overlay: &Arc<Overlay>,
        permit: &CallPermit,
        view: &ViewId,
        below: Arc<ChangeSet>,
        git: PriorGitChanges,
    ) -> Result<ViewCallOutput, ToolError> {
        let printed = self.events.output_reporter(&call.id).map(|printed| Arc::new(printed) as _);
        self.toolbox.run_in_view(call, self.context(overlay, permit), (view, printed), below, git).await
    }

    fn context<'a>(&'a self, view: &'a Arc<Overlay>, permit: &'a CallPermit) -> ToolContext<'a> {
        ToolContext {
            view,
            gate: &permit.context,
            limits: &self.limits,
            hardened: if permit.consented { None } else { permit.verdict.hardened.as_ref() },
            consented: permit.consented,
            attended: permit.attended,
        }
    }
}

/// The tracing span around a call.
fn span(call: &ToolCall) -> Span {
    debug_span!("call", tool = call.name, id = call.id)
}

pub(crate) fn is_shell(call: &ToolCall) -> bool {
    Declaration::is_shell(&call.name)
}
