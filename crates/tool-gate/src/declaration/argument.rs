use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Text, is_given};
use crate::GateError;

/// An argument that the gate has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    /// What it is.
    pub role: Role,
    /// Its names. A call that gives several of them is refused, because the gate and the tool could each take a
    /// different one.
    pub names: Cow<'static, [Text]>,
    /// Whether it may be a list of texts.
    pub(super) may_be_list: bool,
    /// Whether the tool answers with an error if it is absent. A path that is not required stands for the workspace
    /// if absent.
    pub(super) is_required: bool,
}

/// What the value of an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A path that is read, whatever else the call does.
    Read,
    /// A path that is changed if the call stages anything, and otherwise read.
    Changed,
    /// A pattern of paths below the path of the call.
    Pattern,
    /// A shell command.
    Command,
    /// The folder in which a command runs.
    Folder,
    /// A flag: if it is given and not `false`, the command goes on after the call.
    Outlives,
    /// An address. It may name any place, so a call that gives one reaches out of the workspace.
    Address,
}

impl Role {
    pub(super) const fn is_path(self) -> bool {
        matches!(self, Self::Read | Self::Changed)
    }
}

impl Argument {
    /// Whether a call gives this argument.
    pub(super) fn is_given(&self, args: &Map<String, Value>) -> bool {
        self.names.iter().any(|name| is_given(args, name))
    }

    /// The value that a call gives under one of the names, with that name.
    fn value_in<'a>(&self, args: &'a Map<String, Value>) -> Result<Option<(&str, &'a Value)>, GateError> {
        let mut found: Option<(&str, &Value)> = None;
        for name in &*self.names {
            match (args.get(&**name), found) {
                (None | Some(Value::Null), _) => {}
                (Some(_), Some((first, _))) => {
                    return Err(GateError::AmbiguousPath {
                        first: first.to_owned(),
                        second: name.to_string(),
                    });
                }
                (Some(value), None) => found = Some((name, value)),
            }
        }
        Ok(found)
    }

    /// The one text that a call gives for this argument.
    pub(super) fn text_in<'a>(&self, args: &'a Map<String, Value>) -> Result<Option<&'a str>, GateError> {
        match self.value_in(args)? {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, _)) => {
                Err(GateError::InvalidArgument { name: name.to_owned(), expected: "a string" })
            }
        }
    }

    /// Adds what a call gives for this argument, with its role.
    pub(super) fn add_texts<'a>(
        &self,
        args: &'a Map<String, Value>,
        texts: &mut Vec<(Role, &'a str)>,
    ) -> Result<(), GateError> {
        if !self.may_be_list {
            texts.extend(self.text_in(args)?.map(|text| (self.role, text)));
            return Ok(());
        }
        match self.value_in(args)? {
            None => {}
            Some((_, Value::String(text))) => texts.push((self.role, text.as_str())),
            Some((_, Value::Array(list))) if list.iter().all(Value::is_string) => {
                texts.extend(list.iter().filter_map(Value::as_str).map(|text| (self.role, text)));
            }
            Some((name, _)) => return Err(GateError::InvalidPath { name: name.to_owned() }),
        }
        Ok(())
    }
}
