//! What the kernel gives this process memory in. madvise(2), prctl(2): `PR_SET_THP_DISABLE`.

/// Takes memory in pages of 4 kB from now on, as do all threads and the processes that it starts.
///
/// A transparent huge page is 2 MB, which the kernel clears, and a hypervisor finds, while whoever first touches it waits: 0.2 to
/// 5 ms on a virtual machine, beside 1.3 us for a page of 4 kB, and a load that grows would be late with every 2 MB. Where virtual
/// time passes nobody waits, and huge pages save time. If the kernel refuses, memory is as before.
pub fn small_pages() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
