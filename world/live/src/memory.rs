//! The memory that the kernel gives this process: its pages, and who may read them. prctl(2): `PR_SET_THP_DISABLE`, `PR_SET_DUMPABLE`.

use std::ffi::OsStr;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Takes memory in pages of 4 kB from now on, as do all threads and the processes that it starts.
///
/// A transparent huge page is 2 MB. The kernel clears it, and a hypervisor finds it, at the first access, which takes 0.2 to 5 ms on a
/// virtual machine; a page of 4 kB takes 1.3 us. A growing load would be late with every 2 MB. In virtual time huge pages save time. If the kernel refuses, memory is as before.
pub fn small_pages() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// The environment variable that permits core dumps, for debugging.
pub const CORE_DUMPS: &str = "KEYTOLL_CORE_DUMPS";

/// Keeps keys out of core dumps, and away from debuggers of other processes of this user, unless `permitted`, the value of [`CORE_DUMPS`], is `1`.
/// Processes that it starts make no core dumps either. If the kernel refuses, memory is as before.
pub fn forbid_core_dumps(permitted: Option<&OsStr>) {
    if permitted.is_none_or(|value| value != "1") {
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}
