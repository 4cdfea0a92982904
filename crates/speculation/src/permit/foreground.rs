use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::FutureExt;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{CommitOutcome, Overlay, Quota, Tree, Workspace};
use headstart_tool_gate::{
    ApprovalMode, CallRef, DecidingPolicy, Decision, Effect, EffectKind, Gate, Reason, StandingConsent,
    Verdict,
};
use tracing::{Instrument, debug};

use super::{Cut, Permit, Permits, Permitted, Running, Tools, is_shell, span};
use crate::seen::Seen;
use crate::task::TaskLog;
use crate::transcript::Ran;
use crate::{Consent, Prepared};

/// The permits of a foreground turn: the user is asked where the mode does not decide, and every call's changes are
/// committed before the next call runs.
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
    /// Notes that a commit is under way until the guard is dropped.
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
        let said = self.tools.gate.standing_consent(verdict, called, &asked.context);
        if said == StandingConsent::No {
            return Permit::Refuse(asked.verdict.detail);
        }
        if asked.context.mode.writes_nothing() && !asks_to_read(verdict) {
            return Permit::Refuse(format!("plan mode runs nothing that may write: {}", verdict.detail));
        }
        match said {
            StandingConsent::Yes => Permit::Run(asked),
            StandingConsent::Nothing if asked.context.mode == ApprovalMode::Yolo => Permit::Run(asked),
            StandingConsent::Nothing | StandingConsent::Asks | StandingConsent::No => Permit::Ask(asked),
        }
    }

    fn deciding_policy(&self, call: &ToolCall) -> Option<DecidingPolicy> {
        self.tools.deciding_policy(call, false)
    }

    async fn prepare(&self, call: &ToolCall, asked: &Permitted) -> Result<Prepared, String> {
        if !self.tools.toolbox.is_edit(&call.name) {
            return Ok(Prepared::default());
        }
        let base: Arc<dyn Tree> = Arc::clone(&self.workspace) as Arc<dyn Tree>;
        let view = Arc::new(Overlay::new(base, self.quota));
        let toolbox = self.tools.toolbox.without_edit_observer();
        match toolbox.run(call, self.tools.context(&view, asked)).await {
            Ok(_) => {
                let changes = view.change_set();
                let changes = (!changes.is_empty()).then_some(changes);
                Ok(Prepared { changes })
            }
            // The error may reveal something of a closed file, so the model reads it only after a yes.
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
        let run = async move {
            this.tools.begins(&call);
            let outcome = this.run_and_commit(&call, &permitted).await;
            this.tools.told(&call, outcome)
        };
        run.instrument(span).boxed()
    }

    fn of_task(&self, log: &Arc<TaskLog>) -> Box<dyn Permits> {
        Box::new(Self { tools: self.tools.of_task(log), ..self.clone() })
    }

    fn is_committing(&self) -> bool {
        self.committing.0.load(Ordering::SeqCst)
    }
}

impl Foreground {
    async fn run_and_commit(&self, call: &ToolCall, permitted: &Permitted) -> Result<Ran, Cut> {
        let base: Arc<dyn Tree> = Arc::clone(&self.workspace) as Arc<dyn Tree>;
        let overlay = Arc::new(Overlay::new(base, self.quota));
        // A command that the user agreed to may do more than read.
        if is_shell(call) && !permitted.consented {
            self.tools.remember_reads(&permitted.verdict, &overlay).await;
        }
        let outcome = self.tools.run(call, &overlay, permitted).await?;
        let changes = overlay.change_set();
        let failed = outcome.is_failed();
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
            Err(error) => Ran::failed(error.to_string()),
        })
    }
}

/// Whether the user is asked about a read. Plan mode reads too, so this holds in it as in the other modes: for a
/// secret, and for a read that the user's policy asks about.
fn asks_to_read(verdict: &Verdict) -> bool {
    let reads = |effect: &Effect| effect.kind == EffectKind::ReadOnly;
    matches!(verdict.reason, Reason::SecretPath | Reason::Policy) && verdict.effects.iter().all(reads)
}

fn changed_meanwhile(paths: &[String]) -> Ran {
    Ran::failed(format!("{} changed meanwhile; read it again", paths.join(", ")))
}
