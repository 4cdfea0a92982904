//! Finds out which file of a crate takes which names from which other file.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemUse, Macro, Meta, Visibility};

use super::ImportGraph;
use super::modules::{self, Module, is_test};
use super::paths::{PathTarget, resolve, use_paths};
use crate::rules::text::File;
use crate::rules::violations::RuleError;

/// The imports between the files in the `src` of a package. Declaring or re-exporting a module is no import, because a
/// name is taken from the file that defines it.
pub(super) fn import_graph(files: &[File], folder: &str) -> Result<ImportGraph, RuleError> {
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut graph = ImportGraph::new();
    for root in ["lib.rs", "main.rs"].map(|root| format!("{folder}/src/{root}")) {
        if !texts.contains_key(root.as_str()) {
            continue;
        }
        let modules = modules::read(&root, &texts)?;
        for (own, module) in modules.iter().enumerate() {
            let mut visitor = ImportVisitor { modules: &modules, own, graph: &mut graph };
            module.items.iter().for_each(|item| visitor.visit_item(item));
        }
    }
    Ok(graph)
}

struct ImportVisitor<'a> {
    modules: &'a [Module],
    own: usize,
    graph: &'a mut ImportGraph,
}

impl ImportVisitor<'_> {
    fn add_path(&mut self, path: &[String]) {
        if let Some(PathTarget::Item(module, name)) = resolve(self.modules, self.own, path) {
            self.add_import(module, name);
        }
    }

    fn add_import(&mut self, module: usize, name: String) {
        let (from, to) = (&self.modules[self.own].file, &self.modules[module].file);
        if from != to {
            self.graph.entry((from.clone(), to.clone())).or_default().insert(name);
        }
    }

    /// Takes the paths in the arguments of a macro, which have no grammar of their own.
    fn visit_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut dots) = (Vec::new(), 0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add_path(&std::mem::take(&mut path));
                    }
                    colons = 0;
                    // A name after one dot is a field or a method, and one after two dots is a value.
                    if dots != 1 {
                        path.push(name.to_string());
                    }
                    dots = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                token => {
                    self.add_path(&std::mem::take(&mut path));
                    colons = 0;
                    let is_dot = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '.');
                    dots = if is_dot { dots + 1 } else { 0 };
                    match token {
                        TokenTree::Group(group) => self.visit_tokens(group.stream()),
                        TokenTree::Literal(text) => self.visit_string(&text.to_string()),
                        _ => {}
                    }
                }
            }
        }
        self.add_path(&path);
    }

    /// Takes the path in a string of an attribute, which can name a function or a module: `with = "crate::hex"`.
    fn visit_string(&mut self, literal: &str) {
        let path: Vec<String> = literal.trim_matches('"').split("::").map(ToOwned::to_owned).collect();
        match resolve(self.modules, self.own, &path) {
            Some(PathTarget::Module(module)) if 1 < path.len() => {
                self.add_import(module, path.last().cloned().unwrap_or_default());
            }
            _ => self.add_path(&path),
        }
    }
}

impl<'ast> Visit<'ast> for ImportVisitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, imported: &'ast ItemUse) {
        // A file that re-exports a name only takes it if it also uses it.
        if matches!(imported.vis, Visibility::Inherited) && imported.leading_colon.is_none() {
            for use_path in use_paths(&imported.tree) {
                self.add_path(&use_path.path);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add_path(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.visit_tokens(list.tokens.clone());
        }
    }
}
