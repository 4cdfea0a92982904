//! What the gate knows, for people.

use std::fmt::Write;

use headstart_tool_gate::{KnownProgram, PROTECTED_FILES, ProgramKind, SECRET_FILES, known_programs};

/// A line for each program, and one for each kind of file.
pub(super) fn list() -> String {
    let mut list = String::new();
    for KnownProgram { names, kind, notes } in known_programs() {
        let what = match kind {
            ProgramKind::Reads => "reads".to_owned(),
            ProgramKind::VersionOnly => "its version only".to_owned(),
            ProgramKind::Boundary => format!("boundary: {}", notes.join("; ")),
        };
        for name in names {
            let _ = writeln!(list, "{name}: {what}");
        }
    }
    let secrets = SECRET_FILES.iter().map(|files| ("closed file", files.what, files.patterns));
    let protected = PROTECTED_FILES.iter().map(|files| ("asked about", files.what, files.patterns));
    for (what, why, patterns) in secrets.chain(protected) {
        for pattern in patterns {
            let _ = writeln!(list, "{pattern}: {what} ({why})");
        }
    }
    list
}

/// All that is known of a program; of git without a command, its commands.
pub(super) fn explain(program: &str) -> String {
    let named = |known: &KnownProgram| known.names.iter().any(|name| name == program);
    let known: Vec<KnownProgram> = known_programs().into_iter().filter(named).collect();
    if known.is_empty() {
        return unknown(program);
    }
    let mut text = String::new();
    for KnownProgram { names, kind, notes } in known {
        let what = match kind {
            ProgramKind::Reads => "runs ahead with these options; any other is a boundary",
            ProgramKind::VersionOnly => "runs ahead only to tell its version",
            ProgramKind::Boundary => "is a boundary where commands run without a view",
        };
        let _ = writeln!(text, "{}: {what}", names.join(", "));
        for note in notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    text
}

fn unknown(program: &str) -> String {
    let begins = format!("{program} ");
    let all = known_programs();
    let commands: Vec<&str> = all
        .iter()
        .filter(|known| known.kind == ProgramKind::Reads)
        .flat_map(|known| &known.names)
        .filter_map(|name| name.strip_prefix(&begins))
        .collect();
    match commands.first() {
        None => format!(
            "{program}: not known, so each call of it is a boundary where commands run without a view\n"
        ),
        Some(first) => {
            let commands = commands.join(", ");
            format!("{program}: {commands}\n  `headstart gate --explain '{program} {first}'` says more\n")
        }
    }
}
