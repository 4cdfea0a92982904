//! Links every pure crate into one WebAssembly module and calls each of them, so that a missing import or an
//! instruction that the target lacks shows up here and not in a browser.
//!
//! The exit code is 0, or the number of the first step (counted from 1) that gave a wrong answer.

mod providers;
mod speculate;
mod verdicts;

use std::process::ExitCode;

use headstart_followup_state::{Config, Event, FilterReason, FollowupController, RequestId, filter};
use headstart_tool_gate::{Decision, Gate, GateContext};
use headstart_workspace_path::{PathError, WorkspacePath};

/// What a step shows, and the step itself: whether it gave the right answer.
type Step = (&'static str, fn() -> bool);

const STEPS: [Step; 8] = [
    ("a path cannot leave the workspace", path_stays_inside),
    ("the filter keeps a prompt and refuses praise", filter_judges),
    ("the controller shows a suggestion after its delay", suggestion_is_shown),
    ("the gate tells a command that reads from one that writes", gate_judges),
    ("verdicts are those of the native build", verdicts::verdicts_are_those_of_the_native_build),
    ("the worst texts get a verdict", verdicts::the_worst_texts_get_a_verdict),
    ("every wire format is written and read", providers::formats_are_spoken),
    ("a recording is speculated and accepted", speculate::recording_is_accepted),
];

fn main() -> ExitCode {
    for (number, (_, step)) in (1..).zip(STEPS) {
        if !step() {
            return ExitCode::from(number);
        }
    }
    ExitCode::SUCCESS
}

fn path_stays_inside() -> bool {
    matches!(WorkspacePath::parse("src/../../secret"), Err(PathError::Outside { .. }))
        && WorkspacePath::parse("src/./lib.rs").is_ok_and(|path| path.as_bytes() == b"src/lib.rs")
}

fn filter_judges() -> bool {
    filter("run the tests").is_ok() && filter("looks good, thanks!") == Err(FilterReason::Evaluative)
}

fn suggestion_is_shown() -> bool {
    let mut controller = FollowupController::new(Config::default());
    let suggestion = filter("run the tests").ok();
    controller.handle(1_000, Event::suggested(RequestId(1), suggestion));
    let early = controller.visible().is_some();
    controller.handle(1_300, Event::Wake);
    !early && controller.visible().is_some_and(|shown| shown.as_str() == "run the tests")
}

/// Through the whole grammar: a pipeline, quotes, a heredoc.
fn gate_judges() -> bool {
    let context = GateContext { workspace: "/project".to_owned(), ..GateContext::default() };
    let gate = Gate::new();
    let decision = |command| gate.judge_command(command, &context).decision;
    decision("grep -rn 'TODO' src | head -20") == Decision::Allow
        && decision("cat <<EOF > notes.txt\n$(date)\nEOF") == Decision::Boundary
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_step_passes_natively_too() {
        for (name, step) in super::STEPS {
            assert!(step(), "{name}");
        }
    }
}
