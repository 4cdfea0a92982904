//! Finds out to which item or module a path of names leads.

use syn::UseTree;

use super::modules::{Module, Name};

/// The names of a path, in order.
pub(super) type Path = Vec<String>;

/// The number of imports through which a name is followed.
const MAX_IMPORTS: usize = 16;

/// One path of a `use`.
pub(super) struct UsePath {
    pub(super) path: Path,
    /// The name under which it is imported.
    pub(super) local_name: Option<String>,
    pub(super) is_glob: bool,
}

/// The paths of a `use`, one for each name.
pub(super) fn use_paths(tree: &UseTree) -> Vec<UsePath> {
    let mut found = Vec::new();
    add_use_paths(tree, &[], &mut found);
    found
}

fn add_use_paths(tree: &UseTree, before: &[String], found: &mut Vec<UsePath>) {
    let with = |name: &syn::Ident| {
        let mut path = before.to_vec();
        // `a::{self}` is `a`.
        if path.is_empty() || name != "self" {
            path.push(name.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(path) => add_use_paths(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) => {
            let path = with(&name.ident);
            let local_name = path.last().cloned();
            found.push(UsePath { path, local_name, is_glob: false });
        }
        UseTree::Rename(renamed) => {
            let local_name = Some(renamed.rename.to_string()).filter(|name| name != "_");
            found.push(UsePath { path: with(&renamed.ident), local_name, is_glob: false });
        }
        UseTree::Glob(_) => found.push(UsePath { path: before.to_vec(), local_name: None, is_glob: true }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_use_paths(tree, before, found)),
    }
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathTarget {
    Module(usize),
    /// The module that contains an item, and the item's name.
    Item(usize, String),
}

/// Resolves a `path` in the module `from`. `None` means that it leads out of the crate, or is a local name of a
/// function.
pub(super) fn resolve(modules: &[Module], from: usize, path: &[String]) -> Option<PathTarget> {
    resolve_limited(modules, from, path, MAX_IMPORTS)
}

fn resolve_limited(
    modules: &[Module],
    from: usize,
    path: &[String],
    depth_left: usize,
) -> Option<PathTarget> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => resolve_below(modules, 0, rest, depth_left),
        "self" => resolve_below(modules, from, rest, depth_left),
        "super" => resolve_below(modules, modules[from].parent?, rest, depth_left),
        _ => resolve_below(modules, from, path, depth_left),
    }
}

fn resolve_below(
    modules: &[Module],
    module: usize,
    path: &[String],
    depth_left: usize,
) -> Option<PathTarget> {
    let Some((name, rest)) = path.split_first() else { return Some(PathTarget::Module(module)) };
    if name == "super" {
        return resolve_below(modules, modules[module].parent?, rest, depth_left);
    }
    let mut targets = lookup(modules, module, name, depth_left);
    if rest.is_empty() {
        let item = targets.iter().position(|target| matches!(target, PathTarget::Item(..)));
        return item.map(|at| targets.swap_remove(at)).or_else(|| targets.pop());
    }
    let child = targets.iter().find_map(|target| match target {
        PathTarget::Module(child) => Some(*child),
        PathTarget::Item(..) => None,
    });
    match child {
        Some(child) => resolve_below(modules, child, rest, depth_left),
        // Names after an item belong to the item, such as a variant or a function.
        None => targets.pop(),
    }
}

/// Everything that `name` stands for in `module`.
fn lookup(modules: &[Module], module: usize, name: &str, depth_left: usize) -> Vec<PathTarget> {
    let Some(depth_left) = depth_left.checked_sub(1) else { return Vec::new() };
    let known = modules[module].names.get(name).into_iter().flatten();
    let mut targets: Vec<PathTarget> = known
        .filter_map(|known| match known {
            Name::Item => Some(PathTarget::Item(module, name.to_owned())),
            Name::Module(child) => Some(PathTarget::Module(*child)),
            // In this edition of Rust the first name of a path may be that of another crate.
            Name::Import(path) if path.first().is_some_and(|first| first == name) && path.len() == 1 => None,
            Name::Import(path) => resolve_limited(modules, module, path, depth_left),
        })
        .collect();
    if targets.is_empty() {
        let globs = modules[module].globs.iter();
        targets.extend(globs.filter_map(|path| resolve_limited(modules, module, path, depth_left)).flat_map(
            |target| match target {
                PathTarget::Module(other) if other != module => lookup(modules, other, name, depth_left),
                _ => Vec::new(),
            },
        ));
    }
    targets
}
