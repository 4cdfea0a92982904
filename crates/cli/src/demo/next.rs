use headstart_machine::context::Context;
use headstart_machine::model_detection::{self, DetectedModels, Hint};

/// What the user has already seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextCommand {
    /// The demo, which plays without the user.
    Demo,
    /// The chat in which the user pressed the keys.
    Chat,
}

/// What the user can type next in this terminal.
pub(crate) async fn next_steps(after: NextCommand, context: &Context) -> String {
    let seen = DetectedModels::detect(&context.environment).await;
    let (columns, style) = (context.output.columns(), context.output.style());
    let wrapped = |text: &str| -> Vec<String> {
        textwrap::wrap(text, columns).into_iter().map(std::borrow::Cow::into_owned).collect()
    };
    let recording = match after {
        NextCommand::Demo => vec![Hint::of_recording()],
        NextCommand::Chat => Vec::new(),
    };
    let lines = [
        vec![String::new(), style.bold("What to do next")],
        model_detection::rows(&recording, columns, style),
        wrapped(&format!("In a project of yours. {}", seen.head())),
        model_detection::rows(&seen.hints(), columns, style),
    ];
    lines.concat().join("\n") + "\n"
}
