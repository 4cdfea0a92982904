/// A language, as far as cutting files into chunks distinguishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Language {
    /// Bash and other shells.
    Bash,
    /// C.
    C,
    /// C#.
    CSharp,
    /// C++.
    Cpp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// Markdown and similar texts, which are cut at headings.
    Markdown,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// TypeScript and JavaScript.
    TypeScript,
    /// Code in another language, in which lines that look like a definition count as one.
    OtherCode,
    /// Configuration, data and plain text, without definitions.
    Text,
}

impl Language {
    /// Decides by the name of a file alone.
    pub fn of_name(name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "bash" | "sh" | "zsh" | "ksh" | "bats" => Self::Bash,
            "c" | "h" => Self::C,
            "cs" => Self::CSharp,
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "ipp" | "inl" | "cu" | "cuh" => Self::Cpp,
            "go" => Self::Go,
            "java" => Self::Java,
            "md" | "mdx" | "markdown" | "rst" | "adoc" | "org" => Self::Markdown,
            "php" | "phtml" => Self::Php,
            "py" | "pyi" | "pyx" => Self::Python,
            "rb" | "rake" | "gemspec" => Self::Ruby,
            "rs" => Self::Rust,
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" => Self::TypeScript,
            "kt" | "kts" | "swift" | "scala" | "sc" | "groovy" | "gradle" | "dart" | "lua" | "ex" | "exs"
            | "erl" | "hs" | "ml" | "mli" | "fs" | "fsx" | "vb" | "pl" | "pm" | "r" | "jl" | "zig"
            | "nim" | "v" | "d" | "clj" | "cljs" | "el" | "lisp" | "scm" | "m" | "mm" | "sql" | "proto"
            | "graphql" | "vue" | "svelte" | "astro" | "sol" | "tf" | "cr" | "ps1" | "psm1" => {
                Self::OtherCode
            }
            _ if matches!(name.as_str(), "rakefile" | "gemfile") => Self::Ruby,
            _ => Self::Text,
        }
    }

    /// A short name, for people and for the index on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::C => "c",
            Self::CSharp => "c#",
            Self::Cpp => "c++",
            Self::Go => "go",
            Self::Java => "java",
            Self::Markdown => "markdown",
            Self::Php => "php",
            Self::Python => "python",
            Self::Ruby => "ruby",
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::OtherCode => "code",
            Self::Text => "text",
        }
    }

    /// The grammar, if this build has one.
    #[cfg(feature = "grammars")]
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        Some(match self {
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TSX.into(),
            #[cfg(feature = "grammars-more")]
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            #[cfg(feature = "grammars-more")]
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            #[cfg(feature = "grammars-more")]
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            _ => return None,
        })
    }

    /// Whether lines that look like a definition count as one.
    pub(crate) const fn is_code(self) -> bool {
        !matches!(self, Self::Markdown | Self::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_language() {
        let cases = [
            ("main.rs", Language::Rust),
            ("App.TSX", Language::TypeScript),
            ("README.md", Language::Markdown),
            ("Rakefile", Language::Ruby),
            ("Makefile", Language::Text),
            ("a.b.go", Language::Go),
            (".go", Language::Go),
            ("rs", Language::Text),
            ("", Language::Text),
        ];
        for (name, language) in cases {
            assert_eq!(Language::of_name(name.as_bytes()), language, "{name}");
        }
        assert_eq!(Language::of_name(b"\xff\xfe.py"), Language::Python);
    }

    /// The version of each grammar must be one that the parser supports.
    #[cfg(feature = "grammars")]
    #[test]
    fn every_grammar_is_one_that_the_parser_reads() {
        use Language::{Bash, C, Go, Java, Php, Python, Rust, TypeScript};
        let mut parser = tree_sitter::Parser::new();
        for language in [Bash, C, Go, Java, Php, Python, Rust, TypeScript] {
            let grammar = language.grammar().unwrap();
            assert_eq!(parser.set_language(&grammar), Ok(()), "{}", language.name());
        }
    }
}
