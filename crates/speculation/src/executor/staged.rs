use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use headstart_forked_query::ToolCall;
use headstart_tool_gate::{ApprovalMode, Behaviour, DecidingPolicy, Decision, Declaration, Reason, Verdict};
use headstart_toolbox::KnownFile;

use super::{
    CallDecision, CallExecutor, CallFuture, CallPermit, CallPlace, ForegroundExecutor, SpeculativeExecutor,
    StopReason,
};
use crate::staged::Layer;
use crate::task::TaskLog;
use crate::transcript::CallResult;
use crate::{AcceptAnswers, Acceptance, CallPreview, Engine, Event, Limit, Staged};

/// Runs the calls of a turn that is staged: as work ahead runs them where it would run them, and as a turn in the
/// foreground where work ahead would stop. What is staged is written before a call that could see the difference.
#[derive(Clone)]
pub(crate) struct StagedExecutor {
    engine: Engine,
    foreground: ForegroundExecutor,
    staged: Staged,
}

impl StagedExecutor {
    pub(crate) fn new(engine: Engine, foreground: ForegroundExecutor, staged: Staged) -> Self {
        Self { engine, foreground, staged }
    }

    /// The layer in which calls stage now: another one after a write.
    fn layer(&self) -> Arc<Layer> {
        let layer = self.staged.open(&self.foreground.tools.toolbox, &self.engine.limits);
        layer.view_runner.set_events(self.foreground.tools.events.clone());
        layer
    }

    fn ahead(&self, layer: &Layer) -> SpeculativeExecutor {
        SpeculativeExecutor {
            tools: Arc::clone(&self.foreground.tools),
            overlay: Arc::clone(&layer.overlay),
            view_runner: Arc::clone(&layer.view_runner),
            attended: true,
        }
    }

    /// Whether what is staged has to be written before a call runs on the workspace.
    fn writes_first(&self, call: &ToolCall, permit: &CallPermit) -> bool {
        let declared = permit.context.declaration(&call.name).or_else(|| Declaration::of_ours(&call.name));
        let sees_the_difference = declared.is_none_or(|tool| {
            !matches!(
                tool.behaviour,
                Behaviour::Reads
                    | Behaviour::Searches
                    | Behaviour::ServesSession
                    | Behaviour::RunsSubTask
                    | Behaviour::Network
            )
        });
        sees_the_difference && self.staged.is_dirty()
    }

    /// Writes what is staged. The error is what the model reads of the call that was to follow.
    async fn write(&self, answers: &AcceptAnswers) -> Result<(), String> {
        let committing = self.foreground.committing.begin();
        let written = self.engine.write_staged(&self.staged, answers).await;
        drop(committing);
        let why = match written {
            Ok(Acceptance::Accepted(accepted)) => {
                let events = &self.foreground.tools.events;
                events.send(Event::Written {
                    changes: accepted.changes,
                    git: accepted.git,
                    merged: accepted.merged,
                    not_kept: accepted.not_kept,
                });
                self.staged.keep(&*self.engine.host, events).await;
                return Ok(());
            }
            Ok(Acceptance::Nothing) => return Ok(()),
            Ok(Acceptance::Conflict(conflicts)) => {
                let paths: Vec<_> = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
                format!("the user changed {} meanwhile", paths.join(", "))
            }
            Ok(Acceptance::Withdrawn { verdict, .. }) => verdict.detail,
            Ok(_) => "the user has to agree to it first".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(format!(
            "not run: your changes are not on disk yet, and writing them before this call failed, because {why}. They stay staged, \
             and the user is asked about them when the turn ends"
        ))
    }
}

#[async_trait]
impl CallExecutor for StagedExecutor {
    fn is_attended(&self) -> bool {
        true
    }

    async fn decide(&self, call: &ToolCall) -> CallDecision {
        let (permit, asks) = match self.foreground.decide(call).await {
            CallDecision::Run(permit) => (permit, false),
            CallDecision::Ask(permit) => (permit, true),
            other => return other,
        };
        let mode = permit.context.mode;
        let mut why = None;
        if mode != ApprovalMode::Yolo {
            match self.ahead(&self.layer()).decide(call).await {
                CallDecision::Stop(verdict) => why = Some(verdict),
                decision => return decision,
            }
        }
        if !self.writes_first(call, &permit) {
            return if asks { CallDecision::Ask(permit) } else { CallDecision::Run(permit) };
        }
        if mode.writes_nothing() {
            let why = why.map(|verdict| verdict.detail).unwrap_or_default();
            return CallDecision::Refuse(format!(
                "plan mode writes nothing, and this would need what is staged on disk: {why}"
            ));
        }
        if asks {
            return CallDecision::Ask(permit);
        }
        if mode.edits_files() {
            return CallDecision::Run(permit);
        }
        // The call itself needs no yes, the write before it does.
        let verdict = match why {
            Some(why) => Verdict { hardened: permit.verdict.hardened.clone(), ..why },
            None => permit.verdict,
        };
        CallDecision::Ask(CallPermit {
            verdict: Verdict { decision: Decision::Boundary, ..verdict },
            ..permit
        })
    }

    async fn ask(&self, call: &ToolCall, permit: CallPermit, prepared: CallPreview) -> CallDecision {
        self.foreground.ask(call, permit, prepared).await
    }

    fn deciding_policy(&self, call: &ToolCall) -> Option<DecidingPolicy> {
        self.foreground.deciding_policy(call)
    }

    async fn prepare(
        &self,
        call: &ToolCall,
        permit: &CallPermit,
        known: &KnownFile,
    ) -> Result<CallPreview, String> {
        let prepared = self.foreground.prepare(call, permit, known).await?;
        let staged = self.writes_first(call, permit).then(|| self.staged.approval()).flatten();
        Ok(CallPreview { staged, ..prepared })
    }

    fn run(&self, call: &ToolCall, permit: CallPermit, known: KnownFile) -> CallFuture {
        let (this, call) = (self.clone(), call.clone());
        let run = async move {
            if permit.place == CallPlace::Workspace {
                if this.writes_first(&call, &permit)
                    && let Err(problem) = this.write(&permit.writes_first).await
                {
                    return Ok(CallResult::failed(problem));
                }
                return this.foreground.run(&call, permit, known).await;
            }
            let (layer, only_reads) = (this.layer(), permit.only_reads());
            layer.note_begun(&call);
            let ran = this.ahead(&layer).run(&call, permit, known).await;
            layer.note_ended(&call, ran.as_ref().ok().map(|ran| &ran.outcome));
            if !only_reads {
                this.staged.keep(&*this.engine.host, &this.foreground.tools.events).await;
            }
            // The user, who has no such limit, is asked.
            ran.map_err(|reason| match reason {
                StopReason::Limit(Limit::Staged) => {
                    let why = format!("{} leaves more than can be staged", call.name);
                    StopReason::Boundary(Box::new(Verdict::boundary(Reason::NeedsHost, why)))
                }
                reason => reason,
            })
        };
        run.boxed()
    }

    async fn after_boundary(&self, call: &ToolCall, verdict: Verdict) -> CallDecision {
        // A yes to the words was given before the view showed what they write.
        let is_news = matches!(
            verdict.reason,
            Reason::ProtectedPath | Reason::SecretPath | Reason::DeniedPath | Reason::HardLinks
        );
        match self.foreground.decide(call).await {
            CallDecision::Run(permit)
                if permit.consented && permit.context.mode.edits_files() && !is_news =>
            {
                CallDecision::Run(permit)
            }
            CallDecision::Run(permit) | CallDecision::Ask(permit) => {
                CallDecision::Ask(CallPermit { verdict, consented: true, ..permit })
            }
            other => other,
        }
    }

    fn for_task(&self, log: &Arc<TaskLog>) -> Box<dyn CallExecutor> {
        let tools = self.foreground.tools.for_task(log);
        Box::new(Self { foreground: ForegroundExecutor { tools, ..self.foreground.clone() }, ..self.clone() })
    }

    fn is_committing(&self) -> bool {
        self.foreground.is_committing()
    }
}
