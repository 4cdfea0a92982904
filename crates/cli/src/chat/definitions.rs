//! The definition in which an edit begins, for the header of its diff.

use headstart_code_index::{ContentFields, Symbol};
use headstart_machine::output::shortened;
use headstart_overlay_fs::{ChangeKind, ChangeSet, WorkspacePath};
use headstart_terminal::ChangedLine;

/// A larger file is not read for its definitions, because the chat waits for it. One of 100 KB takes 42 ms in a build
/// without optimisations.
const MAX_BYTES: usize = 128 << 10;
/// How many files of a change are read.
const MAX_FILES: usize = 8;
/// How many changed lines are looked up. A change of more lines begins somewhere else than in one definition.
const MAX_LINES: usize = 100;
/// The most characters of a definition that are shown.
const MAX_CHARS: usize = 40;

/// Finds definitions in the files of a change, as they were before it and as they are after it.
pub(super) struct DefinitionFinder<'a> {
    changes: &'a ChangeSet,
    /// How many more files are read.
    left: usize,
}

impl<'a> DefinitionFinder<'a> {
    pub(super) fn new(changes: &'a ChangeSet) -> Self {
        Self { changes, left: MAX_FILES }
    }

    /// The definition around the first of these lines that is in one, in words such as `fn add`.
    pub(super) fn find(&mut self, path: &str, lines: &[ChangedLine]) -> Option<String> {
        let change = self.changes.changes.iter().find(|change| change.path.as_str() == Some(path))?;
        self.left = self.left.checked_sub(1)?;
        let ChangeKind::Write { content, .. } = &change.kind else { return None };
        let old = change.base_content.as_deref().unwrap_or_default();
        let (mut before, mut after) = (None, None);
        lines.iter().take(MAX_LINES).find_map(|line| {
            let (number, side, bytes) = match *line {
                ChangedLine::Removed(number) => (number, &mut before, old),
                ChangedLine::Added(number) => (number, &mut after, &content[..]),
            };
            let file = side.get_or_insert_with(|| DefinedFile::read(&change.path, bytes));
            file.around(number)
        })
    }
}

/// A file and what it defines.
struct DefinedFile<'a> {
    text: &'a str,
    symbols: Vec<Symbol>,
}

impl<'a> DefinedFile<'a> {
    fn read(path: &WorkspacePath, bytes: &'a [u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_BYTES).unwrap_or_default();
        Self { text, symbols: ContentFields::of(path, text.as_bytes()).symbols }
    }

    /// The innermost definition around a line.
    fn around(&self, number: usize) -> Option<String> {
        let number = u32::try_from(number).ok()?;
        let around = self.symbols.iter().filter(|symbol| (symbol.first..=symbol.last).contains(&number));
        let symbol = around.min_by_key(|symbol| symbol.last - symbol.first)?;
        Some(shortened(&self.words(symbol)?, MAX_CHARS))
    }

    /// A definition as its file has it, from the word before its name up to its name: `fn add`, `class Parser`. What
    /// only names the type of its content, such as `impl Display for Parser`, is whole.
    fn words(&self, symbol: &Symbol) -> Option<String> {
        let lines = self.text.lines().skip(usize::try_from(symbol.first).ok()?.checked_sub(1)?);
        let length = usize::try_from(symbol.last - symbol.first).ok()? + 1;
        let (line, start) = lines.take(length).find_map(|line| Some((line, name_in(line, &symbol.name)?)))?;
        let name = &line[..start + symbol.name.len()];
        if !symbol.defines() {
            return Some(name.trim_start().to_owned());
        }
        let word = line[..start].strip_suffix(' ').map(|before| before.rsplit(char::is_whitespace).next());
        let word = word.flatten().filter(|word| !word.is_empty() && word.chars().all(char::is_alphanumeric));
        Some(word.map_or_else(|| symbol.name.clone(), |word| format!("{word} {}", symbol.name)))
    }
}

/// Where a line has this name as a whole word.
fn name_in(line: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).map(|(start, _)| start).find(|start| {
        let (before, behind) = (&line[..*start], &line[start + name.len()..]);
        !before.ends_with(is_part) && !behind.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use headstart_overlay_fs::Change;

    use super::*;

    fn change(path: &str, old: &str, new: &str) -> ChangeSet {
        let kind = ChangeKind::Write {
            content: new.as_bytes().to_vec().into(),
            executable: false,
            moved_from: None,
        };
        let path = WorkspacePath::parse(path).unwrap();
        let base_content = Some(old.as_bytes().to_vec().into());
        ChangeSet {
            changes: vec![Change { path, base: None, base_content, kind, mode: None }],
            reads: Vec::new(),
        }
    }

    #[test]
    fn a_line_is_in_the_innermost_definition_around_it() {
        let cases = [
            (
                "a.rs",
                "use b;\n\nimpl fmt::Display for Add {\n    pub(crate) fn add(&self) {\n        1\n    }\n}\n",
            ),
            ("a.py", "import b\n\nclass Add:\n    @wraps\n    async def add(self):\n        return 1\n"),
            ("a.go", "package a\n\n// It adds.\nfunc (a *Add) add() int {\n\treturn 1\n}\n"),
            ("a.ts", "import b\n\nexport class Add {\n  add(a) {\n    return 1\n  }\n}\n"),
            ("a.c", "int b;\n\nstatic int add(int a)\n{\n\n  return 1;\n}\n"),
            ("a.kt", "import b\n\nclass Add {\n    private fun add(a: Int) =\n        1\n}\n"),
            ("a.md", "# Add\n\ntext\n\n\n"),
        ];
        let expected: [[Option<&str>; 3]; 7] = [
            [None, Some("impl fmt::Display for Add"), Some("fn add")],
            [None, Some("class Add"), Some("def add")],
            [None, None, Some("add")],
            [None, Some("class Add"), Some("add")],
            [None, Some("int add"), Some("int add")],
            [None, Some("class Add"), Some("fun add")],
            [None, None, None],
        ];
        for ((path, text), expected) in cases.into_iter().zip(expected) {
            let changes = change(path, text, text);
            let mut found = DefinitionFinder::new(&changes);
            let lines = [1, 3, 5].map(ChangedLine::Added).map(|line| found.find(path, &[line]));
            assert_eq!(lines.each_ref().map(Option::as_deref), expected, "{path}");
        }
    }

    #[test]
    fn what_was_removed_is_looked_up_where_it_was_and_the_first_line_in_a_definition_counts() {
        let (old, new) = ("use a;\n\nfn gone() {\n    1\n}\n", "use b;\n");
        let changes = change("a.rs", old, new);
        let find = |lines: &[ChangedLine]| DefinitionFinder::new(&changes).find("a.rs", lines);
        let (removed, added) = (ChangedLine::Removed, ChangedLine::Added);
        assert_eq!(find(&[removed(1), added(1), removed(3), removed(4)]).as_deref(), Some("fn gone"));
        assert_eq!(find(&[added(1)]), None);
        // Lines that the file does not have, and files that the change does not have.
        assert_eq!(find(&[added(0), added(900), removed(usize::MAX)]), None);
        assert_eq!(DefinitionFinder::new(&changes).find("b.rs", &[removed(3)]), None);
    }

    #[test]
    fn a_large_file_is_not_read_and_of_many_files_only_the_first() {
        let large = format!("fn add() {{\n{}}}\n", "    1;\n".repeat(MAX_BYTES / 7 + 1));
        let changes = change("a.rs", "", &large);
        assert_eq!(DefinitionFinder::new(&changes).find("a.rs", &[ChangedLine::Added(2)]), None);
        let changes = change("a.rs", "", "fn add() {\n    1\n}\n");
        let mut finder = DefinitionFinder::new(&changes);
        let found = (0..=MAX_FILES).filter_map(|_| finder.find("a.rs", &[ChangedLine::Added(2)]));
        assert_eq!(found.count(), MAX_FILES);
    }
}
