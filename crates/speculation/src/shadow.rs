//! Calls of work ahead that run in a view, and what happens to their changes there.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use headstart_forked_query::ToolCall;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, EntryKind, KeepObstacle, LeftOut, Overlay, Torn, Tree, TreeError,
    WorkspacePath,
};
use headstart_tool_gate::{Access, Decision, Gate, GateContext, Reason, Verdict};
use headstart_toolbox::{
    PriorGitChanges, TestSummary, Tier, ToolContext, ToolError, ToolLimits, Toolbox, ViewCallOutput,
    ViewCost, ViewId, ViewOutput,
};

use crate::base_view::BaseView;
use crate::check::{is_about_files, last_words};
use crate::event::EventSender;
use crate::executor::{CallPermit, CallTools, StopReason};
use crate::failed_command::first_line;
use crate::left_out::LeftOutPlace;
use crate::lock::lock;
use crate::transcript::CallResult;
use crate::turn_loop::{SharedProgress, millis};
use crate::view_times::ViewTimes;
use crate::{Check, CheckResult, Event};

/// A command that its user disturbed is run once more if it took less than this.
const RETRY_BELOW: Duration = Duration::from_secs(10);
/// The most paths that a verdict names.
const MAX_NAMED: usize = 3;

/// Runs the commands of one step in its view, and tells their events. The view ends with the step's work.
pub(crate) struct ViewRunner {
    view: ViewId,
    toolbox: Toolbox,
    /// What turns have staged below.
    below: Option<Arc<BaseView>>,
    progress: SharedProgress,
    /// Several turns may run in the same view, each with events of its own.
    events: Mutex<EventSender>,
}

impl ViewRunner {
    /// For the work with this id, over what turns have staged.
    pub(crate) fn new(
        id: &str,
        toolbox: Toolbox,
        below: Option<Arc<BaseView>>,
        progress: SharedProgress,
        events: EventSender,
    ) -> Self {
        Self { view: ViewId::new(id), toolbox, below, progress, events: Mutex::new(events) }
    }

    /// Tells the events of another run from now on.
    pub(crate) fn set_events(&self, events: EventSender) {
        *lock(&self.events) = events;
    }

    /// What isolates views here, if there are any.
    pub(crate) fn tier(&self) -> Option<Tier> {
        self.toolbox.views().tier()
    }

    /// Runs a call over what the overlay stages, and stages what the call left. Afterwards the view holds the same as
    /// the overlay, or it is gone.
    pub(crate) async fn run(
        &self,
        call: &ToolCall,
        tools: &CallTools,
        overlay: &Arc<Overlay>,
        permit: &CallPermit,
    ) -> Result<CallResult, StopReason> {
        // The next command must not find anything that is not staged.
        let guard = ViewGuard(self);
        let mut is_second = false;
        loop {
            let staged = overlay.change_set();
            let git = self.git_so_far();
            let ran = tools.run_in_view(call, overlay, permit, &self.view, self.below(), git.clone());
            let ViewCallOutput { output, mut ran } = match ran.await {
                Ok(ran) => ran,
                Err(ToolError::NoView { why, .. }) => return Err(no_view(permit, &why)),
                Err(ToolError::Quota { message }) => return Err(too_much(call, &message)),
                Err(error) => return Ok(CallResult::failed(error.to_string())),
            };
            self.count(ran.cost);
            if ran.output.timed_out {
                self.report(call, &ran, 0, None);
                return Ok(output.into());
            }
            if !ran.changed_meanwhile.is_empty() && !is_second && ran.cost.time < RETRY_BELOW {
                is_second = true;
                self.toolbox.end_view(&self.view);
                continue;
            }
            self.close_kept(&mut ran, tools, overlay, permit).await;
            let changed = ran.changed_since(&staged);
            if ran.hard_links.is_none() {
                ran.hard_links = with_several_names(&changed, &**overlay.base()).await;
            }
            let commits = ran.git.as_ref().filter(|now| git.step.as_ref() != Some(*now));
            let torn = ran.torn.clone().or_else(|| self.torn(&ran, &staged));
            if let Some(verdict) = view_boundary(&ran, torn.as_ref(), call) {
                return Err(StopReason::Boundary(Box::new(verdict)));
            }
            if let Some(quota) = ran.refused.quota.as_ref().filter(|_| ran.output.exit_code != Some(0)) {
                self.report(call, &ran, 0, None);
                let why = format!("for it reached a limit: {quota}");
                return Ok(dropped(&ran, &why));
            }
            let boundary = write_boundary(&changed, &tools.gate, permit)
                .or_else(|| git_boundary(commits?, &tools.gate, permit));
            if let Some(verdict) = boundary {
                if verdict.reason == permit.verdict.reason {
                    lock(&self.progress).preview = Some(output.into_text());
                }
                return Err(StopReason::Boundary(Box::new(verdict)));
            }
            // What was staged before was checked then.
            let is_new = |change: &&Change| {
                change.kind == ChangeKind::CreateDirectory || changed.contains(&change.path)
            };
            let new: Vec<_> = ran.changes.changes.iter().filter(is_new).cloned().collect();
            let checked = overlay.check_replacement(&new).await.map_err(|error| error.to_string());
            if let Err(error) = checked.and_then(|()| replaced_folder(&ran)) {
                self.report(call, &ran, 0, None);
                let why = format!("because nobody could accept it: {error}");
                return Ok(dropped(&ran, &why));
            }
            match overlay.replace(&ran.changes) {
                Ok(()) => {}
                Err(error @ TreeError::Quota { .. }) => return Err(too_much(call, &error.to_string())),
                Err(error) => return Ok(CallResult::failed(error.to_string())),
            }
            {
                let mut progress = lock(&self.progress);
                let has_tests = TestSummary::of(&ran.output.output).is_some();
                progress.view_times.note_command(ran.began_ms, has_tests);
                progress.git.clone_from(&ran.git);
                progress.left_out.note(&ran);
            }
            self.report(call, &ran, changed.len(), commits);
            guard.keep();
            return Ok(output.into());
        }
    }

    /// Runs the project's own check over what the overlay stages, and stages nothing. The text is what it printed.
    pub(crate) async fn check(
        &self,
        check: &Check,
        tools: &CallTools,
        overlay: &Arc<Overlay>,
        context: &GateContext,
    ) -> (CheckResult, String) {
        // The next command must not find what the check wrote.
        let guard = ViewGuard(self);
        let (staged, git) = (overlay.change_set(), self.git_so_far());
        let limits = ToolLimits { command_time: check.time.min(tools.limits.command_time), ..tools.limits };
        let context = ToolContext {
            view: overlay,
            gate: context,
            limits: &limits,
            hardened: None,
            consented: false,
            attended: false,
        };
        let ran = tools.toolbox.run_line_in_view(&check.line, context, &self.view, self.below(), git.clone());
        let not_run = |why: String| (CheckResult::not_run(check, why), String::new());
        let ViewCallOutput { output: output_text, ran } = match ran.await {
            Ok(ran) => ran,
            Err(error) => return not_run(error.to_string()),
        };
        self.count(ran.cost);
        lock(&self.progress).cost.work_ms += millis(ran.cost.time);
        let output = &ran.output;
        if let Some(why) = why_it_says_nothing(&ran, limits.command_time) {
            return not_run(why);
        }
        if ran.changed_since(&staged).is_empty() && ran.git == git.step {
            guard.keep();
        }
        let tests = TestSummary::of(&output.output).map(TestSummary::words);
        lock(&self.progress).view_times.note_check(ran.began_ms, tests.is_some());
        let result = CheckResult {
            command: check.line.clone(),
            passed: output.exit_code == Some(0),
            not_run: None,
            tests,
            millis: millis(ran.cost.time),
        };
        (result, output_text.into_text())
    }

    /// Leaves out for good what an accept would refuse, though its user wants it.
    async fn close_kept(
        &self,
        ran: &mut ViewOutput,
        tools: &CallTools,
        overlay: &Overlay,
        permit: &CallPermit,
    ) {
        let ViewOutput { left_out, keepable, .. } = ran;
        for row in left_out.iter_mut().filter(|row| row.obstacle.is_none()) {
            let Ok(root) = WorkspacePath::parse(&row.path) else { continue };
            let (below, rest): (Vec<_>, Vec<_>) =
                std::mem::take(keepable).into_iter().partition(|change| change.path.starts_with(&root));
            *keepable = rest;
            let is_closed = |change: &Change| {
                let verdict = tools.gate.judge_path(Access::Write, &change.path, &permit.context);
                verdict.decision == Decision::Boundary
            };
            if below.iter().any(is_closed) {
                row.obstacle = Some(KeepObstacle::Closed);
            } else if overlay.check_replacement(&below).await.is_err() {
                row.obstacle = Some(KeepObstacle::Unfit);
            } else {
                keepable.extend(below);
            }
        }
    }

    /// What turns have staged that is not in the workspace yet.
    fn below(&self) -> Arc<ChangeSet> {
        Arc::new(self.below.as_ref().and_then(|below| below.staged()).unwrap_or_default())
    }

    /// What this work and the turns below that are not written did to the repository.
    pub(crate) fn git_so_far(&self) -> PriorGitChanges {
        let below = self.below.iter().filter_map(|below| below.git()).collect();
        PriorGitChanges { below, step: lock(&self.progress).git.clone() }
    }

    /// When the commands of the step saw the workspace.
    pub(crate) fn view_times(&self) -> ViewTimes {
        lock(&self.progress).view_times
    }

    /// What this step did to the repository.
    pub(crate) fn git(&self) -> Option<GitChange> {
        lock(&self.progress).git.clone()
    }

    /// Takes back what was done since then. Afterwards `git` is all that this step did to the repository; the view
    /// showed more, so it ends.
    pub(crate) fn roll_back(&self, git: Option<GitChange>, view_times: ViewTimes) {
        self.toolbox.end_view(&self.view);
        let mut progress = lock(&self.progress);
        progress.left_out.end_view();
        (progress.git, progress.view_times, progress.preview) = (git, view_times, None);
    }

    /// Where what a path names was left out by a command of this step or of one below.
    pub(crate) fn left_out_place(&self, path: &WorkspacePath, is_searched: bool) -> Option<LeftOutPlace> {
        lock(&self.progress).left_out.place_of(path, is_searched, &self.left_out_below())
    }

    fn left_out_below(&self) -> Vec<LeftOut> {
        self.below.as_ref().map(|below| below.left_out()).unwrap_or_default()
    }

    /// What a command took away whose only copy may have been in a view that is gone.
    fn torn(&self, ran: &ViewOutput, staged: &ChangeSet) -> Option<Torn> {
        lock(&self.progress).left_out.torn(ran, staged, &self.left_out_below())
    }

    fn count(&self, cost: ViewCost) {
        let total = &mut lock(&self.progress).cost;
        total.view_ms += millis(cost.time);
        total.view_cpu_ms += millis(cost.processor);
        total.view_peak_bytes = total.view_peak_bytes.max(cost.peak_bytes);
    }

    fn report(&self, call: &ToolCall, ran: &ViewOutput, staged: usize, git: Option<&GitChange>) {
        let command = command_of(call);
        let tests = TestSummary::of(&ran.output.output).map(TestSummary::words);
        lock(&self.progress).failed.note(command, ran, tests.clone());
        let Some(view) = ran.tier.or_else(|| self.tier()) else { return };
        lock(&self.events).send(Event::ShadowRan {
            command: command.to_owned(),
            exit_code: ran.output.exit_code,
            millis: millis(ran.cost.time),
            staged,
            warm: ran.warm.clone(),
            not_kept: lock(&self.progress).left_out.rows(),
            git: git.map(GitChange::summary),
            network: ran.refused.network,
            tests,
            view,
        });
    }
}

impl Drop for ViewRunner {
    fn drop(&mut self) {
        self.toolbox.end_view(&self.view);
    }
}

/// Ends the view when it is dropped, so also if the future that runs in the view is dropped.
struct ViewGuard<'a>(&'a ViewRunner);

/// What stands, in the [detail](Verdict::detail) of a boundary, before the reason why what a command did to the repository
/// is not taken: git is too old for it, say.
pub const CHANGES_REPOSITORY: &str = "changes the repository: ";

/// Begins the reason why a command cannot run in a view, in the detail of a boundary's verdict.
pub const NO_VIEW: &str = "there is no view to run it in: ";

impl ViewGuard<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for ViewGuard<'_> {
    fn drop(&mut self) {
        self.0.toolbox.end_view(&self.0.view);
    }
}

/// Why a check that ran like this says nothing about the files; `None` if it does.
fn why_it_says_nothing(ran: &ViewOutput, time: Duration) -> Option<String> {
    let (output, refused) = (&ran.output, &ran.refused);
    if output.timed_out {
        return Some(format!("it took longer than {} s", time.as_secs()));
    }
    if let Some(quota) = &refused.quota {
        return Some(format!("it reached a limit: {quota}"));
    }
    if !ran.changed_meanwhile.is_empty() {
        return Some("files changed while it ran".to_owned());
    }
    if let Some(path) = ran.outside.first() {
        return Some(format!("it wrote outside the workspace: {path}"));
    }
    if refused.may_explain(output.exit_code) {
        let what = if 0 < refused.network { "a network" } else { "rights" };
        return Some(format!(
            "it asked for {what} that work ahead has not: {}",
            last_words(output.exit_code, &output.output)
        ));
    }
    (!is_about_files(output.exit_code, &output.output)).then(|| last_words(output.exit_code, &output.output))
}

/// If the result may be due to the view and not to the model's own code, the reason; then nobody reads the result.
fn view_boundary(ran: &ViewOutput, torn: Option<&Torn>, call: &ToolCall) -> Option<Verdict> {
    let stop = |reason, why: String| {
        Some(Verdict::boundary(reason, format!("{} {why}", first_line(command_of(call)))))
    };
    if !ran.changed_meanwhile.is_empty() {
        let paths = list_names(ran.changed_meanwhile.iter().map(ToString::to_string));
        return stop(Reason::ChangedMeanwhile, format!("ran while {paths} changed in the workspace"));
    }
    let refused = || ran.git_refused.clone().or_else(|| ran.git.as_ref()?.boundary());
    if let Some(why) = refused() {
        return stop(Reason::ProtectedPath, format!("{CHANGES_REPOSITORY}{why}"));
    }
    if !ran.outside.is_empty() && !ran.refused.signature {
        let paths = list_names(ran.outside.iter().cloned());
        return stop(Reason::WritesOutside, format!("writes outside the workspace: {paths}"));
    }
    if let Some(path) = &ran.hard_links {
        let why =
            format!("changes {path}, which has several names (hard links), and an accept would part them");
        return stop(Reason::HardLinks, why);
    }
    if let Some(torn) = torn {
        return stop(Reason::WritesOutside, torn.words());
    }
    if ran.refused.may_explain(ran.output.exit_code) {
        let why = match &ran.refused {
            refused if refused.privileges => "needs more rights, which a view has not",
            refused if refused.tracing => {
                "looks into a process as a debugger or a sanitizer does, which a view does not allow"
            }
            refused if 0 < refused.network => "needs the network, which a view has not",
            refused if refused.signature => "needs your key to sign with, which a view has not",
            _ => "renames a folder as a whole, or from one file system to another, which a view cannot",
        };
        return stop(Reason::NeedsHost, why.to_owned());
    }
    None
}

/// The first of these paths at which the workspace has a file with several names (hard links). Whoever runs commands
/// elsewhere does not know of the names.
async fn with_several_names(changed: &[WorkspacePath], base: &dyn Tree) -> Option<WorkspacePath> {
    for path in changed {
        let found = base.metadata(path).await;
        if found.is_ok_and(|found| found.kind == EntryKind::File && 1 < found.links) {
            return Some(path.clone());
        }
    }
    None
}

/// The result of a command of which nothing is staged: what it printed, and why.
fn dropped(ran: &ViewOutput, why: &str) -> CallResult {
    let printed = Some(ran.output.output.trim_end()).filter(|printed| !printed.is_empty());
    let note = format!("[what it changed is dropped, {why}]");
    CallResult::failed(printed.into_iter().chain([note.as_str()]).collect::<Vec<_>>().join("\n"))
}

/// Refuses something in place of a folder that keeps files, because what git ignores stays on disk.
fn replaced_folder(ran: &ViewOutput) -> Result<(), String> {
    let is_below = |row: &LeftOut, path: &WorkspacePath| {
        WorkspacePath::parse(&row.path).is_ok_and(|left| left != *path && left.starts_with(path))
    };
    for Change { path, base, kind, .. } in &ran.changes.changes {
        let was_folder = base.as_ref().is_some_and(|base| base.kind == EntryKind::Directory);
        if was_folder
            && matches!(kind, ChangeKind::Write { .. } | ChangeKind::Link { .. })
            && let Some(row) = ran.left_out.iter().find(|row| is_below(row, path))
        {
            return Err(format!("{path} is a folder, and an accept does not remove {} in it", row.path));
        }
    }
    Ok(())
}

/// The verdict on the first changed path that no write ahead may touch, as for a plain write. If the mode asks before a
/// write, it is the command's own verdict.
fn write_boundary(changed: &[WorkspacePath], gate: &Gate, permit: &CallPermit) -> Option<Verdict> {
    changed.iter().find_map(|path| {
        let verdict = gate.judge_path(Access::Write, path, &permit.context);
        if verdict.decision != Decision::Boundary {
            return None;
        }
        if verdict.reason == Reason::WriteToolNoAuto {
            let paths = list_names(changed.iter().map(ToString::to_string));
            let detail = format!("it changes {paths}, and this mode asks before a write");
            return Some(Verdict { decision: Decision::Boundary, detail, ..permit.verdict.clone() });
        }
        let detail = format!("it changes {path}: {}", verdict.detail);
        Some(Verdict { detail, ..verdict })
    })
}

/// Why a change of the repository may not be staged: the mode asks first, or the change is about a path that no write
/// ahead may touch, even if the work tree does not have it.
fn git_boundary(change: &GitChange, gate: &Gate, permit: &CallPermit) -> Option<Verdict> {
    if !permit.context.stages_ahead() {
        let detail = format!("it makes {}, and this mode asks before a write", change.summary());
        return Some(Verdict { decision: Decision::Boundary, detail, ..permit.verdict.clone() });
    }
    write_boundary(&change.paths, gate, permit)
}

/// A command that leaves more than may be staged waits for the user, who has no such limit.
fn too_much(call: &ToolCall, what: &str) -> StopReason {
    let why = format!("{} leaves more than can be staged: {what}", first_line(command_of(call)));
    StopReason::Boundary(Box::new(Verdict::boundary(Reason::NeedsHost, why)))
}

fn no_view(permit: &CallPermit, why: &str) -> StopReason {
    let detail = format!("{}; {NO_VIEW}{why}", permit.verdict.detail);
    StopReason::Boundary(Box::new(Verdict { decision: Decision::Boundary, detail, ..permit.verdict.clone() }))
}

fn command_of(call: &ToolCall) -> &str {
    let text = |name: &str| call.args.get(name).and_then(|value| value.as_str());
    text("command").or_else(|| text("cmd")).unwrap_or_default()
}

fn list_names(mut names: impl Iterator<Item = String>) -> String {
    let shown: Vec<_> = names.by_ref().take(MAX_NAMED).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether commands of work ahead may run in views under these rules.
pub(crate) fn views_allowed(context: &GateContext) -> bool {
    context.views && !context.mode.writes_nothing()
}
