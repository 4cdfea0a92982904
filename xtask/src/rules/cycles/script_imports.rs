//! Finds out which script takes which names from which other script.

use std::collections::BTreeMap;

use super::ImportGraph;
use crate::rules::text::File;

const ENDINGS: [&str; 3] = [".ts", ".mjs", ".js"];
/// The words that may come between `export` and a name.
const EXPORT_KEYWORDS: [&str; 13] = [
    "export",
    "declare",
    "default",
    "abstract",
    "async",
    "type",
    "interface",
    "class",
    "function",
    "const",
    "let",
    "enum",
    "namespace",
];
/// The number of files through which a name is followed.
const MAX_REEXPORTS: usize = 8;

/// The imports between the scripts of the repository, by relative paths. Re-exporting a name is no import, because a
/// name is taken from the file that defines it.
pub(super) fn import_graph(files: &[File]) -> ImportGraph {
    let texts: BTreeMap<&str, &str> = files
        .iter()
        .filter(|file| ENDINGS.iter().any(|ending| file.path.ends_with(ending)))
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    let scripts: BTreeMap<&str, Script<'_>> =
        texts.iter().map(|(path, text)| (*path, Script::read(path, text, &texts))).collect();
    let mut graph = ImportGraph::new();
    for (from, script) in &scripts {
        for ImportedNames { file, names } in &script.imports {
            for name in names {
                let to = defining_file(&scripts, file, name, MAX_REEXPORTS).unwrap_or(file);
                if to != *from {
                    let names = graph.entry(((*from).to_owned(), to.to_owned())).or_default();
                    names.insert((*name).to_owned());
                }
            }
        }
    }
    graph
}

struct Script<'a> {
    text: &'a str,
    imports: Vec<ImportedNames<'a>>,
    reexports: Vec<ImportedNames<'a>>,
}

/// The names in one import or export of another file; `*` means all names.
struct ImportedNames<'a> {
    file: String,
    names: Vec<&'a str>,
}

impl<'a> Script<'a> {
    fn read(path: &str, text: &'a str, texts: &BTreeMap<&str, &str>) -> Self {
        let mut script = Self { text, imports: Vec::new(), reexports: Vec::new() };
        for quote in ['"', '\''] {
            for (at, _) in text.match_indices(&format!("{quote}.")) {
                let (before, behind) = (&text[..at], &text[at + 1..]);
                let Some((named, _)) = behind.split_once(quote) else { continue };
                let Some(file) = file_of(path, named, texts) else { continue };
                let before = before.trim_end_matches('(').trim_end();
                if before.ends_with("import") {
                    script.imports.push(ImportedNames { file, names: vec!["*"] });
                    continue;
                }
                let Some(before) = before.strip_suffix("from") else { continue };
                let start = before.rfind("import").max(before.rfind("export")).unwrap_or(before.len());
                let (word, clause) = before[start..].split_at_checked("import".len()).unwrap_or_default();
                let imported = ImportedNames { file, names: names_in(clause) };
                if word == "export" { script.reexports.push(imported) } else { script.imports.push(imported) }
            }
        }
        script
    }

    fn defines(&self, name: &str) -> bool {
        let exports =
            self.text.lines().filter(|line| line.starts_with("export ") && !line.contains(" from "));
        exports.into_iter().any(|line| {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
            let mut words = words.filter(|word| !word.is_empty() && !EXPORT_KEYWORDS.contains(word));
            words.next() == Some(name)
        })
    }
}

/// The file that defines the name which `file` exports.
fn defining_file<'a>(
    scripts: &'a BTreeMap<&str, Script<'_>>,
    file: &'a str,
    name: &str,
    depth_left: usize,
) -> Option<&'a str> {
    let script = scripts.get(file)?;
    if script.defines(name) || name == "*" {
        return Some(file);
    }
    let depth_left = depth_left.checked_sub(1)?;
    let reexports = script
        .reexports
        .iter()
        .filter(|imported| imported.names.iter().any(|known| [name, "*"].contains(known)));
    reexports.into_iter().find_map(|imported| defining_file(scripts, &imported.file, name, depth_left))
}

/// The names between `import` and `from`.
fn names_in(clause: &str) -> Vec<&str> {
    let Some((_, listed)) = clause.split_once('{') else { return vec!["*"] };
    let names = listed.trim_end().trim_end_matches('}').split(',').map(|name| {
        let name = name.trim();
        let name = name.strip_prefix("type ").unwrap_or(name);
        name.split_once(" as ").map_or(name, |(name, _)| name)
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The path of the script that is called `named` in the file `from`.
fn file_of(from: &str, named: &str, texts: &BTreeMap<&str, &str>) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in named.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let stem = ENDINGS.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(&path);
    let candidates = [path.clone(), format!("{stem}.ts"), format!("{path}/index.ts")];
    candidates.into_iter().find(|candidate| texts.contains_key(candidate.as_str()))
}
