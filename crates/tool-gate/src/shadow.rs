//! Decides which boundaries become runs in a copy-on-write view of the workspace.
//!
//! A view keeps what a command writes, so a command that only writes to the workspace, or runs programs that do, need
//! not stop work ahead. Whatever a view cannot keep or does not offer still stops it.

mod by_git;
mod words;

use crate::decide::secret;
use crate::needs_host;
use crate::policy::PolicyMatch;
use crate::protected::{self, protected};
use crate::shell::{Findings, data_parts};
use crate::{Decision, Effect, EffectKind, GateContext, Reason, Verdict};
use words::Word;

/// The walk of a command records at most this many effects. If there are that many, one that matters may be among
/// those left out, so the command stays a boundary.
const MAX_EFFECTS: usize = 32;

/// Whether a command may run in a view at all under these rules.
pub(crate) fn is_possible(context: &GateContext) -> bool {
    context.views && !context.mode.writes_nothing()
}

/// What the walk of a command found besides its verdict.
pub(crate) struct Facts {
    /// The verdict on a path that the command reads or writes and that is closed to every command nobody was asked
    /// about.
    closed: Option<Verdict>,
    /// Whether programs in it were looked up, which includes asking the policies about them.
    is_judged: bool,
    /// Where the commands begin that were judged.
    starts: Vec<usize>,
    /// A program that needs the machine itself, even if its name is written with quotes inside.
    on_host: Option<(String, (usize, usize))>,
}

impl Facts {
    pub(crate) fn of(findings: &Findings, context: &GateContext) -> Self {
        let read = || secret(findings.accesses.iter().chain(&findings.judged.kept), context);
        let written = || findings.writes.iter().find_map(|path| closed_write(path, context));
        Self {
            closed: read().or_else(written),
            starts: findings.judged.commands.iter().map(|span| span.0).collect(),
            is_judged: !findings.judged.commands.is_empty(),
            on_host: findings.judged.on_host.clone(),
        }
    }
}

/// The verdict on a command of work that runs ahead where there are views. `verdict` is the one without them.
pub(crate) fn instead_of_boundary(
    verdict: Verdict,
    facts: Facts,
    command: &str,
    context: &GateContext,
) -> Verdict {
    if verdict.decision != Decision::Boundary || !is_for_a_view(&verdict) {
        return verdict;
    }
    let words = words::words(command);
    // The words are searched as well, because the walk stops at the first thing that it does not understand.
    let data = data_parts(command);
    let listed = words.iter().find(|word| needs_host::is_listed(word.name()) && word.may_run(command, &data));
    if let Some((name, span)) = facts.on_host.or(listed.map(|word| (word.name().to_owned(), word.span))) {
        return needs_host(verdict, &name, span);
    }
    if let Some(closed) = facts.closed.or_else(|| by_git::hands_out(&words, &facts.starts, context)) {
        let effects = [closed.effects, verdict.effects].concat();
        return Verdict {
            decision: closed.decision,
            reason: closed.reason,
            detail: closed.detail,
            effects,
            ..verdict
        };
    }
    if let Some(detail) = hidden_policy(&words, facts.is_judged, context) {
        return Verdict { reason: Reason::Policy, detail, ..verdict };
    }
    Verdict { decision: Decision::Shadow, ..verdict }
}

/// Whether a view holds everything that the command is known to do.
fn is_for_a_view(verdict: &Verdict) -> bool {
    let reason = matches!(
        verdict.reason,
        Reason::Writes | Reason::Executes | Reason::NotUnderstood | Reason::Environment
    );
    // The verdict's reason is that of one effect, but any of the others may be more than a view holds.
    let held = |effect: &Effect| {
        matches!(
            effect.kind,
            EffectKind::ReadOnly
                | EffectKind::WritesWorkspace
                | EffectKind::Executes
                | EffectKind::Environment
                | EffectKind::Unknown
        )
    };
    reason && verdict.effects.len() < MAX_EFFECTS && verdict.effects.iter().all(held)
}

/// The verdict on a file that a redirection writes and that nothing may write ahead of the user.
fn closed_write(path: &headstart_workspace_path::WorkspacePath, context: &GateContext) -> Option<Verdict> {
    if let Some(rule) = context.deny.matching(path) {
        let detail = format!("the command writes what the deny rule {:?} covers", rule.0);
        return Some(Verdict::boundary(Reason::DeniedPath, detail));
    }
    if let Some(why) = protected(path) {
        return Some(protected::verdict(path, why));
    }
    let pattern = context.deny.secret(path)?;
    let detail = format!("the command writes {path}, which may hold a secret, as files named {pattern:?} do");
    Some(Verdict::boundary(Reason::SecretPath, detail))
}

fn needs_host(verdict: Verdict, name: &str, span: (usize, usize)) -> Verdict {
    let detail = format!("{name} needs this machine itself, of which a view is only a part");
    let effect = Effect { kind: EffectKind::Executes, detail: format!("runs {name}"), span: Some(span) };
    let effects = [vec![effect], verdict.effects].concat();
    Verdict { reason: Reason::NeedsHost, detail, effects, ..verdict }
}

/// A policy that stops at a program which was not looked up: one behind another shell, in a text that is not
/// understood, or called by its path.
fn hidden_policy(words: &[Word<'_>], is_judged: bool, context: &GateContext) -> Option<String> {
    let hidden = words.iter().filter(|word| !is_judged || !word.is_first || word.has_folder());
    hidden.into_iter().find_map(|word| {
        let stops = |(place, rule): (usize, &crate::policy::Rule)| {
            matches!(rule.how, PolicyMatch::Boundary { .. })
                .then(|| context.policies.explain(place, "asks first"))
        };
        context.policies.about(word.name()).find_map(stops)
    })
}
