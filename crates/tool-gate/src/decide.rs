//! Makes a decision out of effects and mode. No other place does.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use headstart_workspace_path::WorkspacePath;

use crate::shell::{Access, Extent, Findings, Judged, Span};
use crate::{Decision, Effect, EffectKind, GateContext, Reason, Verdict};

/// The most policies that one sentence names.
const MAX_NAMED: usize = 3;

/// The verdict on a shell command of a speculation, which is the same in every mode: it runs if it only reads.
pub(crate) fn decide(findings: Findings, context: &GateContext) -> Verdict {
    let Findings { effects, limit, accesses, writes, hardened, length, judged } = findings;
    let reads = read_paths(&accesses);
    let mut verdict = match effects.first() {
        None if limit => Verdict::boundary(Reason::Limit, "there is too much to walk through"),
        None => Verdict::new(Decision::Allow, Reason::ReadOnly, allowed_because(&judged, context)),
        Some(_) if !judged.stopped.is_empty() => {
            Verdict::boundary(Reason::Policy, policies_say(&judged.stopped, "asks first", context))
        }
        Some(_) if limit => Verdict::boundary(Reason::Limit, effects[0].detail.clone()),
        Some(_) => {
            let worst = effects.iter().min_by_key(|effect| rank(effect.kind)).unwrap_or(&effects[0]);
            Verdict::boundary(reason(worst.kind), worst.detail.clone())
        }
    };
    // A pattern may look like a path that is closed. An allowed command only compares with it; one that is not
    // allowed may do more.
    let named: &[Access] = if verdict.decision == Decision::Allow { &[] } else { &judged.closed };
    if let Some(denied) = denied(&accesses, "may read", context).or_else(|| denied(named, "names", context)) {
        // A closed path counts whatever else the command does, because the user may allow the rest and not that.
        let effects = [denied.effects, effects].concat();
        return Verdict { effects, reads, ..denied };
    }
    if verdict.decision == Decision::Allow
        && let Some(secret) = secret(accesses.iter().chain(&judged.kept), context)
    {
        return Verdict { reads, ..secret };
    }
    if verdict.decision == Decision::Allow {
        verdict.effects = reading_effects(judged.commands, &accesses, length);
        verdict.hardened = hardened;
    } else {
        verdict.effects = effects;
    }
    verdict.reads = reads;
    verdict.writes = writes;
    verdict
}

/// The most effects of an allowed command that are listed; `reads` lists every path.
const MAX_READING_EFFECTS: usize = 512;

/// The effects of an allowed command, in the order of the text: what each program prints, and each path that is read.
fn reading_effects(mut commands: Vec<Span>, accesses: &[Access], length: usize) -> Vec<Effect> {
    commands.sort_unstable();
    commands.dedup();
    let effect = |detail: String, span| Effect { kind: EffectKind::ReadOnly, detail, span: Some(span) };
    let mut effects: Vec<Effect> = Vec::with_capacity(commands.len() + accesses.len());
    let place = |effect: &Effect| effect.span.map(|(start, end)| (start, Reverse(end)));
    // The effects come almost in the order of the text, so inserting each in its place moves few others.
    let mut add = |effect: Effect| {
        let at = effects.partition_point(|other| place(other) <= place(&effect));
        effects.insert(at, effect);
    };
    for span in commands {
        add(effect("reads and prints".to_owned(), span));
    }
    let mut whole = Vec::new();
    for access in accesses {
        // Reading the whole workspace is told once, because git does it at each of its commands.
        if access.path.is_root() {
            if whole.contains(&access.extent) {
                continue;
            }
            whole.push(access.extent);
        }
        add(effect(says(access), access.span));
    }
    if effects.is_empty() {
        // What is left are assignments, tests and arithmetic.
        effects.push(effect("computes, and reads nothing".to_owned(), (0, length)));
    }
    effects.truncate(MAX_READING_EFFECTS);
    effects
}

/// Says in words how a path is read.
fn says(access: &Access) -> String {
    let path = &access.path;
    match access.extent {
        Extent::File => format!("reads {path}"),
        Extent::Below if path.is_root() => "reads what is in the workspace".to_owned(),
        Extent::Below => format!("reads what is below {path}"),
        Extent::Names if path.is_root() => "looks at names in the workspace".to_owned(),
        Extent::Names => format!("looks at names below {path}"),
    }
}

/// Why a command is allowed: names the policies that vouch for it, if there are any.
fn allowed_because(judged: &Judged, context: &GateContext) -> Cow<'static, str> {
    if judged.allowed.is_empty() {
        return Cow::Borrowed("the command only reads");
    }
    Cow::Owned(policies_say(&judged.allowed, "allows it", context))
}

/// What the policies at these places do. Names at most [`MAX_NAMED`], because nobody reads more.
fn policies_say(places: &[usize], does: &str, context: &GateContext) -> String {
    let says: Vec<_> =
        places.iter().take(MAX_NAMED).map(|place| context.policies.explain(*place, does)).collect();
    let more = places.len().saturating_sub(MAX_NAMED);
    let end = if 0 < more { format!("; and {more} more") } else { String::new() };
    says.join("; ") + &end
}

/// The first access that a deny rule covers, or may cover.
fn denied(accesses: &[Access], does: &str, context: &GateContext) -> Option<Verdict> {
    for access in accesses {
        let rule = match access.extent {
            // Listing names discloses nothing that the rule protects, unless the folder itself is denied.
            Extent::File | Extent::Names => context.deny.matching(&access.path),
            Extent::Below => context.deny.matching_below(&access.path),
        };
        let kept = rule.is_none().then(|| context.deny.kept_by_git(&access.path, access.extent)).flatten();
        if let Some(rule) = rule.or(kept) {
            let of =
                if kept.is_some() { "git's own files, which hold what was committed, also " } else { "" };
            let detail = format!("the command {does} {of}what the deny rule {:?} covers", rule.0);
            let mut verdict = Verdict::boundary(Reason::DeniedPath, detail);
            verdict.effects.push(Effect {
                kind: EffectKind::Unknown,
                detail: format!("{does} {}", access.path),
                span: Some(access.span),
            });
            return Some(verdict);
        }
    }
    None
}

/// The first access to a file whose name says that it holds a secret. The text of a command does not name what lies
/// below a folder that it reads, so the executor has to keep the command from secrets there
/// ([`DenyRules::secret`](crate::DenyRules::secret)).
pub(crate) fn secret<'a>(
    mut accesses: impl Iterator<Item = &'a Access>,
    context: &GateContext,
) -> Option<Verdict> {
    accesses.find_map(|access| {
        if access.extent == Extent::Names {
            return None;
        }
        let pattern = context.deny.secret(&access.path)?;
        let path = &access.path;
        let detail =
            format!("the command reads {path}, which may hold a secret, as files named {pattern:?} do");
        let mut verdict = Verdict::boundary(Reason::SecretPath, detail);
        let detail = format!("reads {path}");
        verdict.effects.push(Effect { kind: EffectKind::ReadOnly, detail, span: Some(access.span) });
        Some(verdict)
    })
}

fn read_paths(accesses: &[Access]) -> Vec<WorkspacePath> {
    // The whole workspace covers every other path. A smaller folder does not, because a command may read only the
    // names in it.
    let whole = accesses.iter().any(|access| access.path.is_root());
    if whole {
        return vec![WorkspacePath::root()];
    }
    let paths: BTreeSet<_> = accesses.iter().map(|access| &access.path).collect();
    paths.into_iter().cloned().collect()
}

/// The order in which the effects of a command are told; the lowest comes first.
fn rank(kind: EffectKind) -> u8 {
    match kind {
        EffectKind::WritesOutside => 0,
        EffectKind::WritesWorkspace => 1,
        EffectKind::Executes => 2,
        EffectKind::Network => 3,
        EffectKind::ReadsOutside => 4,
        EffectKind::Environment => 5,
        EffectKind::NonTerminating => 6,
        EffectKind::Unknown => 7,
        EffectKind::ReadOnly => 8,
    }
}

fn reason(kind: EffectKind) -> Reason {
    match kind {
        EffectKind::ReadOnly => Reason::ReadOnly,
        EffectKind::WritesWorkspace | EffectKind::WritesOutside => Reason::Writes,
        EffectKind::Network => Reason::Network,
        EffectKind::Executes => Reason::Executes,
        EffectKind::ReadsOutside => Reason::ReadsOutside,
        EffectKind::Environment => Reason::Environment,
        EffectKind::NonTerminating => Reason::NonTerminating,
        EffectKind::Unknown => Reason::NotUnderstood,
    }
}
