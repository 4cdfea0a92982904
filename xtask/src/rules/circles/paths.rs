//! Finds out to which item or module a path of names leads.

use syn::UseTree;

use super::modules::{Module, Name};

/// The names of a path, in order.
pub(super) type Path = Vec<String>;

/// The number of imports through which a name is followed.
const MOST_IMPORTS: usize = 16;

/// One path of a `use`.
pub(super) struct Leaf {
    pub(super) path: Path,
    /// The name under which it is imported.
    pub(super) bound: Option<String>,
    pub(super) is_glob: bool,
}

/// The paths of a `use`, one for each name.
pub(super) fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    add_leaves(tree, &[], &mut found);
    found
}

fn add_leaves(tree: &UseTree, before: &[String], found: &mut Vec<Leaf>) {
    let with = |name: &syn::Ident| {
        let mut path = before.to_vec();
        // `a::{self}` is `a`.
        if path.is_empty() || name != "self" {
            path.push(name.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(path) => add_leaves(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) => {
            let path = with(&name.ident);
            let bound = path.last().cloned();
            found.push(Leaf { path, bound, is_glob: false });
        }
        UseTree::Rename(renamed) => {
            let bound = Some(renamed.rename.to_string()).filter(|name| name != "_");
            found.push(Leaf { path: with(&renamed.ident), bound, is_glob: false });
        }
        UseTree::Glob(_) => found.push(Leaf { path: before.to_vec(), bound: None, is_glob: true }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_leaves(tree, before, found)),
    }
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Module(usize),
    /// The module that contains an item, and the item's name.
    Item(usize, String),
}

/// Resolves a `path` in the module `from`. `None` means that it leads out of the crate, or is a local name of a
/// function.
pub(super) fn resolve(modules: &[Module], from: usize, path: &[String]) -> Option<Place> {
    follow(modules, from, path, MOST_IMPORTS)
}

fn follow(modules: &[Module], from: usize, path: &[String], most: usize) -> Option<Place> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => below(modules, 0, rest, most),
        "self" => below(modules, from, rest, most),
        "super" => below(modules, modules[from].parent?, rest, most),
        _ => below(modules, from, path, most),
    }
}

fn below(modules: &[Module], module: usize, path: &[String], most: usize) -> Option<Place> {
    let Some((name, rest)) = path.split_first() else { return Some(Place::Module(module)) };
    if name == "super" {
        return below(modules, modules[module].parent?, rest, most);
    }
    let mut places = named(modules, module, name, most);
    if rest.is_empty() {
        let item = places.iter().position(|place| matches!(place, Place::Item(..)));
        return item.map(|at| places.swap_remove(at)).or_else(|| places.pop());
    }
    let child = places.iter().find_map(|place| match place {
        Place::Module(child) => Some(*child),
        Place::Item(..) => None,
    });
    match child {
        Some(child) => below(modules, child, rest, most),
        // Names after an item belong to the item, such as a variant or a function.
        None => places.pop(),
    }
}

/// Everything that `name` stands for in `module`.
fn named(modules: &[Module], module: usize, name: &str, most: usize) -> Vec<Place> {
    let Some(most) = most.checked_sub(1) else { return Vec::new() };
    let known = modules[module].names.get(name).into_iter().flatten();
    let mut places: Vec<Place> = known
        .filter_map(|known| match known {
            Name::Item => Some(Place::Item(module, name.to_owned())),
            Name::Module(child) => Some(Place::Module(*child)),
            // In this edition of Rust the first name of a path may be that of another crate.
            Name::Import(path) if path.first().is_some_and(|first| first == name) && path.len() == 1 => None,
            Name::Import(path) => follow(modules, module, path, most),
        })
        .collect();
    if places.is_empty() {
        let globs = modules[module].globs.iter();
        places.extend(globs.filter_map(|path| follow(modules, module, path, most)).flat_map(|place| {
            match place {
                Place::Module(other) if other != module => named(modules, other, name, most),
                _ => Vec::new(),
            }
        }));
    }
    places
}
