use super::*;

fn files(texts: &[(&str, &str)]) -> Vec<File> {
    let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
    texts.iter().map(file).collect()
}

/// The imports of a crate in one line each. Files are given by their paths below `src`.
fn graph_of(texts: &[(&str, &str)]) -> Vec<String> {
    let below: Vec<_> = texts.iter().map(|(path, text)| (format!("a/src/{path}"), *text)).collect();
    let below: Vec<_> = below.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    lines(&rust_imports::import_graph(&files(&below), "a").unwrap())
}

fn lines(graph: &ImportGraph) -> Vec<String> {
    let line = |((from, to), names): (&(String, String), &BTreeSet<String>)| {
        let [from, to] = [from, to].map(|path| path.trim_start_matches("a/src/"));
        format!("{from} -> {to}: {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
    };
    graph.iter().map(line).collect()
}

/// A crate with files `a`, `b` and so on. Each imports from the next one, and the last one from the first.
fn ring(length: usize) -> Vec<(String, String)> {
    let names: Vec<_> = ["a", "b", "c", "d"].into_iter().take(length).collect();
    let next = names.iter().cycle().skip(1);
    let ring = names.iter().zip(next).map(|(name, next)| {
        (format!("x/src/{name}.rs"), format!("use super::{next}::T{next};\npub struct T{name}(T{next});\n"))
    });
    let root = names.iter().flat_map(|name| ["mod ", name, ";\n"]).collect();
    std::iter::once(("x/src/lib.rs".to_owned(), root)).chain(ring).collect()
}

#[test]
fn a_circle_of_three_files_is_none_too_many() {
    for (length, too_many) in [(2, 0), (3, 0), (4, 1)] {
        let ring = ring(length);
        let texts: Vec<_> = ring.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(
            violations(&rust_imports::import_graph(&files(&texts), "x").unwrap()).len(),
            too_many,
            "{length} files"
        );
    }
}

#[test]
fn a_circle_is_told_with_what_ties_it() {
    let ring = ring(4);
    let texts: Vec<_> = ring.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let violations = violations(&rust_imports::import_graph(&files(&texts), "x").unwrap());
    assert_eq!(
        violations[0].to_string(),
        "x/src/a.rs: and 3 more files import each other in a circle; what two of them need belongs into a file below both:
    x/src/a.rs -> x/src/b.rs: Tb
    x/src/b.rs -> x/src/c.rs: Tc
    x/src/c.rs -> x/src/d.rs: Td
    x/src/d.rs -> x/src/a.rs: Ta"
    );
}

#[test]
fn a_name_is_taken_from_the_file_that_defines_it() {
    let root = "mod a;\nmod b;\npub(crate) use a::Given;\npub use crate::a::inner::*;\n";
    let a = "pub(crate) mod inner;\npub(crate) struct Given;\npub(crate) use self::inner::Handed;\n";
    let cases = [
        ("use crate::Given;", "b.rs -> a.rs: Given"),
        ("use super::a::{self, Given as Other};", "b.rs -> a.rs: Given"),
        ("use crate::a;\nfn f(_: a::Given) {}", "b.rs -> a.rs: Given"),
        ("fn f() { let _ = super::a::Given; }", "b.rs -> a.rs: Given"),
        ("fn f() { use crate::a::Given; }", "b.rs -> a.rs: Given"),
        ("use crate::a::Handed;", "b.rs -> a/inner.rs: Handed"),
        ("use crate::Starred;", "b.rs -> a/inner.rs: Starred"),
        ("fn f() -> u8 { crate::a::inner::Handed::new().into() }", "b.rs -> a/inner.rs: Handed"),
        ("fn f() { println!(\"{}\", crate::a::inner::Handed::new()); }", "b.rs -> a/inner.rs: Handed"),
        ("#[serde(with = \"crate::a::inner\")]\nstruct T;", "b.rs -> a/inner.rs: inner"),
        ("mod own { use super::super::a::Given; }", "b.rs -> a.rs: Given"),
    ];
    for (b, arrow) in cases {
        let inner = "pub struct Handed;\npub struct Starred;\n";
        let texts = [("lib.rs", root), ("a.rs", a), ("a/inner.rs", inner), ("b.rs", b)];
        assert_eq!(graph_of(&texts), [arrow], "{b}");
    }
}

#[test]
fn what_is_declared_handed_on_tested_or_another_crates_is_not_taken() {
    let root = "mod a;\nmod b;\npub use a::Given;\n";
    let cases = [
        "#[cfg(test)]\nmod tests { use crate::a::Given; }",
        "#[cfg(all(test, unix))]\nfn f(_: crate::a::Given) {}",
        "pub(crate) use crate::a::Given;",
        "use ::a::Given;",
        "use serde::a::Given;",
        "fn f(x: X) { assert!(x.a); }",
        "// crate::a::Given\n",
    ];
    for b in cases {
        let texts = [("lib.rs", root), ("a.rs", "pub struct Given;\n"), ("b.rs", b)];
        assert_eq!(graph_of(&texts), Vec::<String>::new(), "{b}");
    }
}

/// A type whose phases are the files of its folder. Each takes the type from the folder's file, and the first also
/// takes something from the second.
#[test]
fn what_a_phase_takes_from_its_noun_makes_no_circle() {
    let phases = ["a", "b", "c", "d"];
    let noun = |more: &str| {
        phases.map(|phase| format!("mod {phase};\npub struct Of{phase}({phase}::State);\n")).concat() + more
    };
    let phase = |name: &str, more: &str| {
        (format!("x/src/noun/{name}.rs"), format!("use super::Of{name};\npub struct State;\n{more}"))
    };
    let too_large = |noun: String, more: &[(&str, &str)], others: &[(&str, &str)]| {
        let more = |name| more.iter().find(|(of, _)| *of == name).map_or("", |(_, more)| more);
        let mut texts = vec![("x/src/lib.rs".to_owned(), "mod noun;\nmod e;\nmod f;\nmod g;\n".to_owned())];
        texts.push(("x/src/noun.rs".to_owned(), noun));
        texts.extend(phases.map(|name| phase(name, more(name))));
        texts.extend(others.iter().map(|(name, text)| (format!("x/src/{name}.rs"), (*text).to_owned())));
        let texts: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let found = too_large(&rust_imports::import_graph(&files(&texts), "x").unwrap());
        found.iter().map(BTreeSet::len).collect::<Vec<_>>()
    };
    assert!(too_large(noun(""), &[("a", "use super::b::State as B;")], &[]).is_empty());
    // Four phases of the noun import each other in a ring.
    let ring = [
        ("a", "use super::b::State as Next;"),
        ("b", "use super::c::State as Next;"),
        ("c", "use super::d::State as Next;"),
        ("d", "use super::a::State as Next;"),
    ];
    assert_eq!(too_large(noun(""), &ring, &[]), [4]);
    // In a circle of several nouns, this noun counts once, however many phases it has.
    let through = [
        ("e", "use crate::noun::a::State;"),
        ("f", "use crate::e::E;"),
        ("g", "use crate::f::F;\npub struct G;"),
    ];
    let through = through.map(|(name, text)| {
        (
            name,
            format!("{text}\npub struct {};\n", name.to_uppercase())
                .replace("pub struct G;\npub struct G;", "pub struct G;"),
        )
    });
    let through: Vec<_> = through.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(too_large(noun("use crate::g::G;"), &[], &through), [8]);
    assert!(too_large(noun("use crate::f::F;"), &[], &through).is_empty());
}

#[test]
fn scripts_are_held_to_it_as_well() {
    let texts = [
        ("w/a.ts", "import { b, type B as Other } from \"./all.js\";\nexport const a = b;\n"),
        ("w/all.ts", "export * from './b.js';\nexport { a } from \"./a.js\";\n"),
        (
            "w/b.ts",
            "import type {\n  C,\n} from \"../w/sub/c\";\nexport interface B {}\nexport const b = 1;\n",
        ),
        (
            "w/sub/c.ts",
            "export type C = 1;\nconst d = await import(\"../d.mjs\");\nimport fs from \"node:fs\";\n",
        ),
        ("w/d.mjs", "import * as all from \"./all.js\";\nimport { a } from './all.js';\n"),
    ];
    let graph = script_imports::import_graph(&files(&texts));
    assert_eq!(
        lines(&graph),
        [
            "w/a.ts -> w/b.ts: B, b",
            "w/b.ts -> w/sub/c.ts: C",
            "w/d.mjs -> w/a.ts: a",
            "w/d.mjs -> w/all.ts: *",
            "w/sub/c.ts -> w/d.mjs: *"
        ]
    );
    assert!(violations(&graph)[0].to_string().starts_with("w/a.ts: and 3 more files"));
}
