//! Applies the user's and the project's policies to one command, beside the table.

mod stop;

use self::stop::note;
pub(super) use self::stop::stop;
use super::analyse::Judge;
use super::table::{self, Caller};
use super::value::Arg;
use super::{Extent, Span};
use crate::policy::{AllowedOption, PolicyMatch, PolicyOperands, Rule};
use crate::{Effect, EffectKind};

/// Judges one command by the table. An allow may vouch for what the table does not know; a boundary stops in any
/// case.
pub(super) fn judge(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg], caller: Caller) {
    let before = judge.effects.len();
    judge.judged.count += 1;
    let judged = judge.judged.count;
    table::judge_by_table(judge, name, span, args, caller);
    // What a wrapper starts has been judged by itself.
    if judged == judge.judged.count && !judge.is_limited() {
        let from_table = judge.effects.split_off(before);
        allow(judge, name, span, args, from_table);
    }
    stop(judge, name, span, args);
}

/// Judges a command by an allow. `from_table` is what the table objects to; objections that the allow vouches for are
/// left out.
fn allow(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg], from_table: Vec<Effect>) {
    let context = judge.context;
    if from_table.is_empty() && !context.policies.checks_examples() {
        return;
    }
    let mut against = Vec::new();
    // A policy can only vouch for what the table does not know: a program that writes does not stop writing.
    let open = |effect: &Effect| {
        effect.kind == EffectKind::Unknown
            || (effect.kind == EffectKind::Executes && table::is_said_to_run_others(name))
    };
    if from_table.iter().all(open) {
        for (place, rule) in context.policies.about(name) {
            let PolicyMatch::Allow { options, required, operands } = &rule.how else { continue };
            let before = judge.effects.len();
            let fits = AllowMatch { options, required: &options[..*required], operands: *operands, span }
                .fits(judge, rule, args);
            let of_policy = judge.effects.split_off(before);
            if fits && of_policy.is_empty() {
                if from_table.is_empty() {
                    note(&mut judge.judged.unneeded, place);
                    return;
                }
                judge.read_workspace(Extent::Below, span);
                // If a program runs only because a policy vouches for it, nobody knows what it prints or reads.
                judge.printed = None;
                judge.reads_input = true;
                judge.judged.vouched += 1;
                return note(&mut judge.judged.allowed, place);
            }
            against.extend(of_policy);
        }
    }
    if !from_table.is_empty() {
        judge.effects.extend(against);
        judge.effects.extend(from_table);
    }
}

/// Compares a command with the lists of an allow.
struct AllowMatch<'a> {
    options: &'a [AllowedOption],
    required: &'a [AllowedOption],
    operands: PolicyOperands,
    span: Span,
}

impl AllowMatch<'_> {
    /// Whether every argument is listed. What is not is recorded as an effect.
    fn fits(&self, judge: &mut Judge<'_>, rule: &Rule, args: &[Arg]) -> bool {
        let words = rule.words();
        let same = |(arg, word): (&Arg, &String)| arg.is(word);
        if args.len() < words.len() || !args.iter().zip(words).all(same) {
            return false;
        }
        let mut missing: Vec<_> = self.required.iter().collect();
        let mut are_options = true;
        let mut rest = args[words.len()..].iter();
        while let Some(arg) = rest.next() {
            let not_listed = |what: &str| format!("{rule} does not list {what}");
            if arg.dash {
                // The argument could be an option that the user who wrote the policy does not know.
                let Some(text) = arg.text() else {
                    judge
                        .unknown(format!("a word that may be an option, and {}", not_listed("it")), arg.span);
                    return false;
                };
                are_options &= text != "--";
                let next = rest.as_slice().first().and_then(Arg::bytes);
                missing.retain(|option| !are_options || !option.is_given(text, next));
                if !self.option(judge, arg, text, &mut rest) {
                    judge.unknown(not_listed(&format!("the option {text:?}")), arg.span);
                    return false;
                }
            } else if self.operands == PolicyOperands::None {
                judge.unknown(not_listed("operands"), arg.span);
                return false;
            } else if !self.data(judge, arg) {
                return false;
            } else if self.operands == PolicyOperands::Files {
                judge.read(arg, Extent::Below);
            }
        }
        if let Some(option) = missing.first() {
            let detail = format!("{rule} requires the option {:?}", option.written());
            judge.unknown(detail, self.span);
        }
        missing.is_empty()
    }

    /// Whether an option is listed. Its value is taken from `rest`.
    fn option<'a>(
        &self,
        judge: &mut Judge<'_>,
        arg: &Arg,
        text: &str,
        rest: &mut impl Iterator<Item = &'a Arg>,
    ) -> bool {
        if self.options.iter().any(|option| matches!(option, AllowedOption::Word(word) if word == text)) {
            return true;
        }
        let mut separate =
            self.options.iter().filter(|option| option.separate_name() == Some(text)).peekable();
        if separate.peek().is_some() {
            let Some(value) = rest.next() else { return false };
            // If a version of the program takes no value here, this would be an option, or several words, of its own.
            if value.dash || value.many {
                return false;
            }
            let listed = separate.any(|option| match option {
                AllowedOption::Separate(_, Some(listed)) => value.is(listed),
                _ => true,
            });
            let exact = self.options.iter().any(
                |option| matches!(option, AllowedOption::Separate(name, Some(listed)) if name == text && value.is(listed)),
            );
            return listed && (exact || self.data(judge, value));
        }
        let attached = self.options.iter().find_map(|option| match option {
            // A letter whose value would be attached, but without one: nothing says that the next word is the value.
            AllowedOption::Attached(start) if text.len() == start.len() && !start.ends_with('=') => None,
            AllowedOption::Attached(start) => text.starts_with(start).then_some(start.len()),
            _ => None,
        });
        attached.is_some_and(|length| self.data(judge, &arg.without(length)))
    }

    /// Whether a text names nothing outside the workspace, and no file with further arguments.
    fn data(&self, judge: &mut Judge<'_>, arg: &Arg) -> bool {
        let Some(bytes) = arg.bytes() else {
            if arg.prefix.first().is_none_or(|first| *first == b'@') {
                judge.unknown(
                    "a word whose start is not known may name a file of further arguments",
                    arg.span,
                );
                return false;
            }
            judge.read(arg, Extent::Below);
            return true;
        };
        if bytes.starts_with(b"@") {
            judge.unknown("a word that may name a file of further arguments", arg.span);
            return false;
        }
        let parts = bytes.split(|byte| b"=:,;@ \t\n".contains(byte));
        for part in parts.filter(|part| {
            part.starts_with(b"/") || part.split(|byte| *byte == b'/').any(|name| name == b"..")
        }) {
            judge.read(&Arg::exact(part, arg.span), Extent::Below);
        }
        if bytes.split(|byte| b"=:,;@ \t\n".contains(byte)).any(|part| part.starts_with(b"~")) {
            judge.refuse(EffectKind::ReadsOutside, "a word that may name a home folder", self.span);
            return false;
        }
        true
    }
}
