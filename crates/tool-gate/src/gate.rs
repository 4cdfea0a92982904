#[cfg(feature = "shell")]
use std::cell::RefCell;
use std::fmt;

use headstart_workspace_path::WorkspacePath;
use serde::Serialize;
use serde_json::{Map, Value};

#[cfg(doc)]
use crate::ApprovalMode;
#[cfg(feature = "shell")]
use crate::shell::CrossCheck;
use crate::{
    Access, Behaviour, CallRef, Decision, Declaration, EffectKind, ElsewhereVerdict, GateContext, Reason,
    Role, Verdict, built_in, files,
};
#[cfg(feature = "shell")]
use crate::{UsedVariable, decide, shadow, shell};

/// Judges calls. Each thread keeps one parser of commands for all calls.
#[derive(Default)]
#[non_exhaustive]
pub struct Gate;

#[cfg(feature = "shell")]
thread_local! {
    // A parser is not `Send` on wasm32, and a `Gate` must be, because a host shares it between futures.
    static CROSS_CHECK: RefCell<CrossCheck> = RefCell::default();
}

/// What a user has said in advance about a call that would ask them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StandingConsent {
    /// Nothing: the approval mode decides.
    Nothing,
    /// Yes.
    Yes,
    /// They want to be asked, in every mode.
    Asks,
    /// No: the tool is excluded.
    No,
}

/// An entry of the user's or the project's policies that changes the verdict on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecidingPolicy {
    /// `automatic`, `ask` or `exclude`.
    pub says: &'static str,
    /// Which entry it is, in words.
    pub why: String,
}

/// When a command would run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timing {
    Now,
    Ahead,
}

impl Gate {
    /// A gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// The verdict on one call. Runs, reads and writes nothing.
    pub fn judge(&self, call: CallRef<'_>, context: &GateContext) -> Verdict {
        let verdict = Self::judge_call(call, context);
        #[cfg(feature = "tool-policies")]
        let verdict = crate::tool_policy::now(verdict, call, context);
        verdict
    }

    /// The verdict on a call without what the user says of its tool.
    fn judge_call(call: CallRef<'_>, context: &GateContext) -> Verdict {
        let Some(declared) = context.declaration(call.name) else {
            return Verdict::boundary(
                Reason::UnknownTool,
                format!("{:?} is no tool the gate knows", call.name),
            )
            .with_effect(EffectKind::Unknown, "an unknown tool may do anything");
        };
        match declared.behaviour {
            Behaviour::RunsCommand => Self::judge_command_of(declared, call.args, context, Timing::Now),
            Behaviour::RunsInBackground => Self::judge_background(declared, call.args, context),
            _ => files::judge_declared(declared, call.args, context, context.mode),
        }
    }

    /// The verdict on a call of work that runs ahead of the user.
    ///
    /// As [`judge`](Self::judge), with two differences. An edit in [`ApprovalMode::Default`] with
    /// [`AheadWrites::Ask`](crate::AheadWrites::Ask) is staged as in [`ApprovalMode::AutoEdit`], with
    /// [`Reason::StagedAsksFirst`]: whoever applies such work must have shown the user what it changes and got their
    /// yes. So do not use this for a call that runs at once.
    ///
    /// And if [`GateContext::views`] says that there are views, a shell command that writes, runs programs, depends
    /// on the environment or is not understood is [`Decision::Shadow`], with the reason for which it would otherwise
    /// be a boundary. It stays a boundary in [`ApprovalMode::Plan`]; if it may do something that a view does not
    /// offer (a connection, a path outside, running without an end, a service of the host); and at a path or a
    /// program that a rule is about.
    pub fn judge_ahead(&self, call: CallRef<'_>, context: &GateContext) -> Verdict {
        let verdict = Self::judge_call_ahead(call, context);
        #[cfg(feature = "tool-policies")]
        let verdict = crate::tool_policy::ahead(verdict, call, context);
        verdict
    }

    /// What the user has said in advance about a call of their own turn for which [`judge`](Self::judge) answers with
    /// a boundary. Without the feature `tool-policies` that is nothing.
    pub fn standing_consent(
        &self,
        verdict: &Verdict,
        call: CallRef<'_>,
        context: &GateContext,
    ) -> StandingConsent {
        #[cfg(feature = "tool-policies")]
        return crate::tool_policy::standing_consent(self, verdict, call, context);
        #[cfg(not(feature = "tool-policies"))]
        {
            let _ = (verdict, call, context);
            StandingConsent::Nothing
        }
    }

    /// Which policy decides about a call of a turn, or of work that runs ahead: one that stops what would run, runs
    /// what would ask, or excludes the tool. `None` if the verdict would be the same without any.
    pub fn deciding_policy(
        &self,
        call: CallRef<'_>,
        context: &GateContext,
        is_ahead: bool,
    ) -> Option<DecidingPolicy> {
        let verdict = if is_ahead { Self::judge_call_ahead } else { Self::judge_call }(call, context);
        #[cfg(feature = "tool-policies")]
        if let Some(said) = crate::tool_policy::deciding(self, &verdict, call, context, is_ahead) {
            return Some(DecidingPolicy { says: said.policy.as_str(), why: said.why });
        }
        // A policy about a program in a command.
        (verdict.reason == Reason::Policy).then_some(DecidingPolicy { says: "ask", why: verdict.detail })
    }

    fn judge_call_ahead(call: CallRef<'_>, context: &GateContext) -> Verdict {
        match context.declaration(call.name) {
            None => Self::judge_call(call, context),
            Some(declared) => match declared.behaviour {
                Behaviour::RunsCommand => Self::judge_command_of(declared, call.args, context, Timing::Ahead),
                Behaviour::RunsInBackground => Self::judge_background(declared, call.args, context),
                Behaviour::ServesSession => Verdict::boundary(
                    Reason::NonTerminating,
                    format!("{} is about what runs beside your own turns", declared.name),
                ),
                _ => files::ahead(&declared.name, context, |mode| {
                    files::judge_declared(declared, call.args, context, mode)
                }),
            },
        }
    }

    /// The verdict on a path that work ahead of the user reads or changes, by whichever call: that of
    /// [`judge_ahead`](Self::judge_ahead) on the built-in tool that would do it.
    pub fn judge_path(&self, access: Access, path: &WorkspacePath, context: &GateContext) -> Verdict {
        files::judge_path(access, path, context)
    }

    /// The verdict on the arguments of a call of another program's shell tool. Its shell is in `directory` if they
    /// name no folder.
    ///
    /// The verdict assumes the [clean environment](crate::clean_environment); the host has to know whether the shell
    /// of that program has it.
    pub fn judge_elsewhere(
        &self,
        args: &Map<String, Value>,
        directory: &str,
        context: &GateContext,
    ) -> ElsewhereVerdict {
        Self::judge_shell(&built_in::SHELL, args, directory, context, Timing::Now)
    }

    /// The verdict on a shell command in the workspace root.
    pub fn judge_command(&self, command: &str, context: &GateContext) -> Verdict {
        Self::judge_shell_in(command, WorkspacePath::root(), context, Timing::Now).verdict
    }

    /// As [`judge_command`](Self::judge_command), for work that runs ahead: it may be
    /// [`Decision::Shadow`](crate::Decision::Shadow).
    pub fn judge_command_ahead(&self, command: &str, context: &GateContext) -> Verdict {
        Self::judge_shell_in(command, WorkspacePath::root(), context, Timing::Ahead).verdict
    }

    fn judge_shell(
        declared: &Declaration,
        args: &Map<String, Value>,
        directory: &str,
        context: &GateContext,
        asked: Timing,
    ) -> ElsewhereVerdict {
        let command = match declared.text_of(Role::Command, args) {
            Ok(Some(command)) => command,
            Ok(None) => return no_command("argument \"command\" must be a string".to_owned()).into(),
            Err(error) => return no_command(error.to_string()).into(),
        };
        if declared.outlives_call(args) {
            return outlives(command).into();
        }
        let directory = match declared.text_of(Role::Folder, args) {
            Ok(named) => named.unwrap_or(directory),
            Err(error) => return files::path_error(&error).into(),
        };
        match context.resolve(directory) {
            Ok(directory) => Self::judge_shell_in(command, directory, context, asked),
            Err(error) => files::outside(&error).into(),
        }
    }

    /// The verdict on the command of a tool that waits for its end.
    fn judge_command_of(
        declared: &Declaration,
        args: &Map<String, Value>,
        context: &GateContext,
        asked: Timing,
    ) -> Verdict {
        let verdict = Self::judge_shell(declared, args, ".", context, asked).verdict;
        if declared.is_built_in() || verdict.decision == Decision::Boundary {
            return verdict;
        }
        let detail = format!("{} runs a command, and nobody sees to it that it does no more", declared.name);
        Verdict::boundary(Reason::Executes, detail).with_effect(EffectKind::Executes, "runs a command")
    }

    /// The verdict on a command that goes on after its call: it is a boundary even if nothing else stops it.
    fn judge_background(declared: &Declaration, args: &Map<String, Value>, context: &GateContext) -> Verdict {
        let verdict = Self::judge_shell(declared, args, ".", context, Timing::Now).verdict;
        if verdict.decision == Decision::Boundary {
            return verdict;
        }
        match declared.text_of(Role::Command, args) {
            Ok(Some(command)) => outlives(command),
            _ => no_command("there is no command".to_owned()),
        }
    }

    #[cfg(feature = "shell")]
    fn judge_shell_in(
        command: &str,
        directory: WorkspacePath,
        context: &GateContext,
        asked: Timing,
    ) -> ElsewhereVerdict {
        let mut findings = CROSS_CHECK
            .with_borrow_mut(|cross_check| shell::classify(command, directory, context, cross_check));
        let programs = std::mem::take(&mut findings.judged.programs).into_iter().collect();
        let leaves_folder = findings.judged.leaves_folder;
        let reads = findings.accesses.iter().map(shell::Access::as_read).collect();
        let variables = std::mem::take(&mut findings.judged.variables).into_iter();
        let variables = variables.map(|(name, is_assigned)| UsedVariable { name, is_assigned }).collect();
        let verdict = if asked == Timing::Ahead && shadow::is_possible(context) {
            let facts = shadow::Facts::of(&findings, context);
            shadow::instead_of_boundary(decide::decide(findings, context), facts, command, context)
        } else {
            decide::decide(findings, context)
        };
        ElsewhereVerdict { verdict, programs, leaves_folder, reads, variables }
    }

    #[cfg(not(feature = "shell"))]
    fn judge_shell_in(command: &str, _: WorkspacePath, _: &GateContext, _: Timing) -> ElsewhereVerdict {
        let detail = "this program was built without the shell gate, so no command can be judged";
        let mut verdict =
            Verdict::boundary(Reason::NotUnderstood, detail).with_effect(EffectKind::Unknown, detail);
        verdict.effects.iter_mut().for_each(|effect| effect.span = Some((0, command.len())));
        verdict.into()
    }
}

/// The verdict on a call that does not name a command properly.
fn no_command(detail: String) -> Verdict {
    Verdict::boundary(Reason::InvalidArgument, detail)
        .with_effect(EffectKind::Unknown, "no command that the gate can read")
}

/// The verdict on a command that goes on after its call.
fn outlives(command: &str) -> Verdict {
    let mut verdict = Verdict::boundary(Reason::NonTerminating, "the command would outlive the call")
        .with_effect(EffectKind::NonTerminating, "runs in the background");
    verdict.effects.iter_mut().for_each(|effect| effect.span = Some((0, command.len())));
    verdict
}

/// The verdict on an example of a policy, and the policies that decide it or would.
#[cfg(feature = "shell")]
pub(crate) fn judge_with_policies(command: &str, context: &GateContext) -> (Verdict, Vec<usize>) {
    let mut findings = CROSS_CHECK
        .with_borrow_mut(|cross_check| shell::classify(command, WorkspacePath::root(), context, cross_check));
    let judged = &mut findings.judged;
    let fitting = [&judged.allowed[..], &judged.stopped, &judged.unneeded].concat();
    (decide::decide(findings, context), fitting)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
