#[cfg(feature = "shell")]
use std::cell::RefCell;
use std::fmt;

use headstart_workspace_path::WorkspacePath;
use serde_json::{Map, Value};

use crate::builtin::one_text;
#[cfg(feature = "shell")]
use crate::shell::Witness;
use crate::{Access, BuiltinTool, CallRef, EffectKind, GateContext, Reason, Verdict, files};
#[cfg(doc)]
use crate::{ApprovalMode, Decision};
#[cfg(feature = "shell")]
use crate::{decide, shadow, shell};

/// Judges calls. Each thread keeps a parser of commands between them.
#[derive(Default)]
#[non_exhaustive]
pub struct Gate;

#[cfg(feature = "shell")]
thread_local! {
    // A parser is not `Send` on wasm32, and a `Gate` must be: the host shares it between futures.
    static WITNESS: RefCell<Witness> = RefCell::default();
}

/// When a command would run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Now,
    Ahead,
}

/// Tools that need the user, reach the network or start other agents: known, and never speculated.
const DENIED_TOOLS: [&str; 24] = [
    "agent",
    "Agent",
    "Task",
    "skill",
    "Skill",
    "todo_write",
    "TodoWrite",
    "save_memory",
    "SaveMemory",
    "ask_user_question",
    "AskUserQuestion",
    "exit_plan_mode",
    "ExitPlanMode",
    "enter_plan_mode",
    "EnterPlanMode",
    "team_plan_approval",
    "web_fetch",
    "WebFetch",
    "web_search",
    "WebSearch",
    "google_web_search",
    "task",
    "memory",
    "ask_user",
];

impl Gate {
    /// A gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// The verdict on one call. Never runs, reads or writes anything.
    pub fn judge(&self, call: CallRef<'_>, context: &GateContext) -> Verdict {
        if let Some(declared) = context.declaration(call.name) {
            return files::judge_declared(declared, call.args, context, context.mode);
        }
        match BuiltinTool::from_name(call.name) {
            Some(BuiltinTool::Shell) => Self::judge_shell(call.args, context, Asked::Now),
            Some(tool @ (BuiltinTool::Edit | BuiltinTool::WriteFile)) => {
                files::judge_write(tool, call.args, context, context.mode)
            }
            Some(tool) => files::judge_read(tool, call.args, context),
            None if call.name == "lsp" => files::judge_lsp(call.args, context),
            None if DENIED_TOOLS.contains(&call.name) => Verdict::boundary(
                Reason::DeniedTool,
                format!("{} needs the user, or reaches outside the workspace", call.name),
            ),
            None => {
                Verdict::boundary(Reason::UnknownTool, format!("{:?} is no tool the gate knows", call.name))
                    .with_effect(EffectKind::Unknown, "an unknown tool may do anything")
            }
        }
    }

    /// The verdict on a call of work that runs ahead of the user.
    ///
    /// As [`judge`](Self::judge), but for an edit in [`ApprovalMode::Default`] with [`AheadWrites::Ask`](crate::AheadWrites::Ask): that is staged
    /// as in [`ApprovalMode::AutoEdit`], with [`Reason::StagedAsksFirst`]. Whoever applies such work must have shown
    /// the user what it changes and got their yes. For a call that runs at once this is the wrong question.
    ///
    /// And but for a shell command, where [`GateContext::views`] says that there are views: one that writes, runs programs, depends on the
    /// environment or is not understood is [`Decision::Shadow`], with the reason for which it would be a boundary. It stays a boundary in
    /// [`ApprovalMode::Plan`]; where it may also do what a view keeps from the user's machine without giving it to the command (a
    /// connection, a path outside, no end, a service of the host); and at a path or a program that a rule is about.
    pub fn judge_ahead(&self, call: CallRef<'_>, context: &GateContext) -> Verdict {
        match BuiltinTool::from_name(call.name) {
            Some(BuiltinTool::Shell) => Self::judge_shell(call.args, context, Asked::Ahead),
            Some(tool @ (BuiltinTool::Edit | BuiltinTool::WriteFile)) => {
                files::ahead(tool.name(), context, |mode| files::judge_write(tool, call.args, context, mode))
            }
            Some(_) => self.judge(call, context),
            None => match context.declaration(call.name) {
                Some(declared) => files::ahead(&declared.name, context, |mode| {
                    files::judge_declared(declared, call.args, context, mode)
                }),
                None => self.judge(call, context),
            },
        }
    }

    /// The verdict on a path that work ahead of the user reads or changes, by whichever call: that of
    /// [`judge_ahead`](Self::judge_ahead) on the built-in tool that would do it.
    pub fn judge_path(&self, access: Access, path: &WorkspacePath, context: &GateContext) -> Verdict {
        files::judge_path(access, path, context)
    }

    /// The verdict on a shell command in the workspace root.
    pub fn judge_command(&self, command: &str, context: &GateContext) -> Verdict {
        Self::judge_shell_in(command, WorkspacePath::root(), context, Asked::Now)
    }

    /// The same for work that runs ahead: it may be [`Decision::Shadow`](crate::Decision::Shadow).
    pub fn judge_command_ahead(&self, command: &str, context: &GateContext) -> Verdict {
        Self::judge_shell_in(command, WorkspacePath::root(), context, Asked::Ahead)
    }

    fn judge_shell(args: &Map<String, Value>, context: &GateContext, asked: Asked) -> Verdict {
        let invalid = |detail: String| {
            Verdict::boundary(Reason::InvalidArgument, detail)
                .with_effect(EffectKind::Unknown, "no command that the gate can read")
        };
        let command = match one_text(args, &["command", "cmd"]) {
            Ok(Some(command)) => command,
            Ok(None) => return invalid("argument \"command\" must be a string".to_owned()),
            Err(error) => return invalid(error.to_string()),
        };
        for flag in ["is_background", "run_in_background"] {
            if !matches!(args.get(flag), None | Some(Value::Null | Value::Bool(false))) {
                let mut verdict =
                    Verdict::boundary(Reason::NonTerminating, "the command would outlive the call")
                        .with_effect(EffectKind::NonTerminating, "runs in the background");
                verdict.effects.iter_mut().for_each(|effect| effect.span = Some((0, command.len())));
                return verdict;
            }
        }
        let directory = match BuiltinTool::Shell.path_argument(args) {
            Ok(directory) => directory.unwrap_or("."),
            Err(error) => return files::path_error(&error),
        };
        match context.resolve(directory) {
            Ok(directory) => Self::judge_shell_in(command, directory, context, asked),
            Err(error) => files::outside(&error),
        }
    }

    #[cfg(feature = "shell")]
    fn judge_shell_in(
        command: &str,
        directory: WorkspacePath,
        context: &GateContext,
        asked: Asked,
    ) -> Verdict {
        let findings =
            WITNESS.with_borrow_mut(|witness| shell::classify(command, directory, context, witness));
        if asked == Asked::Ahead && shadow::is_possible(context) {
            let facts = shadow::Facts::of(&findings, context);
            return shadow::instead_of_boundary(decide::decide(findings, context), facts, command, context);
        }
        decide::decide(findings, context)
    }

    #[cfg(not(feature = "shell"))]
    fn judge_shell_in(command: &str, _: WorkspacePath, _: &GateContext, _: Asked) -> Verdict {
        let detail = "this program was built without the shell gate, so no command can be judged";
        let mut verdict =
            Verdict::boundary(Reason::NotUnderstood, detail).with_effect(EffectKind::Unknown, detail);
        verdict.effects.iter_mut().for_each(|effect| effect.span = Some((0, command.len())));
        verdict
    }
}

/// The verdict on an example, and the policies that decide it or would.
#[cfg(feature = "shell")]
pub(crate) fn judge_with_policies(command: &str, context: &GateContext) -> (Verdict, Vec<usize>) {
    let mut findings =
        WITNESS.with_borrow_mut(|witness| shell::classify(command, WorkspacePath::root(), context, witness));
    let judged = &mut findings.judged;
    let fitting = [&judged.allowed[..], &judged.stopped, &judged.unneeded].concat();
    (decide::decide(findings, context), fitting)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
