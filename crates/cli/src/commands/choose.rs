//! The first screen for a user who has chosen no model: what this machine offers, each with a number.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;

use headstart_machine::config::{self, parse_base_url};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::model_detection::{DetectedModels, ModelOffer};
use headstart_machine::model_spec::ModelSpec;
use headstart_machine::output::{self, PageLayout, one_line};

/// In a terminal with fewer columns the reason for a model is printed below it.
const WIDE: usize = 72;

/// The model that the user chose.
#[derive(Debug)]
pub(super) struct ModelSelection {
    pub(super) model: ModelSpec,
    pub(super) base_url: Option<String>,
}

/// Lets the person at the terminal choose a model; `None` if they choose none. Nothing is sent, and only their own
/// configuration file is written, after they agree.
///
/// `address` is the one that their configuration already has.
pub(super) fn choose(
    seen: &DetectedModels,
    address: Option<&str>,
    context: &Context,
) -> Result<Option<ModelSelection>, CliError> {
    let offers = offers(seen);
    let mut page = "headstart has no model yet. Choose one:\n".to_owned();
    let is_narrow = context.output.columns() < WIDE;
    let mut row = |number: usize, model: &str, why: &str| {
        // Writing to a string cannot fail.
        let _ = if is_narrow {
            writeln!(page, "  {number}  {model}\n     {why}")
        } else {
            writeln!(page, "  {number}  {model:<27}  {why}")
        };
    };
    for (place, ModelOffer { model, why, .. }) in offers.iter().enumerate() {
        row(place + 1, model, why);
    }
    let another = offers.len() + 1;
    row(another, "another", "provider:name, and an address");
    if offers.len() == 1 {
        page +=
            "No key is set and no model server answers here.\n`headstart doctor` says how to get a model.\n";
    }
    page += "Nothing is sent before a prompt.\n";
    print(&page, context)?;
    let chosen = loop {
        let Some(number) = ask(&format!("1-{another}, or Enter alone to leave: "))? else { return Ok(None) };
        match number.parse::<usize>() {
            Ok(number) if number == another => break of_words(context)?,
            Ok(number @ 1..) if number < another => {
                let ModelOffer { model, base_url, .. } = &offers[number - 1];
                break Some(ModelSelection { model: model.parse()?, base_url: base_url.clone() });
            }
            _ => print(&format!("{} is none of them.", one_line(&number)), context)?,
        }
    };
    if let Some(chosen) = &chosen {
        offer_to_keep(chosen, address, context)?;
    }
    Ok(chosen)
}

/// The choices that need only a number.
fn offers(seen: &DetectedModels) -> Vec<ModelOffer> {
    let recording = ModelOffer {
        model: "replay:demo".to_owned(),
        base_url: None,
        why: "a recording, in a sample project".to_owned(),
    };
    seen.offers().into_iter().chain([recording]).collect()
}

/// A model that the user types.
fn of_words(context: &Context) -> Result<Option<ModelSelection>, CliError> {
    let model = loop {
        let Some(words) = ask("Model, as ollama:NAME, anthropic:NAME, openai:NAME, gemini:NAME: ")? else {
            return Ok(None);
        };
        match words.parse::<ModelSpec>() {
            Ok(model) => break model,
            Err(error) => print(&error.to_string(), context)?,
        }
    };
    // Only some builds support the provider whose address is a region.
    let has_address = model.provider().is_some_and(|provider| provider.prefix() != "bedrock");
    let base_url = loop {
        if !has_address {
            break None;
        }
        let Some(address) = ask("Address, or Enter for the provider's own: ")? else { break None };
        match parse_base_url(&address) {
            Ok(address) => break Some(address),
            Err(error) => print(&error, context)?,
        }
    };
    Ok(Some(ModelSelection { model, base_url }))
}

/// Writes the choice into the user's own file, if they agree. A key is never written.
fn offer_to_keep(chosen: &ModelSelection, address: Option<&str>, context: &Context) -> Result<(), CliError> {
    let ModelSelection { model, base_url } = chosen;
    // A recording is not worth keeping, and an address that is already set would be used for the new model too.
    let is_kept = matches!(model, ModelSpec::Remote { .. }) && address.is_none();
    let Some(file) = config::user_file(&context.environment).filter(|_| is_kept) else { return Ok(()) };
    let question = PageLayout::of(context).fit(&format!("Keep it in {}? [y/N]", file.display()));
    let answer = ask(&format!("{} ", question.trim_end()))?;
    if !matches!(answer.as_deref(), Some("y" | "Y" | "yes")) {
        return Ok(());
    }
    let mut lines = format!("model = {}\n", quoted(&model.to_string()));
    if let Some(address) = base_url {
        let _ = writeln!(lines, "base_url = {}", quoted(address));
    }
    match keep(&file, &lines) {
        Ok(()) => print(&format!("{} has it now; delete the line to choose anew.", file.display()), context),
        // The chat is possible without that.
        Err(error) => print(&format!("not kept: {}: {error}", file.display()), context),
    }
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::String(text.to_owned())
}

/// Puts lines at the beginning of a file, so that they belong to none of its tables. The rest of the file stays
/// unchanged, and a link stays a link.
fn keep(file: &Path, lines: &str) -> io::Result<()> {
    let before = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = file.with_extension("toml.new");
    fs::write(&new, format!("{lines}{before}"))?;
    if let Ok(metadata) = fs::metadata(&file) {
        fs::set_permissions(&new, metadata.permissions())?;
    }
    fs::rename(&new, &file)
}

/// Prints a page whose lines are broken at blanks, since a terminal breaks them anywhere.
fn print(page: &str, context: &Context) -> Result<(), CliError> {
    output::print(&PageLayout::of(context).fit(page))
}

/// Reads a line from the person at the terminal; `None` if it is empty, if Esc was pressed, or at the end of the input.
fn ask(question: &str) -> Result<Option<String>, CliError> {
    output::print(question)?;
    io::stdout().flush().map_err(CliError::Output)?;
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line).map_err(CliError::Input)?;
    if length == 0 {
        output::print("\n")?;
    }
    let line = line.trim();
    Ok((!line.is_empty() && !line.starts_with('\u{1b}')).then(|| line.to_owned()))
}
