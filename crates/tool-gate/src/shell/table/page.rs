//! Writes `docs/gate.md` from the table. A test fails if the page is not current.

use std::fmt::Write;

use super::{
    TABLES, archives, awk, builtins, bytes, compress, files, find, git, jq, openssl, refused, search, sed,
    sqlite, system, variables, versions, wrappers, xmllint, yq,
};
use crate::secrets::FORM_ENDINGS;
use crate::shell::options::{Operands, Spec};
use crate::{EffectKind, PROTECTED_FILES, SECRET_FILES};

const PAGE: &str = include_str!("../../../../../docs/gate.md");
const INTRODUCTION: &str = include_str!("page/introduction.md");
const SECRETS: &str = include_str!("page/secrets.md");
const PROTECTED: &str = include_str!("page/protected.md");
const LANGUAGES: &str = include_str!("page/languages.md");
const LIMITS: &str = include_str!("page/limits.md");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gate.md");

#[test]
#[expect(clippy::disallowed_methods, reason = "the variable says that the page is to be written")]
fn the_page_is_current() {
    let page = page();
    if std::env::var_os("HEADSTART_WRITE_DOCS").is_some() {
        std::fs::write(PATH, &page).expect("the page can be written");
        return;
    }
    assert!(
        page == PAGE,
        "docs/gate.md is not current: run `HEADSTART_WRITE_DOCS=1 cargo test -p headstart-tool-gate page`"
    );
}

/// The files that are closed even without a rule.
fn secrets() -> String {
    let mut section = SECRETS.to_owned();
    for files in SECRET_FILES {
        let names: Vec<_> = files.patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        let _ = writeln!(section, "- {}: {}", files.what, names.join(" "));
    }
    let endings: Vec<_> = FORM_ENDINGS.iter().map(|ending| format!("`{ending}`")).collect();
    let _ =
        writeln!(section, "\nA name that ends in {} is a form to fill in, and open.\n", endings.join(", "));
    section
}

/// The files whose writes ask in every mode but one.
fn protected() -> String {
    let mut section = PROTECTED.to_owned();
    for files in &PROTECTED_FILES {
        let names: Vec<_> = files.patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        let _ = writeln!(section, "- {}: {}", files.what, names.join(" "));
    }
    section.push('\n');
    section
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(&secrets());
    page.push_str(&protected());
    let single: Vec<&Spec> = [
        &archives::CPIO,
        &archives::TAR,
        &archives::UNZIP,
        &awk::AWK,
        &builtins::CD,
        &builtins::PWD,
        &builtins::TYPE,
        &bytes::XXD,
        &compress::BZIP2,
        &compress::GZIP,
        &compress::XZ,
        &compress::ZGREP,
        &compress::ZSTD,
        &files::BAT,
        &jq::JQ,
        &search::AG,
        &search::FD,
        &search::GREP,
        &search::RG,
        &sed::SED,
        &sqlite::SQLITE,
        &system::DATE,
        &system::SYSCTL,
        &variables::MAPFILE,
        &variables::READ,
        &wrappers::NICE,
        &wrappers::STDBUF,
        &wrappers::TEE,
        &wrappers::TIMEOUT,
        &wrappers::XARGS,
        &xmllint::XMLLINT,
        &yq::YQ,
    ]
    .into_iter()
    .chain(TABLES.into_iter().flatten())
    .collect();
    let mut sections: Vec<(String, String)> = single.iter().map(|spec| section("", spec, "")).collect();
    sections.sort();
    append(&mut page, "## Programs", &sections);
    let mut sections: Vec<(String, String)> =
        git::documented().map(|(spec, insert)| section("git ", spec, insert)).collect();
    sections.sort();
    append(&mut page, "## Git", &sections);
    page.push_str("## Versions only\n\nOf these only the question for the version is allowed:\n\n");
    for (names, options) in versions::VERSIONS {
        line(&mut page, &format!("{}: {}", code(names), code(options)));
    }
    line(&mut page, &format!("{}: `--help` `--version`", code(versions::HELPFUL)));
    page.push_str("\n## OpenSSL\n\n");
    for command in openssl::COMMANDS {
        let options = dashed_list(command.flags);
        let values = dashed_list(command.values);
        line(&mut page, &format!("{}: {options} {values} `-in FILE`", code(command.names)));
    }
    page.push_str("\n## Find\n\n");
    line(&mut page, &format!("Tests and actions: {}", code(find::PLAIN)));
    line(&mut page, &format!("With a value: {}", code(find::DATA)));
    line(&mut page, &format!("With a file: {} `-newerXY`", code(find::FILES)));
    line(&mut page, "`-exec` with a program that is itself allowed");
    page.push('\n');
    page.push_str(LANGUAGES);
    let _ = writeln!(page, "\nFunctions of awk: {}.\n", code(awk::FUNCTIONS));
    page.push_str("## Boundaries by name\n\nEverything that is not on this page is a boundary. Of these the gate can also say why:\n\n");
    for (kind, detail, names) in refused::REFUSED {
        line(&mut page, &format!("{} ({}): {}", code(names), kind_name(*kind), detail));
    }
    page.push('\n');
    page.push_str(LIMITS);
    page
}

fn append(page: &mut String, title: &str, sections: &[(String, String)]) {
    let _ = writeln!(page, "{title}\n");
    for (name, body) in sections {
        let _ = writeln!(page, "### {name}\n\n{body}");
    }
}

fn section(before: &str, spec: &Spec, insert: &str) -> (String, String) {
    let names: Vec<String> = spec.names.iter().map(|name| format!("`{before}{name}`")).collect();
    let mut body = String::new();
    let short =
        |letters: &str| letters.chars().map(|letter| format!("`-{letter}`")).collect::<Vec<_>>().join(" ");
    let dashed = |name: &str| if name.len() == 1 { format!("`-{name}`") } else { format!("`--{name}`") };
    let all_dashed = |list: &str| list.split_ascii_whitespace().map(dashed).collect::<Vec<_>>().join(" ");
    let mut long: Vec<&str> = spec.long.split_ascii_whitespace().collect();
    long.sort_unstable();
    long.dedup();
    let entries = [
        ("Options", short(spec.flags)),
        ("With a value", short(spec.values)),
        ("With an attached value", short(spec.attached)),
        ("Long", long.iter().map(|entry| long_entry(entry)).collect::<Vec<_>>().join(" ")),
        ("That name a file to read", all_dashed(spec.reads)),
    ];
    for (title, list) in entries.iter().filter(|(_, list)| !list.is_empty()) {
        line(&mut body, &format!("{title}: {list}"));
    }
    if spec.digits {
        line(&mut body, "A number as an option: `-5`");
    }
    for (names, _, why) in spec.refuses {
        line(&mut body, &format!("Boundary: {} ({why})", all_dashed(names)));
    }
    if !insert.is_empty() {
        line(&mut body, &format!("Runs with: `{}`", insert.trim()));
    }
    line(&mut body, &format!("Operands: {}", operands(spec.operands)));
    (names.join(", "), body)
}

fn long_entry(entry: &str) -> String {
    match entry.strip_suffix('=') {
        Some(name) => format!("`--{name}=VALUE`"),
        None => match entry.strip_suffix('?') {
            Some(name) => format!("`--{name}[=VALUE]`"),
            None => format!("`--{entry}`"),
        },
    }
}

fn operands(operands: Operands) -> String {
    match operands {
        Operands::None => "none".to_owned(),
        Operands::Data => "text".to_owned(),
        Operands::Files(usize::MAX) => "files, which are read".to_owned(),
        Operands::Files(most) => format!("files, which are read, at most {most}"),
        Operands::Trees => "files and folders, which are read whole".to_owned(),
        Operands::Names => "files and folders whose names are told".to_owned(),
        Operands::Custom => "as the program means them".to_owned(),
    }
}

fn kind_name(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::WritesWorkspace | EffectKind::WritesOutside => "writes",
        EffectKind::Network => "network",
        EffectKind::Executes => "executes",
        EffectKind::ReadsOutside => "reads outside",
        EffectKind::Environment => "environment",
        EffectKind::NonTerminating => "may not end",
        EffectKind::Unknown | EffectKind::ReadOnly => "unknown",
    }
}

fn code(list: &str) -> String {
    list.split_ascii_whitespace().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ")
}

fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "- {text}");
}

fn dashed_list(list: &str) -> String {
    list.split_ascii_whitespace().map(|word| format!("`-{word}`")).collect::<Vec<_>>().join(" ")
}
