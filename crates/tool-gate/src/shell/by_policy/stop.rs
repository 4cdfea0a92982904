use crate::EffectKind;
use crate::policy::{PolicyMatch, Rule};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::value::Arg;

/// Stops at the command if a boundary covers it. Nothing else that is known of the command is dropped, because a
/// boundary only adds.
pub(in crate::shell) fn stop(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg]) {
    let policies = &judge.context.policies;
    for (place, rule) in policies.about(name) {
        let PolicyMatch::Boundary { options } = &rule.how else { continue };
        let may_be = |arg: &Arg| match arg.bytes() {
            Some(bytes) => options.iter().any(|option| option.may_be(bytes)),
            None => arg.dash,
        };
        if has_words(rule, args) && (options.is_empty() || args.iter().any(may_be)) {
            judge.refuse(EffectKind::Unknown, policies.explain(place, "asks first"), span);
            note(&mut judge.judged.stopped, place);
        }
    }
}

/// Whether the subcommand may be the one of the policy. Behind an option any word may be that option's value.
fn has_words(rule: &Rule, args: &[Arg]) -> bool {
    let mut args = args.iter();
    let mut skips = false;
    for word in rule.words() {
        loop {
            let Some(arg) = args.next() else { return false };
            match arg.bytes() {
                Some(bytes) if bytes == word.as_bytes() => break,
                Some(bytes) => skips |= bytes.starts_with(b"-"),
                // A word that is not known may be the subcommand, or several words.
                None => return true,
            }
            if !skips {
                return false;
            }
        }
    }
    true
}

pub(super) fn note(places: &mut Vec<usize>, place: usize) {
    if !places.contains(&place) {
        places.push(place);
    }
}
