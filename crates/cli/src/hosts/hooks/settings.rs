//! The entry of a hook in a product's settings. Everything else in the file stays unchanged, including comments and
//! blanks.

mod one_line;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use headstart_machine::environment::Environment;
use headstart_machine::error::CliError;
use headstart_machine::shell_words::shell_line;
use headstart_machine::system::{program_at, with_permissions};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{
    CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode, CstStringLit,
};

use super::contract::{Contract, EntryForm, SettingsFile};

/// Which settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsScope {
    User,
    Project,
}

/// Why a settings file is left unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    line: usize,
    message: String,
}

/// The path of the settings file.
pub(crate) fn file(
    settings: &SettingsFile,
    scope: SettingsScope,
    environment: &Environment,
) -> Result<PathBuf, CliError> {
    let absolute = |name| environment.get(name).map(Path::new).filter(|path| path.is_absolute());
    match scope {
        SettingsScope::Project => {
            let file = std::path::absolute(settings.project).map_err(CliError::io("find", Path::new(".")))?;
            check_is_inside(&file)?;
            Ok(file)
        }
        SettingsScope::User => {
            let below = Path::new(settings.user);
            if let Some(folder) = settings.user_variable.and_then(absolute) {
                return Ok(folder.join(below.components().skip(1).collect::<PathBuf>()));
            }
            let home = absolute("HOME").ok_or_else(|| CliError::Environment {
                variable: "HOME".to_owned(),
                message: "it names no folder, so there are no settings of a user; use --project".to_owned(),
            })?;
            Ok(home.join(below))
        }
    }
}

/// Refuses settings of a project that a link puts elsewhere: whoever writes the project could have any of the user's
/// files changed.
fn check_is_inside(file: &Path) -> Result<(), CliError> {
    let real = |path: &Path| path.canonicalize().map_err(CliError::io("find", path));
    let project = real(Path::new("."))?;
    let there = file.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(file);
    let leads = there.canonicalize();
    let is_file_or_none = there != file || leads.as_ref().is_ok_and(|path| path.is_file());
    if leads.is_ok_and(|path| path.starts_with(project)) && is_file_or_none {
        return Ok(());
    }
    let message = "is not a regular file of the project; take it away, and try again".to_owned();
    Err(CliError::ConfigurationFile { file: file.to_owned(), message })
}

/// The command that a product is to start. The user's own settings name this program by its path, so that no other
/// program can take its place; those of a project name it without one, because they are for several machines.
pub(crate) fn command(
    contract: &Contract,
    scope: SettingsScope,
    flags: &[&str],
    environment: &Environment,
) -> Result<String, CliError> {
    let own = || own_path(&std::env::current_exe().unwrap_or_default(), environment);
    let program = match scope {
        SettingsScope::Project => "headstart".to_owned(),
        // Quotes and slashes that both shells of Windows take.
        SettingsScope::User if cfg!(windows) => {
            let own = own()?.to_string_lossy().replace('\\', "/");
            let words = [&["hook", contract.name], flags].concat();
            return Ok(format!("\"{own}\" {}", words.join(" ")));
        }
        SettingsScope::User => own()?.to_string_lossy().into_owned(),
    };
    Ok(shell_line([program.as_str(), "hook", contract.name].into_iter().chain(flags.iter().copied())))
}

/// Whether an entry of headstart's in this text refuses what a deny rule covers. Nothing but taking it out ends that.
pub(crate) fn denies(contract: &Contract, text: &str) -> bool {
    let Ok(root) = parse(split_mark(text).1) else { return false };
    let Some(hooks) = root.object_value().and_then(|object| object.object_value("hooks")) else {
        return false;
    };
    let lists = contract.events.iter().filter_map(|(event, _)| hooks.array_value(event));
    lists.flat_map(|list| own_entries(contract, &list)).any(|own| {
        own.text.decoded_value().is_ok_and(|command| command.split_whitespace().any(|word| word == "--deny"))
    })
}

/// The settings file by which the product runs no hook at all, if there is one: `disableAllHooks`.
pub(crate) fn switched_off(settings: &SettingsFile, environment: &Environment) -> Option<PathBuf> {
    let of_scope = |scope| file(settings, scope, environment).ok();
    let project = of_scope(SettingsScope::Project);
    let local = project.as_ref().map(|file| file.with_extension("local.json"));
    let mut files = [of_scope(SettingsScope::User), project, local].into_iter().flatten();
    files.find(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let root = parse(split_mark(&text).1).ok().and_then(|root| root.object_value());
        let value = root.and_then(|object| object.get("disableAllHooks")?.value());
        value.and_then(|value| value.as_boolean_lit()).is_some_and(|value| value.value())
    })
}

/// A text's byte order mark, and the text behind it.
fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The path at which the search path finds this program, because that one stays the same when a newer version is
/// installed; otherwise the path of this executable.
fn own_path(own: &Path, environment: &Environment) -> Result<PathBuf, CliError> {
    let path = environment.get("PATH").unwrap_or_default();
    let real = own.canonicalize().unwrap_or_else(|_| own.to_owned());
    let mut found = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute() && !is_cleared(folder))
        .filter_map(|folder| program_at(&folder.join("headstart")));
    if is_cleared(own) {
        // An installed launcher starts the same program, and stays.
        return found.next().ok_or_else(|| {
            CliError::Unavailable(format!(
                "this headstart is at {}, which a package manager takes away again, and the hook with it; install headstart for good, \
                 so that PATH finds it, and try again",
                own.display()
            ))
        });
    }
    Ok(found
        .find(|file| file.canonicalize().is_ok_and(|found| found == real))
        .unwrap_or_else(|| own.to_owned()))
}

/// Whether a path lies in a folder that a package manager makes and clears.
fn is_cleared(path: &Path) -> bool {
    path.components().any(|part| matches!(part.as_os_str().to_str(), Some("_npx" | "node_modules")))
}

/// The text with an entry that starts `command`; `None` if it has that entry already. An entry that starts another
/// command of headstart's is changed, unless its user has added something of their own to the command.
pub(crate) fn with_entry(contract: &Contract, text: &str, command: &str) -> Result<Option<String>, Problem> {
    let (mark, text) = split_mark(text);
    let after = with_entry_in(contract, text, command)?;
    Ok(after.map(|after| format!("{mark}{after}")))
}

fn with_entry_in(contract: &Contract, text: &str, command: &str) -> Result<Option<String>, Problem> {
    let root = parse(text)?;
    let object = match root.value() {
        None => root.object_value_or_set(),
        Some(value) => value.as_object().ok_or_else(|| wrong_type("the file", "an object"))?,
    };
    check_names(&object)?;
    let hooks = object.object_value_or_create("hooks").ok_or_else(|| wrong_type("\"hooks\"", "an object"))?;
    check_names(&hooks)?;
    let event = contract.events[0].0;
    let list = hooks
        .array_value_or_create(event)
        .ok_or_else(|| wrong_type(&format!("\"hooks.{event}\""), "a list"))?;
    if let Some(own) = own_entries(contract, &list).first() {
        if own.text.decoded_value().is_ok_and(|text| text == command) {
            return Ok(None);
        }
        own.check_is_plain(text)?;
        let text = serde_json::to_string(command).expect("works because text is JSON");
        own.text.set_raw_value(text);
        return Ok(Some(root.to_string()));
    }
    if let Some(after) = one_line::with_entry(contract, text, command) {
        return Ok(Some(after));
    }
    if contract.settings.versioned && object.get("version").is_none() {
        object.insert(0, "version", number(1));
    }
    list.append(entry(contract, command));
    list.ensure_multiline();
    let after = root.to_string();
    // A file that ends without a newline goes on doing so.
    let ends = after.ends_with('\n') || !(text.trim().is_empty() || text.ends_with('\n'));
    Ok(Some(if ends { after } else { after + "\n" }))
}

/// The text without headstart's entries for this product, and without lists and objects that are empty then and have no
/// comment; `None` if there are no such entries.
pub(crate) fn without_entry(contract: &Contract, text: &str) -> Result<Option<String>, Problem> {
    let (mark, text) = split_mark(text);
    let after = without_entry_in(contract, text)?;
    Ok(after.map(|after| format!("{mark}{after}")))
}

fn without_entry_in(contract: &Contract, text: &str) -> Result<Option<String>, Problem> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(None) };
    check_names(&object)?;
    let Some(hooks) = object.object_value("hooks") else { return Ok(None) };
    check_names(&hooks)?;
    let mut found = false;
    for event in contract.events.iter().filter_map(|(event, _)| hooks.get(event)) {
        let Some(list) = event.array_value() else { continue };
        for own in own_entries(contract, &list) {
            own.check_is_plain(text)?;
            found = true;
            own.entry.remove();
            if let Some((group, _)) = own.group.filter(|(_, hooks)| is_empty(&hooks.children())) {
                group.remove();
            }
        }
        if found && is_empty(&list.children()) {
            event.remove();
        }
    }
    if !found {
        return Ok(None);
    }
    if is_empty(&hooks.children())
        && let Some(hooks) = object.get("hooks")
    {
        hooks.remove();
    }
    Ok(Some(root.to_string()))
}

/// Whether the text has no content of its user's, so that the file can be removed.
pub(crate) fn is_bare(text: &str) -> bool {
    let bare: String = text.chars().filter(|sign| !sign.is_whitespace()).collect();
    matches!(bare.as_str(), "" | "{}" | "{\"version\":1}")
}

/// An entry of headstart's.
struct OwnEntry {
    /// The command.
    text: CstStringLit,
    entry: CstObject,
    /// The group that contains the entry, and the list that contains the group.
    group: Option<(CstObject, CstArray)>,
}

impl OwnEntry {
    /// Refuses an entry to whose command its user has added something, such as a pipe.
    fn check_is_plain(&self, file: &str) -> Result<(), Problem> {
        let command = self.text.decoded_value().unwrap_or_default();
        if !command.contains(['|', '&', ';', '<', '>', '$', '`', '(', '#', '\n']) {
            return Ok(());
        }
        let before = file.find(&self.text.to_string()).map_or("", |place| &file[..place]);
        Err(Problem {
            line: before.lines().count().max(1),
            message: format!(
                "{command:?} is more than a call of headstart; change it, or take it out, by hand"
            ),
        })
    }
}

/// Whether a list or an object has nothing between its brackets but blanks.
fn is_empty(children: &[CstNode]) -> bool {
    !children.iter().any(|child| child.is_comment() || !(child.is_trivia() || child.is_token()))
}

fn own_entries(contract: &Contract, list: &CstArray) -> Vec<OwnEntry> {
    let mut found = Vec::new();
    for entry in list.elements().iter().filter_map(CstNode::as_object) {
        match contract.settings.form {
            EntryForm::Grouped => {
                let Some(hooks) = entry.array_value("hooks") else { continue };
                for inner in hooks.elements().iter().filter_map(CstNode::as_object) {
                    let group = Some((entry.clone(), hooks.clone()));
                    found.extend(own(contract, inner, "command", group));
                }
            }
            EntryForm::Plain => found.extend(own(contract, entry, "command", None)),
            EntryForm::Bash => found.extend(own(contract, entry, "bash", None)),
        }
    }
    found
}

fn own(
    contract: &Contract,
    entry: CstObject,
    field: &str,
    group: Option<(CstObject, CstArray)>,
) -> Option<OwnEntry> {
    let text = entry.get(field)?.value()?.as_string_lit()?;
    let command = text.decoded_value().ok()?;
    let (program, rest) = first_word(&command)?;
    let path = Path::new(&program);
    let name = if cfg!(windows) { path.file_stem() } else { path.file_name() };
    let is_ours = name.is_some_and(|name| name == "headstart");
    let mut rest = rest.split([' ', '\t', ';', '|', '&']).filter(|word| !word.is_empty());
    (is_ours && rest.next() == Some("hook") && rest.next() == Some(contract.name)).then_some(OwnEntry {
        text,
        entry,
        group,
    })
}

/// The first word of a command line that [`command`] wrote, and the rest of the line.
fn first_word(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start();
    if let Some((program, rest)) = line.strip_prefix('"').and_then(|line| line.split_once("\" ")) {
        return Some((program.to_owned(), rest));
    }
    if !line.starts_with('\'') {
        return line.split_once(char::is_whitespace).map(|(word, rest)| (word.to_owned(), rest));
    }
    let (quoted, rest) = line.split_at(line.find("' ")? + 1);
    Some((quoted[1..quoted.len() - 1].replace(r"'\''", "'"), rest))
}

fn entry(contract: &Contract, command: &str) -> CstInputValue {
    let settings = &contract.settings;
    let field = |name: &str, value: CstInputValue| (name.to_owned(), value);
    let matcher = settings.matcher.map(|matcher| field("matcher", matcher.into()));
    let limit = settings.time_limit.map(|(name, value)| field(name, number(value)));
    let kind = field("type", "command".into());
    match settings.form {
        EntryForm::Grouped => {
            let hook = [kind, field("command", command.into())].into_iter().chain(limit);
            let hooks = CstInputValue::Array(vec![CstInputValue::Object(hook.collect())]);
            CstInputValue::Object(matcher.into_iter().chain([field("hooks", hooks)]).collect())
        }
        EntryForm::Plain => {
            CstInputValue::Object([field("command", command.into())].into_iter().chain(limit).collect())
        }
        EntryForm::Bash => {
            let entry = [kind].into_iter().chain(matcher).chain([field("bash", command.into())]).chain(limit);
            CstInputValue::Object(entry.collect())
        }
    }
}

fn number(value: u32) -> CstInputValue {
    CstInputValue::Number(value.to_string())
}

/// How these products read their settings: most accept comments and trailing commas.
const fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn parse(text: &str) -> Result<CstRootNode, Problem> {
    CstRootNode::parse(text, &options()).map_err(|error| Problem {
        line: error.line_display(),
        message: format!("this is not JSON ({}); mend it, and try again", error.kind()),
    })
}

fn wrong_type(what: &str, wanted: &str) -> Problem {
    Problem { line: 1, message: format!("{what} is not {wanted}; make it one, and try again") }
}

/// Refuses an object with two fields of the same name, because the product uses only one of them, and the entry might
/// be in the other.
fn check_names(object: &CstObject) -> Result<(), Problem> {
    let names: Vec<_> = object.properties().iter().filter_map(CstObjectProp::decoded_name).collect();
    match names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
        None => Ok(()),
        Some((_, name)) => Err(Problem {
            line: 1,
            message: format!("{name:?} stands twice in one object; take one out, and try again"),
        }),
    }
}

impl Problem {
    pub(crate) fn of_file(self, file: &Path) -> CliError {
        let message = self.message + "; the file was left as it is";
        CliError::Configuration { file: file.to_owned(), line: self.line, message }
    }
}

/// The content of a file; empty if it does not exist.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    super::or_empty(fs::read_to_string(file), file)
}

/// Replaces the content of the file with `text`, completely or not at all, and keeps a link a link. Nothing is written
/// if the file no longer contains `before`, because somebody has changed it since it was read.
pub(crate) fn replace(file: &Path, before: &str, text: &str) -> Result<(), CliError> {
    let failed = |error| CliError::io("write", file)(error);
    let real = if file.is_symlink() { file.canonicalize().map_err(failed)? } else { file.to_owned() };
    let folder = real.parent().expect("works because a file is in a folder");
    fs::create_dir_all(folder).map_err(failed)?;
    let builder = with_permissions(tempfile::Builder::new(), 0o644);
    let mut temporary = builder.tempfile_in(folder).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    if let Ok(metadata) = fs::metadata(&real) {
        if metadata.permissions().readonly() {
            return Err(CliError::Unavailable(format!(
                "{} is protected against writing, and was left as it is; chmod u+w allows the change",
                file.display()
            )));
        }
        keep_owner(temporary.as_file(), &metadata).map_err(|error| {
            CliError::Unavailable(format!(
                "{} would no longer belong to its owner and group ({error}), and was left as it is",
                file.display()
            ))
        })?;
        temporary.as_file().set_permissions(metadata.permissions()).map_err(failed)?;
    }
    temporary.as_file().sync_all().map_err(failed)?;
    if read(&real)? != before {
        return Err(CliError::Unavailable(format!(
            "{} has changed just now and was left as it is; try again",
            file.display()
        )));
    }
    temporary.persist(&real).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Gives a new file the owner and the group of the one that it replaces.
fn keep_owner(new: &fs::File, replaced: &fs::Metadata) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = new.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            fchown(new, Some(replaced.uid()), Some(replaced.gid()))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (new, replaced);
    Ok(())
}

#[cfg(test)]
mod tests;
