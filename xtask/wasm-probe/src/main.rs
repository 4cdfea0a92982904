//! Links every pure crate into one WebAssembly module and calls each of them, so that a missing import or an
//! instruction that the target lacks shows up here and not in a browser.
//!
//! The exit code is 0, or the number of the first step (counted from 1) that gave a wrong answer.

use std::process::ExitCode;

use headstart_tool_gate::BuiltinTool;
use headstart_workspace_path::{PathError, WorkspacePath};
// Linked for the imports they might bring along.
use {
    headstart_followup_state as _, headstart_forked_query as _, headstart_overlay_fs as _,
    headstart_speculation as _, headstart_toolbox as _,
};

/// What a step shows, and the step itself: whether it gave the right answer.
type Step = (&'static str, fn() -> bool);

const STEPS: [Step; 2] = [
    ("a path cannot leave the workspace", path_stays_inside),
    ("the gate knows a tool by its alias", alias_is_known),
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

fn alias_is_known() -> bool {
    BuiltinTool::from_name("run_shell_command") == Some(BuiltinTool::Shell)
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
