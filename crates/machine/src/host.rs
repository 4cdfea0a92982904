use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_agent::native::TokioHost;
use headstart_context::ResolvedMentions;
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{CommitOptions, Tree, WorkspacePath};
use headstart_speculation::{
    AtBoundary, Attachments, Checker, Consent, Finished, Freshness, Host, PromptOrigin, Staging,
};
use headstart_tool_gate::{GateContext, Verdict};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::checks::Checks;
use crate::config::RuleFiles;
use crate::conversation::UnwrittenRecord;
use crate::mentions::Mentions;
use crate::rules::Rules;
use crate::views::changed_since;

/// What the engine needs from this process: the clock, the rules in force, and answers to its questions.
pub struct NativeHost {
    /// The clock and the rules.
    base: TokioHost,
    consent_requests: Mutex<Option<mpsc::UnboundedSender<ConsentRequest>>>,
    commit_options: CommitOptions,
    at_boundary: AtBoundary,
    /// The folder in which to search for edits since a command ran in a view.
    workspace: Option<PathBuf>,
    freshness: Freshness,
    checks: Option<Checks>,
    project_rules: Option<Arc<Rules>>,
    mentions: Mutex<Option<Arc<Mentions>>>,
    staging: OnceLock<(Staging, Option<UnwrittenRecord>)>,
    rule_files: OnceLock<RuleFiles>,
}

/// A call that waits for the user's answer. Dropping it declines.
pub struct ConsentRequest {
    pub call: ToolCall,
    pub answer: oneshot::Sender<Consent>,
}

impl NativeHost {
    /// A host that can ask nobody, so that a call that needs consent ends the turn.
    pub fn unattended(rules: GateContext) -> Self {
        Self {
            base: TokioHost::new(rules),
            consent_requests: Mutex::default(),
            commit_options: CommitOptions::default(),
            at_boundary: AtBoundary::default(),
            workspace: None,
            freshness: Freshness::default(),
            checks: None,
            project_rules: None,
            mentions: Mutex::default(),
            staging: OnceLock::new(),
            rule_files: OnceLock::new(),
        }
    }

    /// For an accept that an earlier process may have made, if it died before it could record that.
    #[must_use]
    pub fn repeated(self, repeated: bool) -> Self {
        Self { commit_options: CommitOptions { repeated, ..self.commit_options }, ..self }
    }

    /// Sets what an accept does with work that stopped at a boundary.
    #[must_use]
    pub fn at_boundary(self, at_boundary: AtBoundary) -> Self {
        Self { at_boundary, ..self }
    }

    /// Sets the folder in which to search for edits since a command ran in a view, and what such edits mean for an
    /// accept.
    #[must_use]
    pub fn for_workspace(self, workspace: &str, freshness: Freshness) -> Self {
        Self { workspace: Some(workspace.into()), freshness, ..self }
    }

    /// Sets the checks for completed work.
    #[must_use]
    pub fn checking(self, checks: Checks) -> Self {
        Self { checks: Some(checks), ..self }
    }

    /// Sets the project's rules, which are added to prompts.
    #[must_use]
    pub fn with_project_rules(self, project_rules: Option<Arc<Rules>>) -> Self {
        Self { project_rules, ..self }
    }

    /// Sets what resolves mentions in prompts. This is done later, because mentions need tools, which are made after
    /// this host.
    pub fn set_mentions(&self, mentions: Mentions) {
        *self.mentions.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(mentions));
    }

    /// Sets whether turns are staged, and where what they stage is kept; the first call counts.
    pub(crate) fn set_staging(&self, staging: Staging, record: Option<UnwrittenRecord>) {
        let _ = self.staging.set((staging, record));
    }

    /// The id of the record of what is staged and not written.
    pub fn unwritten_id(&self) -> Option<String> {
        self.staging.get()?.1.as_ref()?.id()
    }

    /// Sets the files of which new rules count at once; the first call counts.
    pub(crate) fn follow(&self, rule_files: RuleFiles) {
        let _ = self.rule_files.set(rule_files);
    }

    /// What the user must be told about rules that were written down meanwhile.
    pub(crate) fn rule_file_notices(&self) -> Vec<String> {
        self.rule_files.get().map(RuleFiles::notices).unwrap_or_default()
    }

    /// What the user must be told about the project's rules.
    pub(crate) fn rules_notices(&self) -> Vec<String> {
        self.project_rules.iter().flat_map(|rules| rules.notices()).collect()
    }

    /// From now on the receiver is asked for consent.
    pub fn consent_requests(&self) -> mpsc::UnboundedReceiver<ConsentRequest> {
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.consent_requests.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// Replaces the rules. They also apply to speculations that have already run.
    pub(crate) fn set_rules(&self, rules: GateContext) {
        self.base.set_rules(rules);
    }
}

#[async_trait]
impl Host for NativeHost {
    fn now(&self) -> Duration {
        self.base.now()
    }

    async fn sleep(&self, time: Duration) {
        self.base.sleep(time).await;
    }

    fn gate_context(&self) -> GateContext {
        let rules = self.base.gate_context();
        let Some(stricter) = self.rule_files.get().and_then(|files| files.stricter(&rules)) else {
            return rules;
        };
        self.base.set_rules(stricter.clone());
        stricter
    }

    async fn prompt_attachments(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
    ) -> Result<Attachments, String> {
        let gate = self.gate_context();
        let mentions = self.mentions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ResolvedMentions { text, images, read } = match mentions {
            Some(mentions) => mentions.resolve(prompt, whose, conversation, tree, &gate).await?,
            None => ResolvedMentions::default(),
        };
        let of_rules = match &self.project_rules {
            Some(rules) => rules.rules_for_prompt(prompt, whose, conversation, tree, &gate).await,
            None => None,
        };
        let (mentioned, images_read) = (text.as_ref().map_or(0, String::len), images.len());
        tracing::debug!(
            mentioned,
            images = images_read,
            rules = of_rules.as_ref().map_or(0, String::len),
            "what goes along with a prompt was read"
        );
        let texts: Vec<_> = text.into_iter().chain(of_rules).collect();
        Ok(Attachments { text: (!texts.is_empty()).then(|| texts.join("\n\n")), images, read })
    }

    fn commit_options(&self) -> CommitOptions {
        self.commit_options
    }

    fn at_boundary(&self) -> AtBoundary {
        self.at_boundary
    }

    async fn changed_since(&self, unix_ms: u64) -> Vec<WorkspacePath> {
        let Some(workspace) = self.workspace.clone() else { return Vec::new() };
        let changed = tokio::task::spawn_blocking(move || changed_since(&workspace, unix_ms));
        changed.await.unwrap_or_default()
    }

    fn check(&self, changed: &[WorkspacePath]) -> Option<Checker> {
        self.checks.as_ref()?.of(changed)
    }

    fn confines_commands(&self) -> bool {
        headstart_shadow::can_confine()
    }

    fn freshness(&self) -> Freshness {
        self.freshness
    }

    async fn run_concurrently(&self, work: BoxFuture<'static, ()>) {
        // This is a set because dropping it ends its task.
        let mut task = JoinSet::new();
        task.spawn(work);
        if let Some(Err(error)) = task.join_next().await
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }

    fn staging(&self) -> Staging {
        self.staging.get().map(|(staging, _)| *staging).unwrap_or_default()
    }

    async fn keep_staged(&self, work: Option<&Finished>) -> Result<(), String> {
        match self.staging.get() {
            Some((_, Some(record))) => record.keep(work).map_err(|error| error.to_string()),
            _ => Ok(()),
        }
    }

    async fn consent(&self, call: &ToolCall, _verdict: &Verdict) -> Consent {
        let asks = self.consent_requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(asks) = asks else { return Consent::Stop };
        let (answer, answered) = oneshot::channel();
        if asks.send(ConsentRequest { call: call.clone(), answer }).is_err() {
            return Consent::Stop;
        }
        answered.await.unwrap_or(Consent::Decline)
    }
}
