use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use headstart_followup_state::Suggestions;
use headstart_forked_query::{CacheSafeParams, Message, Role};
use headstart_overlay_fs::Overlay;
use headstart_overlay_fs::Tree as _;
use headstart_tool_gate::Decision;
use headstart_toolbox::ToolContext;
use headstart_workspace_path::WorkspacePath;

use crate::base_view::BaseView;
use crate::check::failure_report;
use crate::clock::Clock;
use crate::event::EventSender;
use crate::executor::SpeculativeExecutor;
use crate::lock::lock;
use crate::next_suggestion::next_suggestion;
use crate::shadow::{self, ViewRunner};
use crate::turn_loop::{Progress, SharedProgress, TurnLoop, millis};
use crate::{
    Attachments, Check, CheckResult, Checker, Cost, Ending, Engine, Event, Finished, Limits, PromptOrigin,
    Transcript,
};

/// If less time than this is left, a failure does not go back to the model.
const MIN_TIME_LEFT: Duration = Duration::from_secs(5);
/// This part of the time of the work may go into waiting for a language server that is still loading.
const LOOK_SHARE: u32 = 10;

/// Everything that the work of a speculation needs.
pub(crate) struct SpeculationJob {
    pub(crate) id: String,
    pub(crate) engine: Engine,
    pub(crate) params: CacheSafeParams,
    pub(crate) prompt: String,
    /// The prompt as it is sent, with what the model is told before it.
    pub(crate) text: String,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) progress: SharedProgress,
    pub(crate) events: EventSender,
    /// What turns of the user have staged, if the work stands on that.
    pub(crate) below: Option<Arc<BaseView>>,
}

/// Where the work tells its progress. The receivers live as long as the handle; without a handle nobody wants to know.
pub(crate) struct JobSenders {
    pub(crate) finished: oneshot::Sender<Arc<Finished>>,
    pub(crate) next: oneshot::Sender<Option<Suggestions>>,
}

impl SpeculationJob {
    pub(crate) async fn run(self, senders: JobSenders) {
        let JobSenders { finished: send_finished, next: send_next } = senders;
        let finished = Arc::new(self.finish(self.run_prompt().await));
        let completed = finished.ending == Ending::Completed;
        let _ = send_finished.send(Arc::clone(&finished));
        self.events.close();
        // Only the speed of an accept depends on this; an accept at this moment waits for it, or does without.
        let _ = self.engine.workspace.prepare(&finished.changes).await;
        let next = if completed {
            next_suggestion(&self.engine, &self.params, &finished, &self.progress).await
        } else {
            None
        };
        let _ = send_next.send(next);
    }

    async fn run_prompt(&self) -> Ending {
        let attachments = self
            .engine
            .host
            .prompt_attachments(&self.prompt, PromptOrigin::WorkAhead, &self.params, self.overlay.base())
            .await;
        let attachments = match attachments {
            Ok(attachments) => attachments,
            Err(problem) => return Ending::failed("prompt", problem),
        };
        for path in &attachments.read {
            // A file that is gone by now is noted as well.
            let _ = self.overlay.read(path).await;
        }
        if attachments != Attachments::default() {
            lock(&self.progress).transcript = Transcript::with_attachments(&self.text, &attachments);
        }
        let request = self.params.fork(&self.engine.background);
        let (toolbox, progress) = (self.engine.toolbox.clone(), Arc::clone(&self.progress));
        let view_runner =
            ViewRunner::new(&self.id, toolbox, self.below.clone(), progress, self.events.clone());
        let executor = self.engine.speculative_executor(&request, &self.overlay, view_runner, &self.events);
        let run = TurnLoop {
            model: &*self.engine.background.model,
            base: &request,
            earlier: &[],
            call_ids: self.params.call_ids().map(str::to_owned).collect(),
            executor: &executor,
            host: &*self.engine.host,
            limits: &self.engine.limits,
            progress: &self.progress,
            events: &self.events,
            clock: Clock::default(),
            clock_above: None,
        };
        let ending = run.run_to_end().await;
        if ending == Ending::Completed {
            self.check(&run, &executor).await;
        }
        ending
    }

    /// Runs the project's own check over completed work. A failure goes back to the model once, within the limits. If
    /// the model does not finish with that, the work stays as it was, and keeps the failure.
    async fn check(&self, run: &TurnLoop<'_>, executor: &SpeculativeExecutor) {
        let Some(report) = self.run_check(executor).await else { return };
        let (staged, before) = (self.overlay.savepoint(), self.overlay.change_set());
        let (transcript, git, task_calls, view_times, left_out) = {
            let progress = lock(&self.progress);
            let Progress { transcript, git, task_calls, view_times, left_out, .. } = &*progress;
            (transcript.clone(), git.clone(), task_calls.clone(), *view_times, left_out.clone())
        };
        let time = self.time_left();
        if run.limit_before_asking().is_some() || time < MIN_TIME_LEFT {
            return;
        }
        lock(&self.progress).transcript.messages.push(Message::text(Role::User, &report));
        let limits = Limits { time, ..self.engine.limits };
        let retry =
            TurnLoop { limits: &limits, clock: Clock::default(), call_ids: run.call_ids.clone(), ..*run };
        if retry.run_to_end().await != Ending::Completed {
            self.overlay.roll_back(staged);
            let mut progress = lock(&self.progress);
            (progress.transcript, progress.git, progress.task_calls) = (transcript, git, task_calls);
            (progress.view_times, progress.left_out) = (view_times, left_out);
        } else if self.overlay.change_set() != before {
            lock(&self.progress).check = None;
            self.run_check(executor).await;
        }
    }

    /// What the model reads of a check that failed; `None` if it passed or did not run, or if there is no check.
    async fn run_check(&self, executor: &SpeculativeExecutor) -> Option<String> {
        let changes = self.overlay.change_set();
        let paths: Vec<_> = changes.changes.into_iter().map(|change| change.path).collect();
        if paths.is_empty() {
            return None;
        }
        let check = match self.engine.host.check(&paths)? {
            Checker::Command(check) => check,
            Checker::Servers => return self.look_at_all(executor, &paths).await,
        };
        let context = self.engine.host.gate_context();
        let verdict = self.engine.gate.judge_command_ahead(&check.line, &context);
        let has_views = shadow::views_allowed(&context) && executor.view_runner.tier().is_some();
        let check = Check { time: check.time.min(self.time_left()), ..check };
        let (result, output) = if verdict.decision == Decision::Boundary {
            (CheckResult::not_run(&check, verdict.detail), String::new())
        } else if has_views {
            executor.view_runner.check(&check, &executor.tools, &self.overlay, &context).await
        } else {
            (CheckResult::not_run(&check, "there are no views here".to_owned()), String::new())
        };
        self.events.send(Event::Checked(result.clone()));
        let failed = result.failed().then(|| failure_report(&result.command, &output));
        lock(&self.progress).check = Some(result);
        failed
    }

    /// What the model reads of the new errors that language servers find in all that is staged. They may be loading still
    /// when the work is the first of a conversation, so a share of its time goes into waiting for them.
    async fn look_at_all(&self, executor: &SpeculativeExecutor, paths: &[WorkspacePath]) -> Option<String> {
        let (gate, began) = (self.engine.host.gate_context(), self.engine.host.now());
        let context = ToolContext {
            view: &self.overlay,
            gate: &gate,
            limits: &self.engine.limits.tools,
            hardened: None,
            consented: false,
            attended: false,
        };
        let share = (self.engine.limits.time / LOOK_SHARE).min(self.time_left());
        let look = executor.tools.toolbox.look_at_all(paths, share, context).await?;
        let millis = millis(self.engine.host.now().saturating_sub(began));
        lock(&self.progress).cost.work_ms += millis;
        let (result, report) = CheckResult::of_look(look, millis);
        self.events.send(Event::Checked(result.clone()));
        lock(&self.progress).check = Some(result);
        report
    }

    fn time_left(&self) -> Duration {
        let spent = Duration::from_millis(lock(&self.progress).cost.work_ms);
        self.engine.limits.time.saturating_sub(spent)
    }

    fn finish(&self, ending: Ending) -> Finished {
        let mut progress = lock(&self.progress);
        let staged = self.overlay.usage();
        progress.cost.staged_files = staged.files;
        progress.cost.staged_bytes = staged.bytes;
        Finished {
            id: self.id.clone(),
            prompt: self.prompt.clone(),
            ending,
            transcript: progress.transcript.clone(),
            task_calls: progress.task_calls.clone(),
            changes: self.overlay.change_set(),
            git: progress.git.clone(),
            not_kept: progress.left_out.rows(),
            keepable: progress.left_out.keepable(),
            failed: progress.failed.rows(),
            next: None,
            cost: progress.cost,
            // What the turns below write meanwhile would count as changes of the user.
            viewed_ms: progress.view_times.earliest().filter(|_| self.below.is_none()),
            preview: progress.preview.clone(),
            check: progress.check.clone(),
        }
    }
}

impl Cost {
    /// Tokens read and written, cached ones included.
    pub fn spent_tokens(&self) -> u64 {
        self.tokens.input_tokens.saturating_add(self.tokens.output_tokens)
    }
}
