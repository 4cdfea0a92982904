//! Which boundaries become runs in a copy-on-write view of the workspace.
//!
//! A view holds what a command writes, so a command that only writes there, or runs programs that do, need not stop work ahead. What
//! a view does not hold, or does not have, still does.

pub(crate) mod needs_host;
mod words;

use crate::decide::secret;
use crate::files::protected;
use crate::policy::How;
use crate::shell::Findings;
use crate::{Decision, Effect, EffectKind, GateContext, Reason, Verdict};
use words::Word;

/// The walk of a command records no more effects than this: where it has so many there may be one that counts among those left out.
const MAX_EFFECTS: usize = 32;

/// Whether a command may run in a view at all under these rules.
pub(crate) fn is_possible(context: &GateContext) -> bool {
    context.views && !context.mode.writes_nothing()
}

/// What the walk of a command knows beside its verdict.
pub(crate) struct Facts {
    /// What it reads or writes that is closed to every command nobody was asked about.
    closed: Option<Verdict>,
    /// Whether programs in it were looked up, so that the policies about them were asked.
    is_judged: bool,
    /// A program that needs the machine itself, also where quotes part its name.
    on_host: Option<(String, (usize, usize))>,
}

impl Facts {
    pub(crate) fn of(findings: &Findings, context: &GateContext) -> Self {
        let read = || secret(findings.accesses.iter().chain(&findings.judged.kept), context);
        let written = || findings.writes.iter().find_map(|path| closed_write(path, context));
        Self {
            closed: read().or_else(written),
            is_judged: !findings.judged.commands.is_empty(),
            on_host: findings.judged.on_host.clone(),
        }
    }
}

/// The verdict on a command of work that runs ahead where there are views; `verdict` is that without them.
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
    // The words are searched as well, because the walk stops at what it does not understand.
    let listed = words.iter().find(|word| needs_host::is_listed(word.name()));
    if let Some((name, span)) = facts.on_host.or(listed.map(|word| (word.name().to_owned(), word.span))) {
        return needs_host(verdict, &name, span);
    }
    if let Some(closed) = facts.closed {
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

/// Whether nothing that is known of the command is more than a view holds.
fn is_for_a_view(verdict: &Verdict) -> bool {
    let reason = matches!(
        verdict.reason,
        Reason::Writes | Reason::Executes | Reason::NotUnderstood | Reason::Environment
    );
    // The reason is that of one effect; each of the others may be what stops it.
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

/// A file that a redirection writes and that no write ahead may touch.
fn closed_write(path: &headstart_workspace_path::WorkspacePath, context: &GateContext) -> Option<Verdict> {
    if let Some(rule) = context.deny.matching(path) {
        let detail = format!("the command writes what the deny rule {:?} covers", rule.0);
        return Some(Verdict::boundary(Reason::DeniedPath, detail));
    }
    if let Some((kind, effect, why)) = protected(path) {
        return Some(
            Verdict::boundary(Reason::ProtectedPath, format!("{path} {why}")).with_effect(kind, effect),
        );
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

/// A policy that stops at a program which was not looked up: behind another shell, in a text that is not understood, by its path.
fn hidden_policy(words: &[Word<'_>], is_judged: bool, context: &GateContext) -> Option<String> {
    let hidden = words.iter().filter(|word| !is_judged || !word.is_first || word.has_folder());
    hidden.into_iter().find_map(|word| {
        let stops = |(place, rule): (usize, &crate::policy::Rule)| {
            matches!(rule.how, How::Boundary { .. }).then(|| context.policies.explain(place, "asks first"))
        };
        context.policies.about(word.name()).find_map(stops)
    })
}
