//! A coding agent on standard input and output that works ahead of its user.
//!
//! ```sh
//! cargo run -p headstart-agent --example chat --all-features -- http://localhost:11434/v1 MODEL
//! ```
//!
//! The agent works in the current folder with any server that speaks OpenAI's Chat Completions; `API_KEY` holds the key
//! if the server needs one. An empty line accepts the suggestion, and `y` answers a question with yes.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own, and its output")]

use std::error::Error;
use std::io::{Write, stdin, stdout};

use futures::{FutureExt, StreamExt};
use headstart_agent::native::NativeOptions;
use headstart_agent::{Item, ItemChange, Phase, UserAnswer};
use headstart_budget::policy::Mode;
use headstart_providers::{ApiKey, HttpModel, Provider, Timeouts};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: chat BASE_URL MODEL".into());
    };
    let key = std::env::var("API_KEY").ok().map(ApiKey::new);
    let model = HttpModel::new(Provider::compatible("the server", url), key, Timeouts::default())?;
    // By default the user is asked before edits and commands. Reads run without a question, in turns and ahead of them.
    let options = NativeOptions::new(".", &name, model).background(Mode::Always).attended();
    let (agent, mut updates, driver, _rules) = options.begin()?.into_parts();

    let mut lines = lines_of_standard_input();
    let (mut suggested, mut asked) = (None, None);
    loop {
        tokio::select! {
            Some(update) = updates.next() => {
                update.items.iter().for_each(show);
                if update.view.suggestion != suggested {
                    suggested.clone_from(&update.view.suggestion);
                    if let Some(shown) = &suggested {
                        println!("[Enter] {}", shown.text);
                    }
                }
                if update.view.question != asked {
                    asked.clone_from(&update.view.question);
                    if let Some(question) = &asked {
                        println!("[y] {:?}", question.about);
                    }
                }
                stdout().flush()?;
            }
            line = lines.recv() => {
                let Some(line) = line else { break };
                let view = agent.view();
                // An answer that comes too late or does not fit is refused, which changes nothing.
                let _ = match (&view.question, &view.suggestion) {
                    (Some(question), _) => {
                        let answer = if line == "y" { UserAnswer::Yes } else { UserAnswer::No };
                        agent.answer(question.id, answer)
                    }
                    (None, Some(shown)) if line.is_empty() && view.phase == Phase::Idle => {
                        agent.take(&shown.text)
                    }
                    _ => agent.submit(&line).map(drop),
                };
            }
        }
    }
    // After the end of standard input, the last answer is still awaited and shown.
    agent.idle().await;
    while let Some(Some(update)) = updates.next().now_or_never() {
        update.items.iter().for_each(show);
    }
    agent.close().await;
    driver.await?;
    Ok(())
}

fn show(change: &ItemChange) {
    match change {
        ItemChange::Appended { text, .. } => print!("{text}"),
        ItemChange::Added { item, .. } => match &**item {
            Item::Answer { text } => print!("{text}"),
            Item::Call(call) => println!("* {}", call.call.name),
            Item::Applied(applied) => println!("{} files changed", applied.changes.len()),
            Item::End { ending } => println!("\n[{:?}]", ending.status()),
            _ => {}
        },
        _ => {}
    }
}

/// The lines of standard input, read on a thread of their own so that waiting for them blocks nothing else.
fn lines_of_standard_input() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        for line in stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
