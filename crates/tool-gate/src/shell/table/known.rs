//! What the gate knows of each program, in words for people.

use super::{
    TABLES, archives, awk, builtins, bytes, compress, files, find, git, jq, openssl, python, refused, search,
    sed, sqlite, system, variables, versions, wrappers, xmllint, yq,
};
use crate::shell::options::{Operands, Spec};

/// What becomes of a program's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramKind {
    /// A call that keeps to the options and operands that are known may run ahead, because it only reads.
    Reads,
    /// Only the question for its version or its help runs.
    VersionOnly,
    /// No call of it runs unasked as a command that reads. (In a view it may.)
    Boundary,
}

/// What the gate knows of a program, or of several that take the same options.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownProgram {
    /// Its names; a command of git has the form `git log`.
    pub names: Vec<String>,
    /// What becomes of its calls.
    pub kind: ProgramKind,
    /// What is understood of it, a sentence or a list of options each.
    pub notes: Vec<String>,
}

/// All programs that the gate knows, by their names. A name may be there more than once: of `rm` the question for its
/// version runs, and every other call is a boundary.
pub fn known_programs() -> Vec<KnownProgram> {
    let single = [
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
        &python::JSON_TOOL,
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
    ];
    let specs = single.into_iter().chain(TABLES.into_iter().flatten());
    let mut known: Vec<KnownProgram> = specs.map(|spec| of_spec("", spec, "")).collect();
    known.extend(git::documented().map(|(spec, insert)| of_spec("git ", spec, insert)));
    known.push(find());
    known.extend(openssl::COMMANDS.iter().map(|command| {
        let options = format!("Options: {}", words(&format!("{} {}", command.flags, command.values), dash));
        KnownProgram {
            names: command.names.split_ascii_whitespace().map(|name| format!("openssl {name}")).collect(),
            kind: ProgramKind::Reads,
            notes: vec![options, format!("A file: {}", words(command.reads, dash))],
        }
    }));
    known.push(of_names("echo printf test [ sleep time env", ProgramKind::Reads, "As the shell means them"));
    known.extend(
        versions::VERSIONS
            .iter()
            .map(|(names, options)| of_names(names, ProgramKind::VersionOnly, &format!("Only: {options}"))),
    );
    known.push(of_names(versions::HELPFUL, ProgramKind::VersionOnly, "Only: --help --version"));
    known.extend(refused::REFUSED.iter().map(|(_, why, names)| of_names(names, ProgramKind::Boundary, why)));
    known.sort();
    known
}

fn of_names(names: &str, kind: ProgramKind, note: &str) -> KnownProgram {
    let names = names.split_ascii_whitespace().map(str::to_owned).collect();
    KnownProgram { names, kind, notes: vec![note.to_owned()] }
}

fn find() -> KnownProgram {
    let notes = vec![
        format!("Tests and actions: {}", find::PLAIN),
        format!("With a value: {}", find::DATA),
        format!("With a file: {} -newerXY", find::FILES),
        "-exec with a program that is itself allowed".to_owned(),
    ];
    KnownProgram { names: vec!["find".to_owned()], kind: ProgramKind::Reads, notes }
}

fn of_spec(before: &str, spec: &Spec, insert: &str) -> KnownProgram {
    let short =
        |letters: &str| letters.chars().map(|letter| format!("-{letter}")).collect::<Vec<_>>().join(" ");
    let mut long: Vec<&str> = spec.long.split_ascii_whitespace().collect();
    long.sort_unstable();
    long.dedup();
    let lists = [
        ("Options", short(spec.flags)),
        ("With a value", short(spec.values)),
        ("With an attached value", short(spec.attached)),
        ("Long", long.into_iter().map(long_option).collect::<Vec<_>>().join(" ")),
        ("That name a file to read", words(spec.reads, dashes)),
    ];
    let filled = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let mut notes: Vec<String> = filled.map(|(title, list)| format!("{title}: {list}")).collect();
    if spec.digits {
        notes.push("A number as an option: -5".to_owned());
    }
    let refused = spec.refuses.iter();
    notes.extend(refused.map(|(names, _, why)| format!("Boundary: {} ({why})", words(names, dashes))));
    if !insert.is_empty() {
        notes.push(format!("Runs with: {}", insert.trim()));
    }
    notes.push(format!("Operands: {}", operands(spec.operands)));
    let names = spec.names.iter().map(|name| format!("{before}{name}")).collect();
    KnownProgram { names, kind: ProgramKind::Reads, notes }
}

/// Each word of a list as an option.
fn words(list: &str, option: fn(&str) -> String) -> String {
    list.split_ascii_whitespace().map(option).collect::<Vec<_>>().join(" ")
}

fn dash(name: &str) -> String {
    format!("-{name}")
}

fn dashes(name: &str) -> String {
    if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

fn long_option(entry: &str) -> String {
    if let Some(name) = entry.strip_suffix('=') {
        return format!("--{name}=VALUE");
    }
    match entry.strip_suffix('?') {
        Some(name) => format!("--{name}[=VALUE]"),
        None => format!("--{entry}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(name: &str) -> Vec<(ProgramKind, String)> {
        let known = known_programs().into_iter();
        let of_name = known.filter(|program| program.names.iter().any(|known| known == name));
        of_name.map(|program| (program.kind, program.notes.join("; "))).collect()
    }

    #[test]
    fn what_is_known_of_a_program_is_told_by_its_name() {
        let [(ProgramKind::Reads, head)] = &notes("head")[..] else { panic!("{:?}", notes("head")) };
        assert!(head.contains("Options: ") && head.contains("--lines=VALUE"), "{head}");
        let [(ProgramKind::Reads, log)] = &notes("git log")[..] else { panic!("{:?}", notes("git log")) };
        assert!(log.contains("--oneline") && log.contains("Runs with: "), "{log}");
        let rm = notes("rm");
        assert_eq!(
            rm.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [ProgramKind::VersionOnly, ProgramKind::Boundary]
        );
        assert_eq!(notes("no-such-program"), []);
    }
}
