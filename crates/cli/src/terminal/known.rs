//! What is known of the terminal by the variables that it sets. Nothing is asked of it: an answer could come late, into what is typed.

use std::fmt::Write as _;

/// What a terminal is known to take beyond text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Known {
    /// Whether tmux stands between: codes for the terminal are wrapped for it.
    is_in_tmux: bool,
    /// Whether it puts text of OSC 52 into the clipboard.
    pub(crate) takes_clipboard: bool,
}

impl Known {
    /// By the environment.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name| variable(name).is_some();
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        let term = variable("TERM").unwrap_or_default();
        let by_program = ["iTerm.app", "WezTerm", "ghostty", "vscode", "rio", "WarpTerminal", "contour"];
        let by_term = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio"];
        let by_variable =
            ["KITTY_WINDOW_ID", "WT_SESSION", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR"];
        let takes_clipboard = by_program.contains(&program.as_str())
            || by_term.iter().any(|known| term.starts_with(known))
            || by_variable.into_iter().any(is_set);
        Self { is_in_tmux: is_set("TMUX"), takes_clipboard }
    }

    /// The code that puts text into the clipboard; `encoded`: in base64.
    pub(crate) fn clipboard(self, encoded: &str) -> String {
        self.passed_on(&format!("\x1b]52;c;{encoded}\x07"))
    }

    /// A code as it reaches the terminal.
    fn passed_on(self, code: &str) -> String {
        if !self.is_in_tmux {
            return code.to_owned();
        }
        let mut passed = String::from("\x1bPtmux;");
        for sign in code.chars() {
            // tmux takes two for one.
            let twice = if sign == '\x1b' { "\x1b" } else { "" };
            let _ = write!(passed, "{twice}{sign}");
        }
        passed + "\x1b\\"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(variables: &[(&str, &str)]) -> Known {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Known::of(find)
    }

    #[test]
    fn a_clipboard_is_that_of_a_terminal_that_is_known() {
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], false),
            (&[("TERM", "xterm-kitty")], true),
            (&[("TERM", "foot-extra")], true),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], true),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], false),
            (&[("TERM", "tmux-256color"), ("TMUX", "/tmp/x"), ("TERM_PROGRAM", "tmux")], false),
            (&[("TERM", "tmux-256color"), ("TMUX", "/tmp/x"), ("WT_SESSION", "1")], true),
            (&[], false),
        ] {
            assert_eq!(known(variables).takes_clipboard, expected, "{variables:?}");
        }
    }

    #[test]
    fn tmux_passes_on_what_is_wrapped_for_it() {
        assert_eq!(known(&[]).clipboard("YQ=="), "\x1b]52;c;YQ==\x07");
        assert_eq!(known(&[("TMUX", "x")]).clipboard("YQ=="), "\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\");
    }
}
