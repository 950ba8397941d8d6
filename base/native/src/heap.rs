//! A global allocator that charges every byte to a role: the node whose code allocated it.
//!
//! Each block is preceded by a tag with the role that allocated it, so a free is credited to the right role whoever
//! does it. Accounts are kept per thread: all nodes of a row live on one thread, and shared counters would cost 28 ns a
//! pair instead of 6. A block freed on another thread is credited there, and that thread's account may become negative.
//!
//! ```text
//!   |<-- offset: 8, or the alignment if more is needed -->|
//!   | unused | (C blocks: size, 8 bytes) |        tag, 8   | the caller's bytes ...
//! ```
//!
//! AWS-LC allocates with malloc(3) unless told otherwise; after [`install_crypto_heap`] its blocks are counted as well.
//! Three things remain outside: mimalloc's own overhead, memory of the system's OpenSSL (feature `ossl`), and thread
//! stacks. Blocks that a thread keeps to use again ([`keep_spares`]) are nobody's. What AWS-LC keeps per thread (its
//! random generator, its error queue) is charged to the role that first needs it, so call
//! [`crate::awslc::prepare_thread`] under a role of its own before measuring others.

mod spare;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use libmimalloc_sys::{mi_free, mi_malloc_aligned, mi_realloc_aligned, mi_zalloc_aligned};

pub use spare::{Spares, keep_spares};

/// The allocator; a binary in which [`live`] and [`peak`] are to be meaningful makes it its `#[global_allocator]`.
#[derive(Debug, Default, Clone, Copy)]
pub struct TaggedHeap;

/// The role of the program that runs and measures the nodes, and of every thread at first.
pub const DRIVER: u8 = 0;

/// Charges this thread's allocations to `role` until the guard is dropped.
#[must_use = "the role ends when the guard is dropped"]
pub fn enter(role: u8) -> Guard {
    Guard { before: ROLE.replace(role), _on_this_thread: PhantomData }
}

/// Restores the role that was current before [`enter`].
#[derive(Debug)]
pub struct Guard {
    before: u8,
    _on_this_thread: PhantomData<*const ()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        ROLE.set(self.before);
    }
}

/// Bytes that `role` has allocated and that are not freed yet, as seen by this thread.
pub fn live(role: u8) -> i64 {
    account(role, |account| account.live.get())
}

/// The maximum of [`live`] since [`reset_peak`].
pub fn peak(role: u8) -> i64 {
    account(role, |account| account.peak.get())
}

/// Restarts [`peak`] from the bytes that are live now.
pub fn reset_peak(role: u8) {
    account(role, |account| account.peak.set(account.live.get()));
}

/// The number of blocks that `role` has allocated on this thread; growing a block does not count again.
pub fn allocations(role: u8) -> u64 {
    account(role, |account| account.allocations.get())
}

/// Why the crypto library keeps its own heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CryptoHeapError {
    /// Other threads are running and might be inside the library, which reads its hooks without a lock.
    OtherThreads,
    /// The library has hooks already.
    Refused,
}

impl std::fmt::Display for CryptoHeapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OtherThreads => "route the crypto library's heap: other threads are running already",
            Self::Refused => "route the crypto library's heap: its memory functions were set before",
        })
    }
}

impl std::error::Error for CryptoHeapError {}

/// Moves AWS-LC's heap to this allocator, whether or not [`TaggedHeap`] is the global allocator. Call it once, first
/// thing in `main`, while there is only one thread. Blocks that the library allocated earlier are recognised by their
/// missing tag and freed as the library would have done.
///
/// # Errors
/// Other threads exist or the library was hooked before; it then continues to use malloc(3).
pub fn install_crypto_heap() -> Result<(), CryptoHeapError> {
    if thread_count() != Some(1) {
        return Err(CryptoHeapError::OtherThreads);
    }
    // SAFETY: the three functions form an allocator that also takes the library's earlier blocks, and no other thread
    // can be reading the hooks, because there is none.
    let done = unsafe {
        aws_lc_sys::CRYPTO_set_mem_functions(Some(crypto_malloc), Some(crypto_realloc), Some(crypto_free))
    };
    if done == 1 { Ok(()) } else { Err(CryptoHeapError::Refused) }
}

/// The alignment of malloc(3) by default, which takes mimalloc fewer steps than an explicit one.
const MALLOC_ALIGN: usize = 16;

// SAFETY: every method hands the request to mimalloc with `offset` bytes in front, a multiple of the alignment, and
// takes exactly those off again; a layout that would overflow fails with null, as the contract requires.
unsafe impl GlobalAlloc for TaggedHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(outer) = outer(layout) else { return ptr::null_mut() };
        // SAFETY: `outer` has at least `offset` bytes.
        unsafe {
            let base = match outer.align() {
                MALLOC_ALIGN => spare::allocate(outer.size()),
                align => mi_malloc_aligned(outer.size(), align).cast(),
            };
            tagged(base, layout)
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(outer) = outer(layout) else { return ptr::null_mut() };
        // SAFETY: `outer` has at least `offset` bytes.
        unsafe {
            let base = match outer.align() {
                MALLOC_ALIGN => spare::allocate_zeroed(outer.size()),
                align => mi_zalloc_aligned(outer.size(), align).cast(),
            };
            tagged(base, layout)
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller got `block` from us for this layout, so its tag precedes it, and the block that mimalloc returned
        // for `outer(layout)` starts `offset` bytes before it.
        unsafe {
            charge(role_of(block), -signed(layout.size()));
            let base = block.sub(offset(layout));
            match outer_align(layout) {
                MALLOC_ALIGN => spare::free(base, offset(layout) + layout.size()),
                _ => mi_free(base.cast()),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let inner = Layout::from_size_align(size, layout.align()).ok();
        let Some(after) = inner.and_then(outer) else { return ptr::null_mut() };
        // SAFETY: as in `dealloc`; the offset depends on the alignment only, which stays, so the tag moves along.
        unsafe {
            let before = block.sub(offset(layout));
            let base: *mut u8 = match after.align() {
                MALLOC_ALIGN => spare::reallocate(before, offset(layout) + layout.size(), after.size()),
                align => mi_realloc_aligned(before.cast(), after.size(), align).cast(),
            };
            if base.is_null() {
                return ptr::null_mut();
            }
            let moved = base.add(offset(layout));
            charge(role_of(moved), signed(size) - signed(layout.size()));
            moved
        }
    }
}

/// Marks a tag. No block of AWS-LC's own has this bit in the word before it, where it keeps the block's size.
const TAG: u64 = 1 << 63;

/// What one role has allocated on one thread.
struct Account {
    live: Cell<i64>,
    peak: Cell<i64>,
    allocations: Cell<u64>,
}

// Both are const-initialised and need no destructor, so using them never allocates and works until the thread's end.
thread_local! {
    static ROLE: Cell<u8> = const { Cell::new(DRIVER) };
    static BOOKS: [Account; 256] = const {
        [const { Account { live: Cell::new(0), peak: Cell::new(0), allocations: Cell::new(0) } }; 256]
    };
}

fn account<T>(role: u8, read: impl FnOnce(&Account) -> T) -> T {
    BOOKS.with(|books| read(&books[usize::from(role)]))
}

/// Adds bytes to a role's account.
#[inline]
fn charge(role: u8, bytes: i64) {
    account(role, |account| {
        let live = account.live.get().wrapping_add(bytes);
        account.live.set(live);
        account.peak.set(account.peak.get().max(live));
    });
}

/// Tags a fresh block with the current role, charges it, and steps over the tag.
///
/// # Safety
/// `base` is null or a block of `outer(layout)`.
#[inline]
unsafe fn tagged(base: *mut u8, layout: Layout) -> *mut u8 {
    if base.is_null() {
        return base;
    }
    let role = ROLE.get();
    charge(role, signed(layout.size()));
    account(role, |account| account.allocations.set(account.allocations.get().wrapping_add(1)));
    // SAFETY: the block begins with `offset` bytes, a multiple of 8, so the word before the caller's is in it and
    // aligned.
    unsafe {
        let block = base.add(offset(layout));
        word(block, 1).write(TAG | u64::from(role));
        block
    }
}

/// The role in a block's tag.
///
/// # Safety
/// `block` came from [`tagged`].
#[inline]
unsafe fn role_of(block: *mut u8) -> u8 {
    // SAFETY: the tag is the word before the block; its low byte is the role.
    unsafe { word(block, 1).read() as u8 }
}

/// The `n`th word before a block.
///
/// # Safety
/// `n * 8` bytes precede the block in the same allocation.
#[inline]
unsafe fn word(block: *mut u8, n: usize) -> *mut u64 {
    // SAFETY: promised by the caller.
    unsafe { block.sub(8 * n).cast() }
}

/// How far the caller's bytes are from the start of the system's block. Most blocks hold nothing that needs more than a word's
/// alignment, and a small one is then as large as its tag and itself.
#[inline]
fn offset(layout: Layout) -> usize {
    if layout.align() <= size_of::<u64>() { size_of::<u64>() } else { outer_align(layout) }
}

#[inline]
fn outer_align(layout: Layout) -> usize {
    layout.align().max(MALLOC_ALIGN)
}

/// The layout requested from the system.
#[inline]
fn outer(layout: Layout) -> Option<Layout> {
    Layout::from_size_align(layout.size().checked_add(offset(layout))?, outer_align(layout)).ok()
}

/// A layout's size as a signed number; it never exceeds `isize::MAX`.
#[inline]
fn signed(size: usize) -> i64 {
    size as i64
}

/// How many threads this process has.
fn thread_count() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// The layout of a block for C, which needs no more than malloc(3) promises.
fn c_layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, 16).ok()
}

unsafe extern "C" fn crypto_malloc(size: usize, _file: *const c_char, _line: c_int) -> *mut c_void {
    let Some(layout) = c_layout(size) else { return ptr::null_mut() };
    // SAFETY: with 16 bytes in front there is room for the size beside the tag.
    unsafe {
        let block = TaggedHeap.alloc(layout);
        if !block.is_null() {
            word(block, 2).write(size as u64);
        }
        block.cast()
    }
}

/// Always moves, so that the old place can be wiped: it may hold secrets.
unsafe extern "C" fn crypto_realloc(
    block: *mut c_void,
    size: usize,
    file: *const c_char,
    line: c_int,
) -> *mut c_void {
    // SAFETY: the library passes one of its blocks, or null, of which neither has bytes to copy nor to free.
    unsafe {
        let moved = crypto_malloc(size, file, line);
        if !moved.is_null() && !block.is_null() {
            let kept = CBlock::at(block.cast()).size.min(size);
            ptr::copy_nonoverlapping(block.cast::<u8>(), moved.cast::<u8>(), kept);
            crypto_free(block, file, line);
        }
        moved
    }
}

/// Wipes and frees, as `OPENSSL_free` does on its own heap and as its callers rely on.
unsafe extern "C" fn crypto_free(block: *mut c_void, _file: *const c_char, _line: c_int) {
    if block.is_null() {
        return;
    }
    let block: *mut u8 = block.cast();
    // SAFETY: a block of ours has a tag and its size before it; any other is the library's own, made before the hooks
    // were set: malloc(3) with 8 bytes for the size in front.
    unsafe {
        let found = CBlock::at(block);
        aws_lc_sys::OPENSSL_cleanse(block.cast(), found.size);
        match c_layout(found.size) {
            Some(layout) if found.ours => TaggedHeap.dealloc(block, layout),
            _ => libc::free(block.sub(8).cast()),
        }
    }
}

/// The header of a block of the crypto library.
struct CBlock {
    ours: bool,
    size: usize,
}

impl CBlock {
    /// # Safety
    /// `block` is a live block of the library, made by [`crypto_malloc`] or by its own default.
    unsafe fn at(block: *mut u8) -> Self {
        // SAFETY: both kinds have a word before the block, and ours a second one before that. (The library's own is
        // aligned to 8 bytes: malloc's 16 plus its prefix of 8.)
        unsafe {
            let nearest = word(block, 1).read();
            let ours = nearest & TAG != 0;
            let size = if ours { word(block, 2).read() } else { nearest };
            Self { ours, size: size as usize }
        }
    }
}
