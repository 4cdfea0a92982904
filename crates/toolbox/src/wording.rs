use headstart_tool_gate::{Declaration, Words};
use serde_json::{Map, Value};

/// The most characters of an argument in a sentence.
const MAX_CHARS: usize = 80;

/// How the user is told of a tool and its calls. `{name}` stands for the argument of that name, `{one|other}` for the
/// first of several that is given.
///
/// ```
/// use headstart_toolbox::Wording;
/// use serde_json::json;
///
/// let wording = Wording::of("edit");
/// let args = json!({ "file_path": "src/lib.rs" });
/// assert_eq!(Wording::filled(&wording.would_like_to, args.as_object().unwrap()), "edit src/lib.rs");
/// assert_eq!(Wording::of("deploy").would_like_to, "use the deploy tool");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// The name of the tool: `Edit a file`.
    pub title: String,
    /// The words behind "wants to".
    pub would_like_to: String,
    /// The words behind "is".
    pub is_currently: String,
    /// The words for a call that is done.
    pub has_already: String,
}

impl Wording {
    /// The words for this project's tool of this name; for any other tool, its name.
    pub fn of(name: &str) -> Self {
        match Declaration::of_ours(name).and_then(Declaration::words) {
            Some(Words { title, verb, now, then, what }) => Self {
                title: title.to_owned(),
                would_like_to: format!("{verb} {what}"),
                is_currently: format!("{now} {what}"),
                has_already: format!("{then} {what}"),
            },
            None => Self::of_title(name),
        }
    }

    /// The words for a tool of which only a title is known.
    pub fn of_title(title: &str) -> Self {
        let title = escape_argument(title);
        Self {
            would_like_to: format!("use the {title} tool"),
            is_currently: format!("using the {title} tool"),
            has_already: format!("used the {title} tool"),
            title,
        }
    }

    /// Fills in the arguments: on one line, shortened if they are long, with control characters as escapes. For an
    /// argument that is not given (yet) it says `…`, or the last of the names between the bars if that is not an
    /// argument.
    pub fn filled(text: &str, args: &Map<String, Value>) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, (names, behind))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            filled.push_str(before);
            let value = names.split('|').find_map(|name| args.get(name).filter(|value| !value.is_null()));
            filled.push_str(&match (value, names.rsplit_once('|')) {
                (Some(Value::String(text)), _) => escape_argument(text),
                (Some(value), _) => escape_argument(&value.to_string()),
                (None, Some((_, last))) if !last.contains('_') && last.contains(['.', ' ']) => {
                    last.to_owned()
                }
                (None, _) => "…".to_owned(),
            });
            rest = behind;
        }
        filled + rest
    }
}

/// A text on one line that cannot be mistaken for another one.
fn escape_argument(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    let mut shown = String::new();
    for (place, c) in text.chars().enumerate() {
        if place == MAX_CHARS {
            shown.push('…');
            break;
        }
        if is_harmful(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_put_where_they_belong_and_drive_nothing() {
        let long = "x".repeat(200);
        let cases = [
            ("shell", json!({ "command": "cargo\n test" }), "run cargo test"),
            ("Bash", json!({ "cmd": "ls" }), "run ls"),
            ("shell", json!({}), "run …"),
            ("read_file", json!({ "path": "a\u{202e}b\u{1b}[2J" }), "read a\\u{202e}b\\u{1b}[2J"),
            ("ls", json!({}), "list ."),
            ("ls", json!({ "path": "src" }), "list src"),
            ("repo_map", json!({}), "look at the project"),
            ("edit", json!({ "file_path": 5 }), "edit 5"),
            ("mcp__git__log", json!({}), "use the mcp__git__log tool"),
            ("grep", json!({ "pattern": long }), &format!("search for {}…", "x".repeat(80))),
        ];
        for (tool, args, expected) in cases {
            let words = Wording::of(tool).would_like_to;
            assert_eq!(Wording::filled(&words, args.as_object().unwrap()), expected, "{tool}");
        }
        assert_eq!(Wording::filled("no {end", &Map::new()), "no {end");
    }
}
