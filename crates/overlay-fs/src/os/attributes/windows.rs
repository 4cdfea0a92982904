//! On Windows the folder in which a file is made gives it its access list, and that is a folder in the workspace
//! (`reaches` in `home.rs`). So nothing has to be given to it afterwards.

use crate::os::disk::calls::{Location, Stat};
use crate::os::disk::system::{AsOpenFile, OpenFile};

/// There is no owner that would count.
pub(in crate::os) fn keep_owner(_file: &OpenFile, _old: &Stat) -> bool {
    true
}

pub(in crate::os) fn keep_attributes(_file: &OpenFile, _old: Location<'_>, _is_same_content: bool) -> bool {
    false
}

pub(in crate::os) fn copy_attributes(
    _from: impl AsOpenFile,
    _to: impl AsOpenFile,
    _is_wanted: impl Fn(&[u8]) -> bool,
) -> bool {
    false
}

/// What a folder gives to whatever is made in it: nothing that would have to be given later.
pub(in crate::os) mod inherit {
    use cap_std::fs::Dir;

    use crate::os::disk::calls::{Location, Stat};
    use crate::os::disk::system::{OpenFile, Result};

    #[derive(Debug, Default, Clone, PartialEq, Eq)]
    pub(in crate::os) struct Inherited;

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "elsewhere the system is asked")]
    impl Inherited {
        pub(in crate::os) fn from(_folder: &Dir) -> Result<Self> {
            Ok(Self)
        }

        pub(in crate::os) fn is_plain(&self, _new: &Stat) -> bool {
            true
        }

        pub(in crate::os) fn gives_nothing_to(&self, _new: &Stat) -> bool {
            true
        }

        pub(in crate::os) fn give(&self, _new: &OpenFile, _found: &Stat, _wanted: u32) -> Result<bool> {
            Ok(false)
        }

        pub(in crate::os) fn give_link(&self, _at: Location<'_>, _found: &Stat) -> bool {
            false
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "elsewhere the system is asked")]
    pub(in crate::os) fn make_plain(_folder: &Dir) -> Result<()> {
        Ok(())
    }
}
