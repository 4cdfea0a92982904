//! The modules of a crate, and what each of their names stands for.

use std::collections::BTreeMap;

use syn::{Attribute, Expr, ExprLit, Item, ItemMod, ItemUse, Lit, Meta};

use super::paths::{Path, use_paths};
use crate::rules::violations::RuleError;

/// A module and its names. A file is one module, and other modules may be written inside it.
pub(super) struct Module {
    /// The path of its file, relative to the repository.
    pub(super) file: String,
    pub(super) parent: Option<usize>,
    pub(super) names: BTreeMap<String, Vec<Name>>,
    /// The paths of `use path::*`.
    pub(super) globs: Vec<Path>,
    /// The items of the module.
    pub(super) items: Vec<Item>,
}

/// What a name stands for in a module. A module and a function may have the same name.
#[derive(Debug, Clone)]
pub(super) enum Name {
    Item,
    Module(usize),
    Import(Path),
}

/// The modules below the root file of a crate, beginning with the root.
pub(super) fn read(root: &str, texts: &BTreeMap<&str, &str>) -> Result<Vec<Module>, RuleError> {
    let mut reader = ModuleReader { texts, modules: Vec::new() };
    let folder = folder_of(root);
    reader.read_file(root, folder, None)?;
    Ok(reader.modules)
}

struct ModuleReader<'a> {
    texts: &'a BTreeMap<&'a str, &'a str>,
    modules: Vec<Module>,
}

impl ModuleReader<'_> {
    /// Reads `file`. The files of its modules are in `folder`.
    fn read_file(&mut self, file: &str, folder: &str, parent: Option<usize>) -> Result<usize, RuleError> {
        let text = self.texts.get(file).copied().unwrap_or_default();
        let parsed =
            syn::parse_file(text).map_err(|source| RuleError::Parse { path: file.to_owned(), source })?;
        self.read_module(file, folder, parent, parsed.items)
    }

    fn read_module(
        &mut self,
        file: &str,
        folder: &str,
        parent: Option<usize>,
        items: Vec<Item>,
    ) -> Result<usize, RuleError> {
        let own = self.modules.len();
        let module = Module {
            file: file.to_owned(),
            parent,
            names: BTreeMap::new(),
            globs: Vec::new(),
            items: Vec::new(),
        };
        self.modules.push(module);
        let mut rest_items = Vec::new();
        for mut item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            match &mut item {
                Item::Mod(child) => self.read_child(file, folder, own, child)?,
                Item::Use(imported) => {
                    self.add_import(own, imported);
                    rest_items.push(item);
                }
                _ => {
                    if let Some(name) = name_of(&item) {
                        self.add_name(own, name, Name::Item);
                    }
                    rest_items.push(item);
                }
            }
        }
        self.modules[own].items = rest_items;
        Ok(own)
    }

    fn read_child(
        &mut self,
        file: &str,
        folder: &str,
        own: usize,
        child: &mut ItemMod,
    ) -> Result<(), RuleError> {
        let name = child.ident.to_string();
        let below = format!("{folder}/{name}");
        let read = if let Some((_, items)) = &mut child.content {
            let items = std::mem::take(items);
            Some(self.read_module(file, &below, Some(own), items)?)
        } else if let Some(named) = path_of(&child.attrs) {
            let path = format!("{}/{named}", folder_of(file));
            let below = folder_of(&path).to_owned();
            self.texts
                .contains_key(path.as_str())
                .then(|| self.read_file(&path, &below, Some(own)))
                .transpose()?
        } else {
            let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
            let candidate = candidates.iter().find(|candidate| self.texts.contains_key(candidate.as_str()));
            candidate.map(|candidate| self.read_file(candidate, &below, Some(own))).transpose()?
        };
        if let Some(read) = read {
            self.add_name(own, name, Name::Module(read));
        }
        Ok(())
    }

    fn add_import(&mut self, own: usize, imported: &ItemUse) {
        if imported.leading_colon.is_some() {
            return;
        }
        for use_path in use_paths(&imported.tree) {
            match use_path.local_name {
                Some(local_name) => self.add_name(own, local_name, Name::Import(use_path.path)),
                None if use_path.is_glob => self.modules[own].globs.push(use_path.path),
                None => {}
            }
        }
    }

    fn add_name(&mut self, own: usize, name: String, meaning: Name) {
        self.modules[own].names.entry(name).or_default().push(meaning);
    }
}

fn folder_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item with these attributes only exists for tests.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    let for_tests = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args().is_ok_and(|condition| needs_test(&condition))
    };
    attributes.iter().any(for_tests)
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => {
            let all =
                list.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated);
            all.is_ok_and(|all| all.iter().any(needs_test))
        }
        _ => false,
    }
}

fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}
