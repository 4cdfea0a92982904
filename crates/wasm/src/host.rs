use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{CommitOptions, Tree, WorkspacePath};
use headstart_speculation::{AtBoundary, Attachments, Consent, Host, PromptOrigin};
use headstart_tool_gate::{ApprovalMode, GateContext, Verdict};

use crate::clock;
use crate::failure::json;
use crate::port::Callbacks;
use crate::prompt_attachments::AttachmentFinder;
use crate::views;

/// The developer's program as the engine needs it.
#[derive(Clone)]
pub(crate) struct PortHost {
    pub(crate) callbacks: Arc<Callbacks>,
    /// All rules except the mode, which is asked for each time.
    pub(crate) rules: Arc<Mutex<GateContext>>,
    pub(crate) commit: CommitOptions,
    pub(crate) at_boundary: AtBoundary,
    /// Why the user could not be asked; each turn has its own.
    pub(crate) consent_failure: Arc<Mutex<Option<String>>>,
    /// What is sent along with prompts, in a conversation; an engine without a conversation has none.
    pub(crate) beside: Option<Arc<AttachmentFinder>>,
}

#[async_trait]
impl Host for PortHost {
    fn now(&self) -> Duration {
        clock::now()
    }

    async fn sleep(&self, time: Duration) {
        self.callbacks.sleep(time).elapsed().await;
    }

    fn gate_context(&self) -> GateContext {
        // If the text is not a mode, nothing may happen.
        let mode = read_mode(&self.callbacks.mode()).unwrap_or(ApprovalMode::Plan);
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        GateContext { mode, views: views::support(&self.callbacks).has_views(), ..rules.clone() }
    }

    async fn prompt_attachments(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
    ) -> Result<Attachments, String> {
        let Some(beside) = &self.beside else { return Ok(Attachments::default()) };
        beside.for_prompt(prompt, whose, conversation, tree, &self.gate_context()).await
    }

    fn commit_options(&self) -> CommitOptions {
        self.commit
    }

    async fn changed_since(&self, unix_ms: u64) -> Vec<WorkspacePath> {
        views::changed_since(&self.callbacks, unix_ms).await
    }

    fn at_boundary(&self) -> AtBoundary {
        self.at_boundary
    }

    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent {
        let answer = self.callbacks.consent(&json(call), &json(verdict)).single().await;
        match answer.as_deref() {
            Ok("run") => Consent::Run,
            Ok("stop") => Consent::Stop,
            Ok(_) => Consent::Decline,
            Err(failure) => {
                let mut consent_failure = self.consent_failure.lock().unwrap_or_else(PoisonError::into_inner);
                *consent_failure = Some(failure.message.clone());
                Consent::Stop
            }
        }
    }
}

fn read_mode(mode: &str) -> Option<ApprovalMode> {
    Some(match mode {
        "plan" => ApprovalMode::Plan,
        "chat" => ApprovalMode::Chat,
        "default" => ApprovalMode::Default,
        "auto-edit" => ApprovalMode::AutoEdit,
        "yolo" => ApprovalMode::Yolo,
        _ => return None,
    })
}
