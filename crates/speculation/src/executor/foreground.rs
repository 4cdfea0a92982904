use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::FutureExt;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{CommitOptions, CommitOutcome, Overlay, Quota, Tree, Workspace};
use headstart_tool_gate::{
    ApprovalMode, CallRef, DecidingPolicy, Decision, Declaration, Effect, EffectKind, Gate, Reason,
    StandingConsent, Verdict,
};
use headstart_toolbox::KnownFile;
use tracing::{Instrument, debug};

use super::{
    CallDecision, CallExecutor, CallFuture, CallPermit, CallPlace, CallTools, HardLinks, StopReason,
    is_shell, span,
};
use crate::known_contents::KnownContents;
use crate::task::TaskLog;
use crate::transcript::CallResult;
use crate::{AcceptAnswers, CallPreview, Consent};

/// Runs the calls of a foreground turn: the user is asked where the mode does not decide, and every call's changes are
/// committed before the next call runs.
#[derive(Clone)]
pub(crate) struct ForegroundExecutor {
    pub(crate) tools: Arc<CallTools>,
    pub(crate) workspace: Arc<dyn Workspace>,
    /// What calls read: the workspace, with what turns have staged.
    pub(crate) base: Arc<dyn Tree>,
    pub(crate) quota: Quota,
    pub(crate) committing: CommitFlag,
    pub(crate) known_contents: KnownContents,
}

/// Whether a commit is under way.
#[derive(Clone, Default)]
pub(crate) struct CommitFlag(Arc<AtomicBool>);

impl CommitFlag {
    /// Notes that a commit is under way until the guard is dropped.
    pub(super) fn begin(&self) -> impl Drop + use<> {
        struct CommitGuard(Arc<AtomicBool>);
        impl Drop for CommitGuard {
            fn drop(&mut self) {
                self.0.store(false, Ordering::SeqCst);
            }
        }
        self.0.store(true, Ordering::SeqCst);
        CommitGuard(Arc::clone(&self.0))
    }
}

#[async_trait]
impl CallExecutor for ForegroundExecutor {
    fn is_attended(&self) -> bool {
        true
    }

    async fn decide(&self, call: &ToolCall) -> CallDecision {
        let (permit, asks) = match self.decide_by_rules(call) {
            CallDecision::Run(permit) => (permit, false),
            CallDecision::Ask(permit) => (permit, true),
            decision => return decision,
        };
        match self.tools.hard_links(call, &self.overlay(HardLinks::Kept), &permit).await {
            None if asks => CallDecision::Ask(permit),
            None => CallDecision::Run(permit),
            Some(_) if !asks && permit.context.mode == ApprovalMode::Yolo => {
                CallDecision::Run(CallPermit { hard_links: HardLinks::Broken, ..permit })
            }
            Some(why) => CallDecision::Ask(permit.asked_about_hard_links(why)),
        }
    }

    fn deciding_policy(&self, call: &ToolCall) -> Option<DecidingPolicy> {
        self.tools.deciding_policy(call, false)
    }

    async fn prepare(
        &self,
        call: &ToolCall,
        permit: &CallPermit,
        known: &KnownFile,
    ) -> Result<CallPreview, String> {
        // A built-in tool for files reaches nothing there, whatever the user says.
        let is_of_files = Declaration::built_in(&call.name).is_some() && !is_shell(call);
        if is_of_files && permit.verdict.reason == Reason::OutsideWorkspace {
            return Err(permit.verdict.detail.clone());
        }
        if !self.tools.toolbox.is_edit(&call.name) {
            return Ok(CallPreview::default());
        }
        let view = self.overlay(permit.hard_links);
        let toolbox = self.tools.toolbox.without_edit_observer();
        let context = self.tools.context(&view, permit);
        let prepared = match toolbox.check_known(call, context, known).await {
            Ok(()) => toolbox.run(call, context).await,
            Err(unseen) => Err(unseen),
        };
        match prepared {
            Ok(_) => {
                let changes = view.change_set();
                let changes = (!changes.is_empty()).then_some(changes);
                Ok(CallPreview { changes, ..CallPreview::default() })
            }
            // The error may reveal something of a closed file, so the model reads it only after a yes.
            Err(_) if !matches!(permit.verdict.reason, Reason::WriteToolNoAuto | Reason::HardLinks) => {
                Ok(CallPreview::default())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn ask(&self, call: &ToolCall, permit: CallPermit, prepared: CallPreview) -> CallDecision {
        match self.tools.host.consent_to(call, &permit.verdict, prepared).await {
            Consent::Run => CallDecision::Run(permit),
            Consent::Decline => CallDecision::Refuse("the user declined this call".into()),
            Consent::DeclineBecause(why) => {
                CallDecision::Refuse(format!("the user declined this call, and says: {why}"))
            }
            Consent::Stop => CallDecision::Stop(permit.verdict),
        }
    }

    fn run(&self, call: &ToolCall, permit: CallPermit, known: KnownFile) -> CallFuture {
        let (this, call, span) = (self.clone(), call.clone(), span(call));
        let run = async move {
            this.tools.note_call_begun(&call);
            if !permit.only_reads() {
                this.tools.host.before_call(&call).await;
            }
            let outcome = this.run_and_commit(&call, &permit, &known).await;
            this.tools.note_result(&call, outcome)
        };
        run.instrument(span).boxed()
    }

    fn for_task(&self, log: &Arc<TaskLog>) -> Box<dyn CallExecutor> {
        Box::new(Self { tools: self.tools.for_task(log), ..self.clone() })
    }

    fn is_committing(&self) -> bool {
        self.committing.0.load(Ordering::SeqCst)
    }
}

impl ForegroundExecutor {
    /// What the rules say of a call, whatever is on disk.
    fn decide_by_rules(&self, call: &ToolCall) -> CallDecision {
        if let Some(message) = self.tools.refusal(call) {
            return CallDecision::Refuse(message);
        }
        let (context, verdict) = self.tools.judge(call, Gate::judge);
        let permit = CallPermit {
            context,
            verdict,
            consented: true,
            attended: true,
            place: CallPlace::Workspace,
            hard_links: HardLinks::Kept,
            shown: None,
            writes_first: AcceptAnswers::default(),
        };
        let verdict = &permit.verdict;
        if verdict.decision != Decision::Boundary {
            return CallDecision::Run(CallPermit { consented: false, ..permit });
        }
        if matches!(verdict.reason, Reason::DeniedPath) {
            return CallDecision::Refuse(permit.verdict.detail);
        }
        let called = CallRef { name: &call.name, args: &call.args };
        let standing = self.tools.gate.standing_consent(verdict, called, &permit.context);
        if standing == StandingConsent::No {
            return CallDecision::Refuse(permit.verdict.detail);
        }
        if permit.context.mode.writes_nothing() && !asks_to_read(verdict) {
            return CallDecision::Refuse(format!(
                "plan mode runs nothing that may write: {}",
                verdict.detail
            ));
        }
        match standing {
            StandingConsent::Yes => CallDecision::Run(permit),
            StandingConsent::Nothing if permit.context.mode == ApprovalMode::Yolo => {
                CallDecision::Run(permit)
            }
            StandingConsent::Nothing | StandingConsent::Asks | StandingConsent::No => {
                CallDecision::Ask(permit)
            }
        }
    }

    /// An overlay for one call.
    fn overlay(&self, hard_links: HardLinks) -> Arc<Overlay> {
        let base = Arc::clone(&self.base);
        Arc::new(match hard_links {
            HardLinks::Kept => Overlay::new(base, self.quota),
            HardLinks::Broken => Overlay::breaking_hard_links(base, self.quota),
        })
    }

    async fn run_and_commit(
        &self,
        call: &ToolCall,
        permit: &CallPermit,
        known: &KnownFile,
    ) -> Result<CallResult, StopReason> {
        let overlay = self.overlay(permit.hard_links);
        // A command that the user agreed to may do more than read.
        if is_shell(call) && !permit.consented {
            self.tools.add_to_read_set(&permit.verdict, &overlay).await;
        }
        let outcome = self.tools.run(call, &overlay, permit, known).await?;
        let changes = overlay.change_set();
        let failed = outcome.is_failed();
        if changes.is_empty() || failed {
            self.known_contents.note_reads(&call.name, failed, &changes.reads);
            return Ok(outcome);
        }
        let not_shown = permit.not_shown(&changes);
        if !not_shown.is_empty() {
            return Ok(changed_meanwhile(&not_shown));
        }
        let stale = self.known_contents.changed_meanwhile(&changes);
        if !stale.is_empty() {
            return Ok(changed_meanwhile(&stale));
        }
        let _committing = self.committing.begin();
        let options = CommitOptions {
            breaks_hard_links: permit.hard_links == HardLinks::Broken,
            ..self.tools.host.commit_options()
        };
        let committed = self.workspace.commit(&changes, options).await;
        let is_committed = matches!(&committed, Ok(CommitOutcome::Committed(_)));
        debug!(paths = changes.changes.len(), committed = is_committed, "the workspace took its changes");
        Ok(match committed {
            Ok(CommitOutcome::Committed(_)) => {
                self.known_contents.note_reads(&call.name, failed, &changes.reads);
                self.known_contents.note_writes(&changes);
                outcome
            }
            Ok(CommitOutcome::Conflict(conflicts)) => {
                let paths: Vec<_> = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
                changed_meanwhile(&paths)
            }
            Err(error) => CallResult::failed(error.to_string()),
        })
    }
}

/// Whether the user is asked about a read. Plan mode reads too, so this holds in it as in the other modes: for a
/// secret, and for a read that the user's policy asks about.
fn asks_to_read(verdict: &Verdict) -> bool {
    let reads = |effect: &Effect| effect.kind == EffectKind::ReadOnly;
    matches!(verdict.reason, Reason::SecretPath | Reason::Policy | Reason::ReadOnly)
        && verdict.effects.iter().all(reads)
}

fn changed_meanwhile(paths: &[String]) -> CallResult {
    CallResult::failed(format!("{} changed meanwhile; read it again", paths.join(", ")))
}
