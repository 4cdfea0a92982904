//! Programs that compare files.

use crate::EffectKind::{Executes, WritesWorkspace};
use crate::shell::options::{FILES, Operands, Spec};

pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "abBcdeEfHiNnpPqrstTuwyZ",
        values: "CDFILUWxS",
        long: "changed-group-format= unchanged-group-format= old-group-format= new-group-format= line-format= old-line-format= \
               new-line-format= unchanged-line-format= ifdef= forward-ed starting-file= normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column suppress-common-lines \
               show-c-function show-function-line= label= expand-tabs initial-tab tabsize= suppress-blank-empty recursive \
               no-dereference new-file unidirectional-new-file ignore-file-name-case no-ignore-file-name-case exclude= \
               ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space \
               ignore-blank-lines ignore-matching-lines= text strip-trailing-cr minimal horizon-lines= \
               speed-large-files color? palette= help version",
        reads: "X exclude-from from-file to-file",
        digits: true,
        refuses: &[("l paginate", Executes, "diff runs pr")],
        ..Spec::new(&["diff", "colordiff"], Operands::Trees)
    },
    Spec {
        flags: "bls",
        values: "in",
        long: "print-bytes ignore-initial= bytes= verbose quiet silent help version",
        tame: true,
        ..Spec::new(&["cmp"], FILES)
    },
    Spec {
        flags: "AexETX3mia",
        long: "show-all ed show-overlap easy-only merge text strip-trailing-cr initial-tab help version",
        refuses: &[("diff-program", Executes, "diff3 runs a program")],
        ..Spec::new(&["diff3"], Operands::Files(3))
    },
    Spec {
        flags: "abBdEiHlstWZ",
        values: "wI",
        long: "ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
               ignore-matching-lines= strip-trailing-cr text width= left-column suppress-common-lines expand-tabs tabsize= minimal \
               speed-large-files help version",
        refuses: &[
            ("o output", WritesWorkspace, "sdiff writes a merged file"),
            ("diff-program", Executes, "sdiff runs a program"),
        ],
        ..Spec::new(&["sdiff"], Operands::Files(2))
    },
];
