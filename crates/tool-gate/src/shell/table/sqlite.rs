//! `sqlite3`: its options, the commands that start with a dot, and statements that only query.
//!
//! `-readonly` alone does not prevent writes: for a database in write-ahead mode sqlite3 makes the `-wal` and `-shm`
//! files, and SQL has functions and statements that write elsewhere. So the hardened form opens the file as one that
//! nobody changes (`immutable=1`), read-only, in the program's safe mode, and without the user's start file. Opened so,
//! sqlite3 does not look at what a writer left beside the database, so the command runs only where nothing is there.

use crate::EffectKind::{self, Executes, NonTerminating, ReadsOutside, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::{listed, listed_in_any_case};
use crate::shell::options::{Operands, Spec};
use crate::shell::value::Arg;

pub(super) const SQLITE: Spec = Spec {
    long: "ascii bail batch box column csv echo header help html json line list markdown noheader nofollow quote readonly safe stats \
           table tabs version cmd= newline= nullvalue= separator=",
    refuses: &[
        ("init", Executes, "sqlite3 reads commands from a file"),
        ("A append deserialize zip", WritesWorkspace, "sqlite3 works on an archive"),
        ("nonce unsafe-testing vfs interactive", Executes, "sqlite3 leaves its safe mode"),
    ],
    abbreviates: false,
    ..Spec::new(&["sqlite3"], Operands::Custom)
};

/// Dot commands that only show something, or change how results are shown.
pub(super) const DOT_COMMANDS: &str = ".databases .dbinfo .dump .eqp .explain .fullschema .headers .header .help .indexes .indices .mode \
    .nullvalue .print .schema .separator .show .stats .tables .timer .version .width";
/// Pragmas that show something, without a value.
pub(super) const PRAGMAS: &str = "application_id collation_list compile_options database_list encoding foreign_key_check foreign_keys freelist_count \
    function_list integrity_check journal_mode module_list page_count page_size pragma_list quick_check schema_version table_list user_version";
/// Pragmas whose value is the table that they show.
pub(super) const PRAGMAS_OF: &str = "foreign_key_check foreign_key_list index_info index_list index_xinfo integrity_check quick_check table_info \
    table_xinfo";

/// What reaches beyond the database, even in quotes: to read, to write, or without an end.
const BEYOND: &[(EffectKind, &str, &str)] = &[
    (ReadsOutside, "reads other files", "fsdir readfile zipfile"),
    (WritesWorkspace, "writes files", "writefile attach vacuum"),
    (Executes, "runs a program or loads one", "edit load_extension fts3_tokenizer"),
    (NonTerminating, "counts without an end", "generate_series recursive"),
];

const SAFE: [&str; 4] = ["-readonly", "-safe", "-init", "/dev/null"];

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    // The command may already be in its hardened form.
    let is_hardened = SAFE.len() <= args.len() && SAFE.iter().zip(args).all(|(option, arg)| arg.is(option));
    let mut read_only = is_hardened;
    let mut rest = if is_hardened { args[SAFE.len()..].iter() } else { args.iter() };
    let mut operands: Vec<&Arg> = Vec::new();
    let mut commands: Vec<&Arg> = Vec::new();
    while let Some(arg) = rest.next() {
        let Some(text) = arg.text() else {
            return judge.unknown("an argument of sqlite3 that is not known before it runs", arg.span);
        };
        let Some(name) = text.strip_prefix('-') else {
            operands.push(arg);
            continue;
        };
        // One dash means the same as two, and an option may stand anywhere.
        let name = name.strip_prefix('-').unwrap_or(name);
        let mark = SQLITE.long.split_ascii_whitespace().find(|entry| entry.trim_end_matches('=') == name);
        match mark {
            Some(entry) if entry.ends_with('=') => match rest.next() {
                Some(value) if name == "cmd" => commands.push(value),
                Some(value) if !value.many => {}
                _ => return judge.unknown("an option without its value", arg.span),
            },
            Some(_) => read_only |= name == "readonly",
            None => {
                let refused = SQLITE.refuses.iter().find(|(names, ..)| listed(names, name));
                return match refused {
                    Some((_, kind, detail)) => judge.refuse(*kind, *detail, arg.span),
                    None => judge.unknown(format!("the option -{name} is not understood"), arg.span),
                };
            }
        }
    }
    let Some((database, statements)) =
        operands.split_first().filter(|(_, statements)| !statements.is_empty())
    else {
        return judge.unknown("sqlite3 reads its commands from its input", span);
    };
    for command in commands.into_iter().chain(statements.iter().copied()) {
        match command.text().map(check) {
            Some(Ok(())) => {}
            Some(Err((kind, detail))) => judge.refuse(kind, detail, command.span),
            None => judge.unknown("a statement that is not known before it runs", command.span),
        }
    }
    if !read_only && !statements.iter().any(|statement| statement.text().is_some_and(asks_of_database)) {
        // As it is written, it would do nothing but make the file where there is none.
        return judge.refuse(WritesWorkspace, "sqlite3 that asks nothing of its database", span);
    }
    judge.reads_input = false;
    open(judge, database, is_hardened);
    if !is_hardened {
        judge.insert_behind(span, &format!(" {}", SAFE.join(" ")));
    }
}

/// Reads the database: a file by its plain name, because the hardened form writes it as an address.
fn open(judge: &mut Judge<'_>, database: &Arg, is_hardened: bool) {
    let text = database.text().unwrap_or_default();
    if text == ":memory:" {
        return;
    }
    let immutable = text.strip_prefix("file:").and_then(|text| text.strip_suffix("?immutable=1"));
    let path = immutable.unwrap_or(text);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    if path.is_empty() || path.starts_with("//") || !path.bytes().all(plain) {
        return judge.unknown("a database whose name is not plain", database.span);
    }
    judge.read_file(&Arg { prefix: path.as_bytes().to_vec(), ..database.clone() });
    for beside in ["-wal", "-journal"] {
        judge.needs_absent(format!("{path}{beside}").as_bytes());
    }
    if immutable.is_some() {
        return;
    }
    if is_hardened || !judge.is_plain(database.span, text.as_bytes()) {
        return judge.unknown("a database whose name is quoted", database.span);
    }
    judge.replace(database.span.0, text.len(), &format!("'file:{path}?immutable=1'"));
}

type Refused = (EffectKind, String);

/// Checks that a text that sqlite3 is given only queries.
pub(super) fn check(text: &str) -> Result<(), Refused> {
    let unknown = |detail: &str| Err((EffectKind::Unknown, detail.to_owned()));
    if text.starts_with('.') {
        let name = text.split_ascii_whitespace().next().unwrap_or_default();
        if text.contains(['\n', '|']) || !listed(DOT_COMMANDS, name) {
            return Err((Executes, format!("the command {name} of sqlite3 is not one that only shows")));
        }
        // These show lines of a table, a schema or a setting; a further word is never a file.
        return Ok(());
    }
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    for word in text.split(|character| !is_name(character)).filter(|word| !word.is_empty()) {
        for (kind, does, names) in BEYOND {
            if listed_in_any_case(names, word) {
                return Err((*kind, format!("{word} in a statement of sqlite3 {does}")));
            }
        }
    }
    let Some(statements) = statements(text) else {
        return unknown("a statement of sqlite3 in which a quote or a comment is open");
    };
    for statement in statements {
        let mut words = statement.split(|character| !is_name(character)).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default().to_ascii_lowercase();
        match first.as_str() {
            "" if statement.trim().is_empty() => {}
            "select" | "values" | "explain" => {}
            // A recursive query may grow for ever, with or without the keyword for it.
            "with" if words.any(|word| word.eq_ignore_ascii_case("union")) => {
                return Err((NonTerminating, "a statement of sqlite3 that may rest on itself".to_owned()));
            }
            "with" => {
                let all = statement.split(|character| !is_name(character));
                let writes = "insert update delete replace";
                if all.into_iter().any(|word| listed_in_any_case(writes, word)) {
                    return Err((
                        WritesWorkspace,
                        "a statement of sqlite3 that changes the database".to_owned(),
                    ));
                }
            }
            "pragma" if asks(&statement) => {}
            "pragma" => return unknown("a pragma that sets something"),
            _ => {
                return Err((
                    WritesWorkspace,
                    format!("a statement of sqlite3 that is none of those that ask: {first}"),
                ));
            }
        }
    }
    Ok(())
}

/// Whether a text that only queries asks for something that is in the database.
fn asks_of_database(text: &str) -> bool {
    let mut words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let pragma = text.trim_start().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("pragma"));
    text.starts_with('.') || pragma || words.any(|word| word.eq_ignore_ascii_case("from"))
}

/// Whether a pragma only shows something.
fn asks(statement: &str) -> bool {
    let Some(rest) = statement.trim().get("pragma".len()..) else { return false };
    let bare: String = rest.chars().filter(|character| !character.is_whitespace()).collect();
    let name_end = bare
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '_' && character != '.');
    let (name, value) = bare.split_at(name_end.unwrap_or(bare.len()));
    let name = name.rsplit('.').next().unwrap_or_default();
    let of = value.starts_with('(') && value.ends_with(')') && !value.contains('=');
    (value.is_empty() && listed_in_any_case(PRAGMAS, name)) || (of && listed_in_any_case(PRAGMAS_OF, name))
}

/// The statements of a text without comments and without what is between quotes; `None` if a comment or a quote is
/// not closed.
fn statements(text: &str) -> Option<Vec<String>> {
    let mut statements = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let last = statements.last_mut()?;
        let close = match character {
            '\'' | '"' | '`' => character,
            '[' => ']',
            '-' if rest.peek() == Some(&'-') => '\n',
            '/' if rest.peek() == Some(&'*') => {
                rest.next();
                let mut before = ' ';
                loop {
                    let next = rest.next()?;
                    if before == '*' && next == '/' {
                        break;
                    }
                    before = next;
                }
                last.push(' ');
                continue;
            }
            ';' => {
                statements.push(String::new());
                continue;
            }
            '\0' => return None,
            _ => {
                last.push(character);
                continue;
            }
        };
        last.push(' ');
        let mut closed = false;
        for next in rest.by_ref() {
            closed = next == close;
            if closed {
                break;
            }
        }
        if !closed && close != '\n' {
            return None;
        }
        // A quoted name leaves a word in its place.
        last.push_str(if close == '\n' { " " } else { "x " });
    }
    Some(statements)
}
