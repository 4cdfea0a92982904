use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use headstart_forked_query::{CONTENT, ToolCall, ToolOutcome, ToolSchema};
use headstart_overlay_fs::{
    ChangeSet, CommitOutcome, EntryKind, Overlay, Quota, Savepoint, Tree, Workspace, WorkspacePath,
};
use headstart_tool_gate::{
    Access, ApprovalMode, BuiltinTool, CallRef, Decision, Declaration, Does, Effect, EffectKind, Gate,
    GateContext, Reason, SaidBefore, Verdict,
};
use headstart_toolbox::{GitSoFar, InView, Limits as ToolLimits, ToolContext, ToolError, Toolbox, ViewId};

use tracing::{Instrument, Span, debug, debug_span, trace};

use crate::event::EventSender;
use crate::run::{json, output};
use crate::seen::Seen;
use crate::shadow::{self, Shadow};
use crate::{Consent, Ending, Host, Limit, Prepared};

/// A call at work, which whoever has a thread for it may poll.
pub(crate) type Running = BoxFuture<'static, Result<ToolOutcome, Cut>>;

/// What ends a run at a call that began.
#[derive(Debug, Clone)]
pub(crate) enum Cut {
    Limit(Limit),
    /// The call is pending again, as if it had not run.
    Stop(Box<Verdict>),
}

impl From<Cut> for Ending {
    fn from(cut: Cut) -> Self {
        match cut {
            Cut::Limit(limit) => Self::Exhausted { limit },
            Cut::Stop(verdict) => Self::Boundary { verdict: *verdict },
        }
    }
}

/// Whether a call runs, and how: what tells a speculation from a foreground turn.
#[async_trait]
pub(crate) trait Permits: Send + Sync {
    /// What becomes of a call as things are now. It runs nothing and asks nobody, so calls may run meanwhile.
    async fn permit(&self, call: &ToolCall) -> Permit;

    /// Asks the user where [`permit`](Self::permit) wants that. By default there is nobody to ask.
    async fn ask(&self, _call: &ToolCall, asked: Permitted, _prepared: Prepared) -> Permit {
        Permit::Stop(asked.verdict)
    }

    /// Looks at a call about which the user would be asked. An error is what the model reads: it cannot be done, so nobody is asked.
    async fn prepare(&self, _call: &ToolCall, _asked: &Permitted) -> Result<Prepared, String> {
        Ok(Prepared::default())
    }

    /// Runs a permitted call. The error ends the whole run.
    fn run(&self, call: &ToolCall, permitted: Permitted) -> Running;

    /// Whether it is the user's own turn.
    fn is_attended(&self) -> bool {
        false
    }

    /// Whether a call's changes are on their way into the workspace. By default none ever are.
    fn is_committing(&self) -> bool {
        false
    }
}

pub(crate) enum Permit {
    Run(Permitted),
    /// It runs if the user agrees.
    Ask(Permitted),
    /// It does not run; the model reads why.
    Refuse(String),
    /// The run ends before this call.
    Stop(Verdict),
}

/// The rules under which a call was permitted; it runs under the same.
pub(crate) struct Permitted {
    pub(crate) context: GateContext,
    pub(crate) verdict: Verdict,
    consented: bool,
    /// Whether it is a call of the user's own turn.
    attended: bool,
    /// Whether it runs in a view.
    in_view: bool,
}

impl Permitted {
    /// Whether nothing that another call could see comes of it: it may run beside others of its kind.
    pub(crate) fn only_reads(&self) -> bool {
        let reads = self.verdict.decision == Decision::Allow && self.verdict.reason == Reason::ReadOnly;
        reads && self.verdict.writes.is_empty() && !self.consented && !self.in_view
    }
}

/// Everything that both kinds of run need to judge and run a call.
pub(crate) struct Tools {
    pub(crate) toolbox: Toolbox,
    pub(crate) offered: Vec<ToolSchema>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) limits: ToolLimits,
    /// Hear what commands print.
    pub(crate) events: EventSender,
}

impl Tools {
    /// Puts the files that a command names into the read set: it reads them behind the overlay's back. What it reads
    /// below a folder is not remembered.
    async fn remember_reads(&self, verdict: &Verdict, overlay: &Overlay) {
        for path in verdict.reads.iter().filter_map(|path| WorkspacePath::parse(path).ok()) {
            let Ok(metadata) = overlay.metadata(&path).await else {
                continue;
            };
            if metadata.kind == EntryKind::File && metadata.len <= self.limits.file_bytes {
                // A file that cannot be read is for the command to complain about.
                let _ = overlay.read(&path).await;
            }
        }
    }

    /// What the gate says of a call, and by which rules.
    fn judge(
        &self,
        call: &ToolCall,
        judge: fn(&Gate, CallRef<'_>, &GateContext) -> Verdict,
    ) -> (GateContext, Verdict) {
        let context = self.host.gate_context();
        let verdict = judge(&self.gate, CallRef { name: &call.name, args: &call.args }, &context);
        let (decision, reason) = (verdict.decision.as_str(), verdict.reason.as_str());
        debug!(tool = call.name, id = call.id, decision, reason, "the gate judged a call");
        trace!(target: CONTENT, id = call.id, args = json(&call.args), detail = verdict.detail, "the call");
        (context, verdict)
    }

    /// A name that nobody offered cannot do anything: the model gets an error that it can act on.
    fn nobody_offers(&self, call: &ToolCall) -> Option<String> {
        if !self.host.gate_context().mode.offers_tools() {
            return Some(format!(
                "{} is not run: no tools are offered in chat mode; answer in words",
                call.name
            ));
        }
        let offered = self.offered.iter().any(|schema| schema.name == call.name);
        (!offered && !self.toolbox.offers(&call.name))
            .then(|| self.toolbox.unknown_tool(&call.name).to_string())
    }

    async fn run(
        &self,
        call: &ToolCall,
        view: &Arc<Overlay>,
        permitted: &Permitted,
    ) -> Result<ToolOutcome, Cut> {
        let declared = permitted.context.declaration(&call.name).map(|tool| (tool, view.change_set()));
        let prints = self.events.output_of(&call.id);
        let context = self.context(view, permitted);
        let ran = match &prints {
            Some(prints) => self.toolbox.run_telling(call, context, prints).await,
            None => self.toolbox.run(call, context).await,
        };
        match ran {
            Ok(text) => {
                let against =
                    declared.and_then(|(tool, before)| self.against(tool, call, &before, view, permitted));
                Ok(against.unwrap_or_else(|| output(text)))
            }
            Err(ToolError::Quota { .. }) => Err(Cut::Limit(Limit::Staged)),
            Err(error) => Ok(ToolOutcome::Error(error.to_string())),
        }
    }

    /// What the model reads where a host's own tool did more than its declaration and the rules let it: the gate knew only what it
    /// was told of that tool, and the paths of its arguments.
    fn against(
        &self,
        tool: &Declaration,
        call: &ToolCall,
        before: &ChangeSet,
        view: &Overlay,
        permitted: &Permitted,
    ) -> Option<ToolOutcome> {
        let now = view.change_set();
        let before: HashMap<_, _> = before.changes.iter().map(|change| (&change.path, change)).collect();
        let mut staged =
            now.changes.iter().filter(|change| before.get(&change.path).is_none_or(|known| known != change));
        let why = if tool.stages_in(&call.args) {
            let rules = GateContext { mode: ApprovalMode::AutoEdit, ..permitted.context.clone() };
            let verdict = |path| self.gate.judge_path(Access::Write, path, &rules);
            // The user was asked about a protected path that the call named, and about no other.
            let is_agreed_to = |verdict: &Verdict, path| {
                permitted.consented
                    && verdict.reason == Reason::ProtectedPath
                    && tool.is_about(&call.args, path, &permitted.context)
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
        permitted: &Permitted,
        view: &ViewId,
        below: Arc<ChangeSet>,
        git: GitSoFar,
    ) -> Result<InView, ToolError> {
        self.toolbox.run_in_view(call, self.context(overlay, permitted), view, below, git).await
    }

    fn context<'a>(&'a self, view: &'a Arc<Overlay>, permitted: &'a Permitted) -> ToolContext<'a> {
        ToolContext {
            view,
            gate: &permitted.context,
            limits: &self.limits,
            hardened: if permitted.consented { None } else { permitted.verdict.hardened.as_ref() },
            consented: permitted.consented,
            attended: permitted.attended,
        }
    }
}

/// The permits of a speculation: what the gate allows, over one overlay; nobody is asked.
#[derive(Clone)]
pub(crate) struct Speculative {
    pub(crate) tools: Arc<Tools>,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) shadow: Arc<Shadow>,
}

#[async_trait]
impl Permits for Speculative {
    async fn permit(&self, call: &ToolCall) -> Permit {
        if let Some(message) = self.tools.nobody_offers(call) {
            return Permit::Refuse(message);
        }
        let (context, verdict) = self.tools.judge(call, Gate::judge_ahead);
        let has_views = shadow::is_allowed(&context) && self.shadow.tier().is_some();
        match verdict.decision {
            Decision::Boundary => return Permit::Stop(verdict),
            Decision::Shadow if !has_views => {
                return Permit::Stop(Verdict { decision: Decision::Boundary, ..verdict });
            }
            Decision::Allow | Decision::Redirect | Decision::Shadow => {}
        }
        let declared = context.declaration(&call.name);
        if declared.is_some_and(|tool| tool.does == Does::ReadsRepository)
            && !self.shadow.git_so_far().is_empty()
        {
            return Permit::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!("{} sees the repository without the commits that the work has made", call.name),
            ));
        }
        if declared.is_some_and(Declaration::sees_real_files) && self.differs_from_disk() {
            return Permit::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!(
                    "{} sees the real files, and the work has changed some in the overlay only",
                    call.name
                ),
            ));
        }
        let staged_read = self.staged_read(call, &verdict).await;
        if let Some(path) = staged_read.as_ref().filter(|_| !has_views) {
            return Permit::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!("the command may read {path}, which is changed in the overlay only"),
            ));
        }
        if let Some(path) = self.linked_read(call, &verdict).await {
            return Permit::Stop(Verdict::boundary(
                Reason::ReadsOutside,
                format!("the command reads {path} through a link, which may lead anywhere"),
            ));
        }
        // On the real tree a command would see the repository without the commits that were made ahead.
        let reads_git = is_shell(call) && !self.shadow.git_so_far().is_empty();
        let in_view = verdict.decision == Decision::Shadow || staged_read.is_some() || reads_git;
        Permit::Run(Permitted { context, verdict, consented: false, attended: false, in_view })
    }

    fn run(&self, call: &ToolCall, permitted: Permitted) -> Running {
        let (this, call, span) = (self.clone(), call.clone(), span(call));
        let run = async move {
            if is_shell(&call) {
                this.tools.remember_reads(&permitted.verdict, &this.overlay).await;
            }
            // Calls that only read stage nothing, and run at the same time as others.
            let staging = (!permitted.only_reads()).then(|| Staging::begin(&this.overlay));
            let outcome = if permitted.in_view {
                this.shadow.run(&call, &this.tools, &this.overlay, &permitted).await
            } else {
                this.tools.run(&call, &this.overlay, &permitted).await
            };
            if let (Some(staging), Ok(ToolOutcome::Output(_))) = (staging, &outcome) {
                staging.keep();
            }
            told(outcome)
        };
        run.instrument(span).boxed()
    }
}

/// Around what a call does.
fn span(call: &ToolCall) -> Span {
    debug_span!("call", tool = call.name, id = call.id)
}

/// Says what has come of a call.
fn told(outcome: Result<ToolOutcome, Cut>) -> Result<ToolOutcome, Cut> {
    match &outcome {
        Ok(outcome) => {
            debug!(failed = matches!(outcome, ToolOutcome::Error(_)), "the call is done");
            trace!(target: CONTENT, outcome = json(outcome), "what it answered");
        }
        Err(cut) => debug!(by_limit = matches!(cut, Cut::Limit(_)), "the run ends at the call"),
    }
    outcome
}

/// Takes back what a call staged unless the call succeeds: it may have failed, reached the quota, or been cut by the clock.
struct Staging<'a> {
    overlay: &'a Overlay,
    before: Option<Savepoint>,
}

impl<'a> Staging<'a> {
    fn begin(overlay: &'a Overlay) -> Self {
        Self { overlay, before: Some(overlay.savepoint()) }
    }

    fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.overlay.roll_back(before);
        }
    }
}

pub(crate) fn is_shell(call: &ToolCall) -> bool {
    BuiltinTool::from_name(&call.name) == Some(BuiltinTool::Shell)
}

impl Speculative {
    /// Whether a program that looks at the workspace by itself finds something else than the work does.
    fn differs_from_disk(&self) -> bool {
        self.overlay.is_staged(&WorkspacePath::root()) || !self.shadow.git_so_far().is_empty()
    }

    /// A path that a shell command may read and that is staged, or reached through a link and so may be staged under
    /// another name: the command would see the file as it was.
    async fn staged_read(&self, call: &ToolCall, verdict: &Verdict) -> Option<String> {
        if !is_shell(call) || !self.overlay.is_staged(&WorkspacePath::root()) {
            return None;
        }
        for read in &verdict.reads {
            let Ok(path) = WorkspacePath::parse(read) else {
                return Some(read.clone());
            };
            if self.overlay.is_staged(&path) || self.goes_through_a_link(path).await {
                return Some(read.clone());
            }
        }
        None
    }

    /// A path that a shell command names and that lies behind a link: the gate judged the name, and the command would read
    /// what is at the link's end, outside the workspace or denied.
    async fn linked_read(&self, call: &ToolCall, verdict: &Verdict) -> Option<String> {
        if !is_shell(call) {
            return None;
        }
        for read in &verdict.reads {
            let Ok(path) = WorkspacePath::parse(read) else { continue };
            if self.goes_through_a_link(path).await {
                return Some(read.clone());
            }
        }
        None
    }

    async fn goes_through_a_link(&self, mut path: WorkspacePath) -> bool {
        loop {
            if let Ok(metadata) = self.overlay.metadata(&path).await
                && metadata.kind == EntryKind::Symlink
            {
                return true;
            }
            match path.parent() {
                Some(parent) if !parent.is_root() => path = parent,
                _ => return false,
            }
        }
    }
}

/// The permits of a foreground turn: the user is asked where the mode does not decide, and every call's changes
/// are committed before the next call runs.
#[derive(Clone)]
pub(crate) struct Foreground {
    pub(crate) tools: Arc<Tools>,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) quota: Quota,
    pub(crate) committing: Committing,
    pub(crate) seen: Seen,
}

/// Whether a commit is under way.
#[derive(Clone, Default)]
pub(crate) struct Committing(Arc<AtomicBool>);

impl Committing {
    /// It is, until the guard is dropped.
    fn begin(&self) -> impl Drop + use<> {
        struct Done(Arc<AtomicBool>);
        impl Drop for Done {
            fn drop(&mut self) {
                self.0.store(false, Ordering::SeqCst);
            }
        }
        self.0.store(true, Ordering::SeqCst);
        Done(Arc::clone(&self.0))
    }
}

#[async_trait]
impl Permits for Foreground {
    fn is_attended(&self) -> bool {
        true
    }

    async fn permit(&self, call: &ToolCall) -> Permit {
        if let Some(message) = self.tools.nobody_offers(call) {
            return Permit::Refuse(message);
        }
        let (context, verdict) = self.tools.judge(call, Gate::judge);
        let asked = Permitted { context, verdict, consented: true, attended: true, in_view: false };
        let verdict = &asked.verdict;
        if verdict.decision != Decision::Boundary {
            return Permit::Run(Permitted { consented: false, ..asked });
        }
        if matches!(verdict.reason, Reason::DeniedPath) {
            return Permit::Refuse(asked.verdict.detail);
        }
        let called = CallRef { name: &call.name, args: &call.args };
        let said = self.tools.gate.said_before(verdict, called, &asked.context);
        if said == SaidBefore::No {
            return Permit::Refuse(asked.verdict.detail);
        }
        if asked.context.mode.writes_nothing() && !asks_to_read(verdict) {
            return Permit::Refuse(format!("plan mode runs nothing that may write: {}", verdict.detail));
        }
        match said {
            SaidBefore::Yes => Permit::Run(asked),
            SaidBefore::Nothing if asked.context.mode == ApprovalMode::Yolo => Permit::Run(asked),
            SaidBefore::Nothing | SaidBefore::Asks | SaidBefore::No => Permit::Ask(asked),
        }
    }

    async fn prepare(&self, call: &ToolCall, asked: &Permitted) -> Result<Prepared, String> {
        if !self.tools.toolbox.is_edit(&call.name) {
            return Ok(Prepared::default());
        }
        let base: Arc<dyn Tree> = Arc::clone(&self.workspace) as Arc<dyn Tree>;
        let view = Arc::new(Overlay::new(base, self.quota));
        let toolbox = self.tools.toolbox.unobserved();
        match toolbox.run(call, self.tools.context(&view, asked)).await {
            Ok(_) => {
                let changes = view.change_set();
                let changes = (!changes.is_empty()).then_some(changes);
                Ok(Prepared { changes })
            }
            // What such an error says of a file that is closed, the model reads only after a yes.
            Err(_) if asked.verdict.reason != Reason::WriteToolNoAuto => Ok(Prepared::default()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn ask(&self, call: &ToolCall, asked: Permitted, prepared: Prepared) -> Permit {
        match self.tools.host.consent_to(call, &asked.verdict, prepared).await {
            Consent::Run => Permit::Run(asked),
            Consent::Decline => Permit::Refuse("the user declined this call".into()),
            Consent::DeclineBecause(why) => {
                Permit::Refuse(format!("the user declined this call, and says: {why}"))
            }
            Consent::Stop => Permit::Stop(asked.verdict),
        }
    }

    fn run(&self, call: &ToolCall, permitted: Permitted) -> Running {
        let (this, call, span) = (self.clone(), call.clone(), span(call));
        async move { told(this.run_and_commit(&call, &permitted).await) }.instrument(span).boxed()
    }

    fn is_committing(&self) -> bool {
        self.committing.0.load(Ordering::SeqCst)
    }
}

impl Foreground {
    async fn run_and_commit(&self, call: &ToolCall, permitted: &Permitted) -> Result<ToolOutcome, Cut> {
        let base: Arc<dyn Tree> = Arc::clone(&self.workspace) as Arc<dyn Tree>;
        let overlay = Arc::new(Overlay::new(base, self.quota));
        // What a command does that the user agreed to is not only to read.
        if is_shell(call) && !permitted.consented {
            self.tools.remember_reads(&permitted.verdict, &overlay).await;
        }
        let outcome = self.tools.run(call, &overlay, permitted).await?;
        let changes = overlay.change_set();
        let failed = matches!(outcome, ToolOutcome::Error(_));
        if changes.is_empty() || failed {
            self.seen.note_reads(&call.name, failed, &changes.reads);
            return Ok(outcome);
        }
        let stale = self.seen.changed_meanwhile(&changes);
        if !stale.is_empty() {
            return Ok(changed_meanwhile(&stale));
        }
        let _committing = self.committing.begin();
        let committed = self.workspace.commit(&changes, self.tools.host.commit_options()).await;
        let is_committed = matches!(&committed, Ok(CommitOutcome::Committed(_)));
        debug!(paths = changes.changes.len(), committed = is_committed, "the workspace took its changes");
        Ok(match committed {
            Ok(CommitOutcome::Committed(_)) => {
                self.seen.note_reads(&call.name, failed, &changes.reads);
                self.seen.note_writes(&changes);
                outcome
            }
            Ok(CommitOutcome::Conflict(conflicts)) => {
                let paths: Vec<_> = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
                changed_meanwhile(&paths)
            }
            Err(error) => ToolOutcome::Error(error.to_string()),
        })
    }
}

/// Plan mode reads, so its user is asked there as everywhere: about a secret, and about a read that their policy asks about.
fn asks_to_read(verdict: &Verdict) -> bool {
    let reads = |effect: &Effect| effect.kind == EffectKind::ReadOnly;
    matches!(verdict.reason, Reason::SecretPath | Reason::Policy) && verdict.effects.iter().all(reads)
}

fn changed_meanwhile(paths: &[String]) -> ToolOutcome {
    ToolOutcome::Error(format!("{} changed meanwhile; read it again", paths.join(", ")))
}
