//! `python -m json.tool`, which prints a document of JSON. Every other program in Python may do anything.

use crate::EffectKind::Executes;
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{self, Operands, Spec};
use crate::shell::value::Arg;

/// A second operand is the file that it writes.
pub(super) const JSON_TOOL: Spec = Spec {
    flags: "h",
    long: "sort-keys no-ensure-ascii json-lines indent= tab no-indent compact help",
    ..Spec::new(&["python -m json.tool", "python3 -m json.tool"], Operands::Files(1))
};

/// Without these, Python looks for the module in the current folder first, by variables, and in the user's own folder
/// (`-I`), and leaves compiled modules behind (`-B`).
const ISOLATED: [&str; 2] = ["-I", "-B"];

pub(super) fn judge(judge: &mut Judge<'_>, name: &str, args: &[Arg], span: Span) {
    let is_hardened =
        ISOLATED.len() <= args.len() && ISOLATED.iter().zip(args).all(|(option, arg)| arg.is(option));
    let rest = if is_hardened { &args[ISOLATED.len()..] } else { args };
    match rest {
        [module, tool, rest @ ..] if module.is("-m") && tool.is("json.tool") => {
            options::judge(judge, &JSON_TOOL, rest, span);
            if !is_hardened {
                judge.insert_behind(span, &format!(" {}", ISOLATED.join(" ")));
            }
        }
        _ => judge.refuse(Executes, format!("{name} runs other programs"), span),
    }
}
