use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::{mpsc, oneshot};
use futures::future::{BoxFuture, pending};
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{CommitOptions, Tree, WorkspacePath};
use headstart_speculation::{
    AtBoundary, Attachments, CallPreview, Checker, Consent, Finished, Freshness, Host, PromptOrigin, Staging,
};
use headstart_tool_gate::{ApprovalMode, CallRef, DenyRules, GateContext, SessionRule, Verdict};

use super::panic_guard::{GuardedRuntime, LastTime, PanicGuard};
use crate::ports::Runtime;
use crate::session_rules::SessionRules;

/// A call that waits for the user's answer. Dropping it declines.
pub(crate) struct ConsentQuery {
    pub(super) call: ToolCall,
    pub(super) verdict: Verdict,
    pub(super) prepared: CallPreview,
    /// What would be allowed if the user says yes for the rest of the conversation.
    pub(super) always: Option<SessionRule>,
    pub(super) answer: oneshot::Sender<Consent>,
}

/// A call or an accept that begins as soon as it is kept that it does. Dropping it lets it begin.
pub(crate) type StartingChange = oneshot::Sender<()>;

/// Where the questions of the engine arrive, and the panics that were caught.
pub(crate) struct HostQueries {
    pub(super) consent_queries: mpsc::UnboundedReceiver<ConsentQuery>,
    pub(super) starting_calls: mpsc::UnboundedReceiver<StartingChange>,
    pub(super) panics: mpsc::UnboundedReceiver<String>,
}

/// The program's host, except that questions go to the conversation, and that its rules include what the user has
/// allowed for the rest of the conversation.
struct ConversationHost {
    host: Arc<dyn Host>,
    session_rules: SessionRules,
    panic_guard: PanicGuard,
    last: LastTime,
    consent_queries: mpsc::UnboundedSender<ConsentQuery>,
    starting_calls: mpsc::UnboundedSender<StartingChange>,
}

/// The program's host and runtime as the conversation uses them.
pub(crate) fn connect_host(
    host: Arc<dyn Host>,
    runtime: Arc<dyn Runtime>,
    session_rules: SessionRules,
) -> (Arc<dyn Host>, Arc<dyn Runtime>, HostQueries) {
    let (send_consent_queries, consent_queries) = mpsc::unbounded();
    let (send_starting_calls, starting_calls) = mpsc::unbounded();
    let (send_panics, panics) = mpsc::unbounded();
    let panic_guard = PanicGuard::new(send_panics);
    let runtime = GuardedRuntime { runtime, panic_guard: panic_guard.clone(), last: LastTime::default() };
    let host = ConversationHost {
        host,
        session_rules,
        panic_guard,
        last: LastTime::default(),
        consent_queries: send_consent_queries,
        starting_calls: send_starting_calls,
    };
    (Arc::new(host), Arc::new(runtime), HostQueries { consent_queries, starting_calls, panics })
}

/// The rules that hold if the host fails to name its own: nothing may be read, and nothing written.
fn deny_everything() -> GateContext {
    let deny = DenyRules::from_patterns(["**"]).unwrap_or_default();
    GateContext { mode: ApprovalMode::Plan, deny, ..GateContext::default() }
}

#[async_trait]
impl Host for ConversationHost {
    fn now(&self) -> Duration {
        self.last.time_or_last(self.panic_guard.catch_sync(|| self.host.now()))
    }

    async fn sleep(&self, time: Duration) {
        if self.panic_guard.catch(self.host.sleep(time)).await.is_err() {
            // A host whose clock fails cannot measure time, so the time never comes.
            pending::<()>().await;
        }
    }

    fn gate_context(&self) -> GateContext {
        let context =
            self.panic_guard.catch_sync(|| self.host.gate_context()).unwrap_or_else(deny_everything);
        self.session_rules.apply_to(context)
    }

    async fn prompt_attachments(
        &self,
        prompt: &str,
        origin: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
    ) -> Result<Attachments, String> {
        let attachments = self.host.prompt_attachments(prompt, origin, conversation, tree);
        self.panic_guard.catch(attachments).await.unwrap_or_else(|error| Err(error.to_string()))
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

    fn check(&self, changed: &[WorkspacePath]) -> Option<Checker> {
        self.host.check(changed)
    }

    fn confines_commands(&self) -> bool {
        self.host.confines_commands()
    }

    async fn run_concurrently(&self, work: BoxFuture<'static, ()>) {
        self.host.run_concurrently(work).await;
    }

    fn at_boundary(&self) -> AtBoundary {
        self.host.at_boundary()
    }

    fn reports_call_states(&self) -> bool {
        true
    }

    async fn before_call(&self, _call: &ToolCall) {
        let (kept, is_kept) = oneshot::channel();
        if self.starting_calls.unbounded_send(kept).is_ok() {
            // An error means that nobody keeps the conversation any more.
            let _ = is_kept.await;
        }
    }

    fn staging(&self) -> Staging {
        self.host.staging()
    }

    async fn keep_staged(&self, work: Option<&Finished>) -> Result<(), String> {
        let kept = self.panic_guard.catch(self.host.keep_staged(work)).await;
        kept.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent {
        self.consent_to(call, verdict, CallPreview::default()).await
    }

    async fn consent_to(&self, call: &ToolCall, verdict: &Verdict, prepared: CallPreview) -> Consent {
        let (answer, answered) = oneshot::channel();
        let always =
            SessionRule::of(CallRef { name: &call.name, args: &call.args }, verdict, &self.gate_context());
        let ask = ConsentQuery { call: call.clone(), verdict: verdict.clone(), prepared, always, answer };
        if self.consent_queries.unbounded_send(ask).is_err() {
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
        let verdict = Gate::new().judge(call, &deny_everything());
        assert_ne!(verdict.decision, Decision::Allow, "{verdict:?}");
    }
}
