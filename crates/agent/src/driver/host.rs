use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::{mpsc, oneshot};
use futures::future::{BoxFuture, pending};
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{CommitOptions, Tree, WorkspacePath};
use headstart_speculation::{
    AtBoundary, Attachments, Check, Consent, Freshness, Host, Prepared, PromptOrigin, Step, StepAbove,
};
use headstart_tool_gate::{ApprovalMode, CallRef, DenyRules, GateContext, SessionRule, Verdict};

use super::guard::{Guard, GuardedRuntime, LastTime};
use crate::allowed::Allowed;
use crate::ports::Runtime;

/// A call that waits for the user's answer. Dropping it declines.
pub(crate) struct Ask {
    pub(super) call: ToolCall,
    pub(super) verdict: Verdict,
    pub(super) prepared: Prepared,
    /// What would be allowed if the user says yes for the rest of the conversation.
    pub(super) always: Option<SessionRule>,
    pub(super) answer: oneshot::Sender<Consent>,
}

/// Asks whether a step may run on top of work that nobody has accepted yet. Dropping it declines.
pub(crate) struct AskStep {
    pub(super) step: Step,
    pub(super) answer: oneshot::Sender<Option<StepAbove>>,
}

/// Where the questions of the engine arrive, and the panics that were caught.
pub(crate) struct Inlet {
    pub(super) asks: mpsc::UnboundedReceiver<Ask>,
    pub(super) steps: mpsc::UnboundedReceiver<AskStep>,
    pub(super) broken: mpsc::UnboundedReceiver<String>,
}

/// The program's host, except that questions go to the conversation, and that its rules include what the user has
/// allowed for the rest of the conversation.
struct Questioning {
    host: Arc<dyn Host>,
    allowed: Allowed,
    guard: Guard,
    last: LastTime,
    asks: mpsc::UnboundedSender<Ask>,
    steps: mpsc::UnboundedSender<AskStep>,
}

/// The program's host and runtime as the conversation uses them.
pub(crate) fn questioning(
    host: Arc<dyn Host>,
    runtime: Arc<dyn Runtime>,
    allowed: Allowed,
) -> (Arc<dyn Host>, Arc<dyn Runtime>, Inlet) {
    let (send_asks, asks) = mpsc::unbounded();
    let (send_steps, steps) = mpsc::unbounded();
    let (send_broken, broken) = mpsc::unbounded();
    let guard = Guard::new(send_broken);
    let runtime = GuardedRuntime { runtime, guard: guard.clone(), last: LastTime::default() };
    let host =
        Questioning { host, allowed, guard, last: LastTime::default(), asks: send_asks, steps: send_steps };
    (Arc::new(host), Arc::new(runtime), Inlet { asks, steps, broken })
}

/// The rules that hold if the host fails to name its own: nothing may be read, and nothing written.
fn everything_closed() -> GateContext {
    let deny = DenyRules::from_patterns(["**"]).unwrap_or_default();
    GateContext { mode: ApprovalMode::Plan, deny, ..GateContext::default() }
}

#[async_trait]
impl Host for Questioning {
    fn now(&self) -> Duration {
        self.last.time_or_last(self.guard.call(|| self.host.now()))
    }

    async fn sleep(&self, time: Duration) {
        if self.guard.wait(self.host.sleep(time)).await.is_err() {
            // A host whose clock fails cannot measure time, so the time never comes.
            pending::<()>().await;
        }
    }

    fn gate_context(&self) -> GateContext {
        let context = self.guard.call(|| self.host.gate_context()).unwrap_or_else(everything_closed);
        self.allowed.over(context)
    }

    async fn prompt_attachments(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
    ) -> Result<Attachments, String> {
        let told = self.host.prompt_attachments(prompt, whose, conversation, tree);
        self.guard.wait(told).await.unwrap_or_else(|broken| Err(broken.to_string()))
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

    async fn run_concurrently(&self, work: BoxFuture<'static, ()>) {
        self.host.run_concurrently(work).await;
    }

    fn at_boundary(&self) -> AtBoundary {
        self.host.at_boundary()
    }

    async fn step_above(&self, step: &Step) -> Option<StepAbove> {
        let (answer, answered) = oneshot::channel();
        self.steps.unbounded_send(AskStep { step: step.clone(), answer }).ok()?;
        answered.await.ok().flatten()
    }

    fn reports_call_states(&self) -> bool {
        true
    }

    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent {
        self.consent_to(call, verdict, Prepared::default()).await
    }

    async fn consent_to(&self, call: &ToolCall, verdict: &Verdict, prepared: Prepared) -> Consent {
        let (answer, answered) = oneshot::channel();
        let always =
            SessionRule::of(CallRef { name: &call.name, args: &call.args }, verdict, &self.gate_context());
        let ask = Ask { call: call.clone(), verdict: verdict.clone(), prepared, always, answer };
        if self.asks.unbounded_send(ask).is_err() {
            return Consent::Stop;
        }
        answered.await.unwrap_or(Consent::Decline)
    }
}

#[cfg(test)]
mod tests {
    use headstart_tool_gate::{Decision, Gate};
    use serde_json::json;

    use super::*;

    #[test]
    fn without_rules_nothing_may_be_read() {
        let args = json!({ "file_path": "src/lib.rs" });
        let call = CallRef { name: "read_file", args: args.as_object().unwrap() };
        let verdict = Gate::new().judge(call, &everything_closed());
        assert_ne!(verdict.decision, Decision::Allow, "{verdict:?}");
    }
}
