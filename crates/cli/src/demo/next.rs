use crate::context::Context;
use crate::seen::{self, Seen, Way};

/// What the user has already seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The demo, which plays without the user.
    Demo,
    /// The chat in which the user pressed the keys.
    Chat,
}

/// What the user can type next in this terminal.
pub(crate) async fn next_steps(after: After, context: &Context) -> String {
    let seen = Seen::look(&context.environment).await;
    let (columns, style) = (context.output.columns(), context.output.style());
    let wrapped = |text: &str| -> Vec<String> {
        textwrap::wrap(text, columns).into_iter().map(std::borrow::Cow::into_owned).collect()
    };
    let recording = match after {
        After::Demo => vec![Way::of_recording()],
        After::Chat => Vec::new(),
    };
    let lines = [
        vec![String::new(), style.bold("What to do next")],
        seen::rows(&recording, columns, style),
        wrapped(&format!("In a project of yours. {}", seen.head())),
        seen::rows(&seen.ways(), columns, style),
    ];
    lines.concat().join("\n") + "\n"
}
