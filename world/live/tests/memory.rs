//! The process's memory, as the kernel has it. proc_pid_status(5), prctl(2).

use std::ffi::OsStr;
use std::fs;

use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

#[test]
fn huge_pages_are_off_once_small_ones_are_asked_for() {
    keytoll_live::small_pages();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
    assert_eq!(line.map(str::trim), Some("0"));
}

#[test]
fn core_dumps_are_off_unless_they_are_permitted() {
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
    keytoll_live::forbid_core_dumps(Some(OsStr::new("1")));
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
    keytoll_live::forbid_core_dumps(Some(OsStr::new("0")));
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
    assert_eq!(fs::read_dir("/proc/self/fd").map(|_| ()).ok(), Some(()), "our own files stay readable");
}
