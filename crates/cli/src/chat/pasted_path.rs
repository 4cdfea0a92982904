//! Pasted paths. A terminal pastes the path of a file that is dropped on it; if the file is in the workspace, the path
//! becomes a mention.

use std::path::Path;

use crossterm::event::Event;
use headstart_agent::native::real_path;
use headstart_context::mention_of_path;
use headstart_overlay_fs::WorkspacePath;

use super::Chat;

/// The most bytes of a path. A longer text is not one.
const MAX_BYTES: usize = 4_096;

impl Chat {
    /// The event, with a mention in place of a pasted path of a file that may be mentioned.
    pub(super) fn with_mention(&self, event: Event) -> Event {
        // Behind a `!` or a `/` the path itself is needed.
        let is_prompt = !self.editor.text().starts_with(['!', '/']);
        let Event::Paste(text) = &event else { return event };
        let found = path_of(text).filter(|_| is_prompt).and_then(|path| self.mention_of(&path));
        found.map_or(event, Event::Paste)
    }

    fn mention_of(&self, path: &str) -> Option<String> {
        let real = real_path(Path::new(path)).ok().filter(|real| real.is_file())?;
        let workspace = real_path(Path::new(&self.parts.workspace)).ok()?;
        let relative = real.strip_prefix(workspace).ok()?.to_str()?;
        let is_closed = self.parts.gate_context().denies(&WorkspacePath::parse(relative).ok()?);
        mention_of_path(relative).filter(|_| !is_closed).map(|mention| format!("{mention} "))
    }
}

/// The absolute path in a text of one line, in the forms that terminals write: in quotes, with backslashes, or as a
/// URL.
fn path_of(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_BYTES || text.contains(char::is_control) {
        return None;
    }
    let quoted = ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let path = match (quoted, text.strip_prefix("file://")) {
        (Some(path), _) => path.to_owned(),
        (None, Some(path)) => decoded(path)?,
        // On Windows these separate names.
        (None, None) if cfg!(windows) => text.to_owned(),
        (None, None) => unescaped(text),
    };
    Path::new(&path).is_absolute().then_some(path)
}

/// The text without the backslashes that escape characters for a shell.
fn unescaped(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let next = if letter == '\\' { letters.next() } else { None };
        path.push(next.unwrap_or(letter));
    }
    path
}

/// The path in a URL, with bytes such as `%20` decoded.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut parts = path.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_terminals_write_it() {
        for (text, expected) in [
            ("/a/shot.png", Some("/a/shot.png")),
            (" /a/my\\ shot\\(1\\).png \n", Some("/a/my shot(1).png")),
            ("'/a/my shot.png'", Some("/a/my shot.png")),
            ("\"/a/my shot.png\"", Some("/a/my shot.png")),
            ("file:///a/my%20shot.png", Some("/a/my shot.png")),
            ("file:///a/%zz", None),
            ("file:///a/%2", None),
            ("file://host/a", None),
            ("shot.png", None),
            ("look at /a/shot.png", None),
            ("/a\n/b", None),
            ("", None),
        ] {
            assert_eq!(path_of(text).as_deref(), expected, "{text:?}");
        }
    }
}
