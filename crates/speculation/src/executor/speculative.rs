use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{EntryKind, Overlay, Savepoint, Tree, WorkspacePath};
use headstart_tool_gate::{
    Behaviour, DecidingPolicy, Decision, Declaration, Gate, GateContext, Reason, Verdict,
};
use headstart_toolbox::KnownFile;
use tracing::Instrument;

use super::{
    CallDecision, CallExecutor, CallFuture, CallPermit, CallPlace, CallTools, HardLinks, TaskSavepoint,
    is_shell, span,
};
use crate::AcceptAnswers;
use crate::left_out::LeftOutPlace;
use crate::shadow::{self, ViewRunner};
use crate::task::TaskLog;

/// How the name of a server's tool begins.
const OF_A_SERVER: &str = "mcp__";

/// Runs what the gate allows, over one overlay; nobody is asked.
#[derive(Clone)]
pub(crate) struct SpeculativeExecutor {
    pub(crate) tools: Arc<CallTools>,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) view_runner: Arc<ViewRunner>,
    /// Whether the calls are those of a turn of the user.
    pub(crate) attended: bool,
}

#[async_trait]
impl CallExecutor for SpeculativeExecutor {
    async fn decide(&self, call: &ToolCall) -> CallDecision {
        if let Some(message) = self.tools.refusal(call) {
            // The servers of a user's own turns may not run where the work runs ahead.
            if call.name.starts_with(OF_A_SERVER) && !self.tools.offers(call) {
                let why = format!("{} is a tool of a server that does not run here", call.name);
                return CallDecision::Stop(Verdict::boundary(Reason::UnknownTool, why));
            }
            return CallDecision::Refuse(message);
        }
        let (context, verdict) = self.tools.judge(call, Gate::judge_ahead);
        let has_views = shadow::views_allowed(&context) && self.view_runner.tier().is_some();
        match verdict.decision {
            Decision::Boundary => return CallDecision::Stop(verdict),
            Decision::Shadow if !has_views => {
                return CallDecision::Stop(Verdict { decision: Decision::Boundary, ..verdict });
            }
            Decision::Allow | Decision::Redirect | Decision::Shadow => {}
        }
        let declared = context.declaration(&call.name);
        if declared.is_some_and(|tool| tool.behaviour == Behaviour::ReadsRepository)
            && !self.view_runner.git_so_far().is_empty()
        {
            return CallDecision::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!("{} sees the repository without the commits that the work has made", call.name),
            ));
        }
        if declared.is_some_and(Declaration::sees_real_files) && self.differs_from_disk() {
            return CallDecision::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!(
                    "{} sees the real files, and the work has changed some in the overlay only",
                    call.name
                ),
            ));
        }
        let left_out = self.left_out_named(call, &verdict, &context);
        if let Some((path, LeftOutPlace::Gone)) = &left_out {
            return CallDecision::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!("it may read {path}, which a command of this work changed in a view that has ended"),
            ));
        }
        if let Some((path, LeftOutPlace::Here)) = left_out.as_ref().filter(|_| !is_shell(call)) {
            return CallDecision::Refuse(format!(
                "a command of this work changed {path}, and only commands see that: use one for it"
            ));
        }
        let staged_read = self.staged_read(call, &verdict).await;
        if let Some(path) = staged_read.as_ref().filter(|_| !has_views) {
            return CallDecision::Stop(Verdict::boundary(
                Reason::ReadsStaged,
                format!("the command may read {path}, which is changed in the overlay only"),
            ));
        }
        if let Some(path) = self.linked_read(call, &verdict).await {
            return CallDecision::Stop(Verdict::boundary(
                Reason::ReadsOutside,
                format!("the command reads {path} through a link, which may lead anywhere"),
            ));
        }
        // On the real tree, a command would see the repository without the commits that were made ahead.
        let reads_git = is_shell(call) && !self.view_runner.git_so_far().is_empty();
        let in_view =
            verdict.decision == Decision::Shadow || staged_read.is_some() || left_out.is_some() || reads_git;
        let place = if in_view { CallPlace::View } else { CallPlace::Overlay };
        let permit = CallPermit {
            context,
            verdict,
            consented: false,
            attended: self.attended,
            place,
            hard_links: HardLinks::Kept,
            shown: None,
            writes_first: AcceptAnswers::default(),
        };
        match self.tools.hard_links(call, &self.overlay, &permit).await {
            Some(why) => CallDecision::Stop(Verdict::boundary(Reason::HardLinks, why)),
            None => CallDecision::Run(permit),
        }
    }

    fn deciding_policy(&self, call: &ToolCall) -> Option<DecidingPolicy> {
        self.tools.deciding_policy(call, true)
    }

    fn run(&self, call: &ToolCall, permit: CallPermit, known: KnownFile) -> CallFuture {
        let (this, call, span) = (self.clone(), call.clone(), span(call));
        let run = async move {
            this.tools.note_call_begun(&call);
            if is_shell(&call) {
                this.tools.add_to_read_set(&permit.verdict, &this.overlay).await;
            }
            // Calls that only read stage nothing, and run at the same time as others.
            let staging = (!permit.only_reads()).then(|| StagingGuard::begin(&this.overlay));
            let outcome = if permit.place == CallPlace::View {
                this.view_runner.run(&call, &this.tools, &this.overlay, &permit).await
            } else {
                this.tools.run(&call, &this.overlay, &permit, &known).await
            };
            if let (Some(staging), Ok(ran)) = (staging, &outcome)
                && !ran.is_failed()
            {
                staging.keep();
            }
            this.tools.note_result(&call, outcome)
        };
        run.instrument(span).boxed()
    }

    fn for_task(&self, log: &Arc<TaskLog>) -> Box<dyn CallExecutor> {
        Box::new(Self { tools: self.tools.for_task(log), ..self.clone() })
    }

    fn task_savepoint(&self) -> Option<TaskSavepoint> {
        Some(TaskSavepoint {
            staged: self.overlay.savepoint(),
            git: self.view_runner.git(),
            view_times: self.view_runner.view_times(),
        })
    }

    fn roll_back(&self, savepoint: TaskSavepoint) {
        self.overlay.roll_back(savepoint.staged);
        self.view_runner.roll_back(savepoint.git, savepoint.view_times);
    }
}

impl SpeculativeExecutor {
    /// Whether a program that reads the workspace by itself would find something else than the work does.
    fn differs_from_disk(&self) -> bool {
        self.overlay.is_staged(&WorkspacePath::root()) || !self.view_runner.git_so_far().is_empty()
    }

    /// A path that a call names and that a command of the work changed without its being staged. A command may search
    /// what is below a folder that it names, too; the tools for files leave out there what git ignores.
    fn left_out_named(
        &self,
        call: &ToolCall,
        verdict: &Verdict,
        context: &GateContext,
    ) -> Option<(WorkspacePath, LeftOutPlace)> {
        let place = |path: &WorkspacePath| self.view_runner.left_out_place(path, is_shell(call));
        if is_shell(call) {
            return verdict.reads.iter().find_map(|path| Some((path.clone(), place(path)?)));
        }
        let declared = context.declaration(&call.name).or_else(|| Declaration::of_ours(&call.name))?;
        let named = declared.path_argument(&call.args).ok()??;
        let named = WorkspacePath::resolve(named, &context.workspace).ok()?;
        place(&named).map(|place| (named, place))
    }

    /// A path that a shell command may read and that is staged, or is reached through a link and so may be staged under
    /// another name: the command would see the file as it was before.
    async fn staged_read(&self, call: &ToolCall, verdict: &Verdict) -> Option<String> {
        if !is_shell(call) || !self.overlay.is_staged(&WorkspacePath::root()) {
            return None;
        }
        for read in &verdict.reads {
            if self.overlay.is_staged(read) || self.passes_through_link(read.clone()).await {
                return Some(read.to_string());
            }
        }
        None
    }

    /// A path that a shell command names and that lies behind a link: the gate judged the name, but the command would
    /// read the target of the link, which may be outside the workspace or denied.
    async fn linked_read(&self, call: &ToolCall, verdict: &Verdict) -> Option<String> {
        if !is_shell(call) {
            return None;
        }
        for read in &verdict.reads {
            if self.passes_through_link(read.clone()).await {
                return Some(read.to_string());
            }
        }
        None
    }

    async fn passes_through_link(&self, mut path: WorkspacePath) -> bool {
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

/// Takes back what a call staged unless the call succeeds: it may have failed, reached the quota, or been cut by the
/// clock.
struct StagingGuard<'a> {
    overlay: &'a Overlay,
    savepoint: Option<Savepoint>,
}

impl<'a> StagingGuard<'a> {
    fn begin(overlay: &'a Overlay) -> Self {
        Self { overlay, savepoint: Some(overlay.savepoint()) }
    }

    fn keep(mut self) {
        self.savepoint = None;
    }
}

impl Drop for StagingGuard<'_> {
    fn drop(&mut self) {
        if let Some(savepoint) = self.savepoint.take() {
            self.overlay.roll_back(savepoint);
        }
    }
}
