use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::{mpsc, oneshot};
use futures::future::BoxFuture;
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{CommitOptions, Tree, WorkspacePath};
use headstart_speculation::{
    AtBoundary, Beside, Check, Consent, Freshness, Host, Prepared, PromptOf, Step, StepAbove,
};
use headstart_tool_gate::{GateContext, Verdict};

/// A call that waits for the user's answer. Dropping it declines.
pub(crate) struct Ask {
    pub(super) call: ToolCall,
    pub(super) verdict: Verdict,
    pub(super) prepared: Prepared,
    pub(super) answer: oneshot::Sender<Consent>,
}

/// Whether a step may run on top of work that nobody has accepted yet. Dropping it declines.
pub(crate) struct AskStep {
    pub(super) step: Step,
    pub(super) answer: oneshot::Sender<Option<StepAbove>>,
}

/// Where the questions of the engine come in.
pub(crate) struct Inlet {
    pub(crate) asks: mpsc::UnboundedReceiver<Ask>,
    pub(crate) steps: mpsc::UnboundedReceiver<AskStep>,
}

/// The program's host, but for its questions: they come to the conversation.
struct Questioning {
    host: Arc<dyn Host>,
    asks: mpsc::UnboundedSender<Ask>,
    steps: mpsc::UnboundedSender<AskStep>,
}

pub(crate) fn questioning(host: Arc<dyn Host>) -> (Arc<dyn Host>, Inlet) {
    let (send_asks, asks) = mpsc::unbounded();
    let (send_steps, steps) = mpsc::unbounded();
    (Arc::new(Questioning { host, asks: send_asks, steps: send_steps }), Inlet { asks, steps })
}

#[async_trait]
impl Host for Questioning {
    fn now(&self) -> Duration {
        self.host.now()
    }

    async fn sleep(&self, time: Duration) {
        self.host.sleep(time).await;
    }

    fn gate_context(&self) -> GateContext {
        self.host.gate_context()
    }

    async fn beside_prompt(
        &self,
        prompt: &str,
        whose: PromptOf,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
    ) -> Result<Beside, String> {
        self.host.beside_prompt(prompt, whose, conversation, tree).await
    }

    fn commit_options(&self) -> CommitOptions {
        self.host.commit_options()
    }

    async fn changed_since(&self, unix_ms: u64) -> Vec<WorkspacePath> {
        self.host.changed_since(unix_ms).await
    }

    fn freshness(&self) -> Freshness {
        self.host.freshness()
    }

    fn check(&self, changed: &[WorkspacePath]) -> Option<Check> {
        self.host.check(changed)
    }

    async fn beside(&self, work: BoxFuture<'static, ()>) {
        self.host.beside(work).await;
    }

    fn at_boundary(&self) -> AtBoundary {
        self.host.at_boundary()
    }

    async fn step_above(&self, step: &Step) -> Option<StepAbove> {
        let (answer, answered) = oneshot::channel();
        self.steps.unbounded_send(AskStep { step: step.clone(), answer }).ok()?;
        answered.await.ok().flatten()
    }

    fn tells_calls(&self) -> bool {
        true
    }

    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent {
        self.consent_to(call, verdict, Prepared::default()).await
    }

    async fn consent_to(&self, call: &ToolCall, verdict: &Verdict, prepared: Prepared) -> Consent {
        let (answer, answered) = oneshot::channel();
        let ask = Ask { call: call.clone(), verdict: verdict.clone(), prepared, answer };
        if self.asks.unbounded_send(ask).is_err() {
            return Consent::Stop;
        }
        answered.await.unwrap_or(Consent::Decline)
    }
}
