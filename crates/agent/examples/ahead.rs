//! A minimal agent: it answers the prompts, and then the prompt that it suggests itself.
//!
//! ```sh
//! cargo run -p headstart-agent --example ahead --all-features -- http://localhost:11434/v1 MODEL "what is here?" "what is missing?"
//! ```
//!
//! The agent works in the current folder with any server that speaks OpenAI's Chat Completions, and only reads.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own, and its output")]

use headstart_agent::native::NativeAgent;
use headstart_providers::{ApiKey, HttpModel, Provider, Timeouts};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ahead BASE_URL MODEL PROMPT…".into());
    };
    let key = std::env::var("API_KEY").ok().map(ApiKey::new);
    let model = HttpModel::new(Provider::compatible("the server", url), key, Timeouts::default())?;
    let mut agent = NativeAgent::open(".", &name, model)?;
    for prompt in arguments {
        println!("> {prompt}\n{}", agent.say(&prompt).await?.text);
    }
    if let Some(suggested) = agent.suggestion().await {
        println!("> {suggested}\n{}", agent.take(&suggested).await?.text);
    }
    agent.close().await;
    Ok(())
}
