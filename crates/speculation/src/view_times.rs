//! When commands in views saw the workspace. The work does not know what its user changed later.

/// The beginnings of commands, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViewTimes {
    /// The last command of all.
    last: Option<u64>,
    /// The last command that ran tests, unless the check ran some later: its result is still shown when other commands
    /// have run since.
    tests: Option<u64>,
    /// The project's own check.
    check: Option<u64>,
}

impl ViewTimes {
    /// Notes a command that has ended.
    pub(crate) fn note_command(&mut self, began_ms: u64, has_tests: bool) {
        self.last = Some(began_ms);
        if has_tests {
            self.tests = Some(began_ms);
        }
    }

    /// Notes a check that has a result.
    pub(crate) fn note_check(&mut self, began_ms: u64, has_tests: bool) {
        self.check = Some(began_ms);
        if has_tests {
            self.tests = None;
        }
    }

    /// The time from which on a change may affect something on which the work depends.
    pub(crate) fn earliest(self) -> Option<u64> {
        [self.last, self.tests, self.check].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_said_is_as_old_as_they_are() {
        let mut viewed = ViewTimes::default();
        assert_eq!(viewed.earliest(), None);
        viewed.note_command(1, false);
        viewed.note_command(2, true);
        assert_eq!(viewed.earliest(), Some(2), "what ran before them says nothing that is shown");
        viewed.note_command(3, false);
        assert_eq!(viewed.earliest(), Some(2));
        viewed.note_check(4, false);
        assert_eq!(viewed.earliest(), Some(2), "a check without tests does not take their place");
        viewed.note_check(5, true);
        assert_eq!(viewed.earliest(), Some(3));
        viewed.note_command(6, true);
        assert_eq!(viewed.earliest(), Some(5));
    }
}
