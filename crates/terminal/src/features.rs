//! What is known about the terminal from the variables that it sets. The terminal itself is not asked, because an
//! answer could come late and mix with what is typed.

use std::fmt::Write as _;

/// What a terminal is known to support besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is of another thing that it takes")]
pub struct TerminalFeatures {
    /// Whether the chat runs in tmux. Codes for the terminal behind it have to be wrapped.
    is_in_tmux: bool,
    /// Whether OSC 8 makes text a link.
    pub takes_links: bool,
    /// Whether OSC 52 puts text into the clipboard.
    pub takes_clipboard: bool,
    /// Whether the terminal can distinguish keys that have the same bytes in others, by kitty's protocol.
    pub tells_keys: bool,
    /// Whether the terminal has a title. All but the simplest have one.
    has_title: bool,
    /// Whether OSC 9;4 shows progress. Other terminals show it as a message.
    takes_progress: bool,
    notification_code: Option<NotificationCode>,
}

/// The code with which a terminal shows a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotificationCode {
    Osc9,
    Osc777,
}

impl TerminalFeatures {
    /// Finds out from the environment.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
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
        let program = program.as_str();
        let shows_progress = ["ghostty", "vscode"].contains(&program)
            || ["WT_SESSION", "ConEmuPID", "GHOSTTY_RESOURCES_DIR"].into_iter().any(is_set);
        let notification_code = match () {
            () if program == "ghostty" || is_set("GHOSTTY_RESOURCES_DIR") => Some(NotificationCode::Osc777),
            () if ["foot", "rxvt", "contour"].iter().any(|known| term.starts_with(known)) => {
                Some(NotificationCode::Osc777)
            }
            () if ["iTerm.app", "WezTerm"].contains(&program) => Some(NotificationCode::Osc9),
            () if term.starts_with("xterm-kitty") || is_set("KITTY_WINDOW_ID") => {
                Some(NotificationCode::Osc9)
            }
            () => None,
        };
        Self {
            is_in_tmux: is_set("TMUX"),
            takes_links: takes_links(takes_clipboard, &variable),
            takes_clipboard,
            // A multiplexer in between would have to pass the keys on. The other listed terminals support the code or
            // ignore it.
            // The console of Windows tells keys apart anyway.
            tells_keys: cfg!(unix) && takes_clipboard && !is_set("TMUX") && !is_set("STY"),
            has_title: !matches!(term.as_str(), "" | "dumb" | "linux"),
            takes_progress: shows_progress && !is_set("TMUX"),
            notification_code,
        }
    }

    /// Whether it has a title that can be set.
    pub fn has_title(self) -> bool {
        self.has_title
    }

    /// The code that sets the title; empty if there is none. The text must already be sanitized.
    pub fn title(self, text: &str) -> String {
        if self.has_title { format!("\x1b]2;{text}\x07") } else { String::new() }
    }

    /// The code for progress: 0 for none, 3 for something that runs, 4 for something that waits.
    pub fn progress(self, state: u8) -> &'static str {
        match state {
            _ if !self.takes_progress => "",
            3 => "\x1b]9;4;3\x07",
            4 => "\x1b]9;4;4\x07",
            _ => "\x1b]9;4;0\x07",
        }
    }

    /// The codes for a notification: the bell, and a message if the terminal is known to show one. The text must
    /// already be sanitized.
    pub fn notification(self, text: &str) -> String {
        let message = match self.notification_code {
            Some(NotificationCode::Osc9) => format!("\x1b]9;{text}\x07"),
            // A semicolon would begin another field.
            Some(NotificationCode::Osc777) => {
                format!("\x1b]777;notify;headstart;{}\x07", text.replace(';', ","))
            }
            None => return "\x07".to_owned(),
        };
        format!("\x07{}", self.wrapped_for_tmux(&message))
    }

    /// The code that puts text into the clipboard. `encoded` is the text in base64.
    pub fn clipboard(self, encoded: &str) -> String {
        self.wrapped_for_tmux(&format!("\x1b]52;c;{encoded}\x07"))
    }

    /// The code in the form in which it reaches the terminal.
    fn wrapped_for_tmux(self, code: &str) -> String {
        if !self.is_in_tmux {
            return code.to_owned();
        }
        let mut passed = String::from("\x1bPtmux;");
        for sign in code.chars() {
            // In a wrapped code, tmux expects every escape character twice.
            let twice = if sign == '\x1b' { "\x1b" } else { "" };
            let _ = write!(passed, "{twice}{sign}");
        }
        passed + "\x1b\\"
    }
}

/// Whether links work. Terminals that support the clipboard support links, and so do those of VTE. GNU screen does not
/// pass links on, and tmux does since 3.4.
fn takes_links(takes_clipboard: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let version = |text: &str| {
        let mut parts = text.split('.').map(|part| {
            part.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>().unwrap_or(0)
        });
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    };
    let is_vte =
        variable("VTE_VERSION").and_then(|text| text.parse().ok()).is_some_and(|of: u32| 5_202 <= of);
    let passes = if variable("TMUX").is_some() {
        let of_tmux = variable("TERM_PROGRAM").is_some_and(|program| program == "tmux");
        let its_version = variable("TERM_PROGRAM_VERSION").filter(|_| of_tmux);
        its_version.is_some_and(|text| (3, 4) <= version(&text))
    } else {
        variable("STY").is_none() && !variable("TERM").is_some_and(|term| term.starts_with("screen"))
    };
    passes && (takes_clipboard || is_vte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(variables: &[(&str, &str)]) -> TerminalFeatures {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        TerminalFeatures::of(find)
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
    fn links_are_those_of_a_terminal_that_is_known_with_nothing_between_that_drops_them() {
        let tmux = |version| {
            [("TERM", "tmux-256color"), ("TMUX", "x"), ("WT_SESSION", "1"), ("TERM_PROGRAM", "tmux")]
                .into_iter()
                .chain([("TERM_PROGRAM_VERSION", version)])
                .collect::<Vec<_>>()
        };
        for (variables, expected) in [
            (vec![("TERM", "xterm-256color")], false),
            (vec![("TERM", "xterm-kitty")], true),
            (vec![("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")], true),
            (vec![("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], false),
            (vec![("TERM", "xterm-256color"), ("VTE_VERSION", "7600")], true),
            (vec![("TERM", "xterm-256color"), ("VTE_VERSION", "4601")], false),
            (vec![("TERM", "screen-256color"), ("STY", "x"), ("WT_SESSION", "1")], false),
            (vec![("TERM", "tmux-256color"), ("TMUX", "x"), ("WT_SESSION", "1")], false),
            (tmux("3.3a"), false),
            (tmux("3.4"), true),
            (tmux("3.5a"), true),
            (tmux("next"), false),
        ] {
            assert_eq!(known(&variables).takes_links, expected, "{variables:?}");
        }
    }

    #[test]
    fn keys_are_told_apart_by_a_terminal_that_is_known_and_not_through_another_one() {
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], false),
            (&[("TERM", "linux")], false),
            (&[("TERM", "xterm-kitty")], true),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "ghostty")], true),
            (&[("TERM", "tmux-256color"), ("TMUX", "x"), ("KITTY_WINDOW_ID", "1")], false),
            (&[("TERM", "screen"), ("STY", "x"), ("KITTY_WINDOW_ID", "1")], false),
        ] {
            assert_eq!(known(variables).tells_keys, expected, "{variables:?}");
        }
    }

    #[test]
    fn tmux_passes_on_what_is_wrapped_for_it() {
        assert_eq!(known(&[]).clipboard("YQ=="), "\x1b]52;c;YQ==\x07");
        assert_eq!(known(&[("TMUX", "x")]).clipboard("YQ=="), "\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\");
    }
}
