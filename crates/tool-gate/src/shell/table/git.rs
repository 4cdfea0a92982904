use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::value::Arg;

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let _ = args;
    judge.unknown("not yet", span);
}
