//! Blocks that were freed last, for those who ask for one next.
//!
//! A simulated world frees blocks that nobody has looked at for minutes, and allocates as many of the same sizes. mimalloc files
//! each under the page that it lies in and serves the next request from another page, from a block that was freed long ago: the
//! processor waits for memory twice. While a thread [keeps](keep_spares) them, a small block that is freed goes to whoever next asks
//! for one of its size: it is in the caches, and mimalloc's books are not opened.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use libmimalloc_sys::{mi_free, mi_malloc, mi_realloc, mi_zalloc};

/// Sizes are rounded up to a multiple of this, as mimalloc does, so that all blocks of a class are of use to each other.
const GRAIN: usize = 16;
/// Blocks of up to so many bytes are kept.
const BYTES_MAX: usize = 4096;
const CLASSES: usize = BYTES_MAX / GRAIN;
/// So many of a class are kept.
const OF_A_CLASS_MAX: u32 = 256;

/// The spare blocks of one class: each begins with the address of the next.
struct List {
    first: Cell<*mut u8>,
    count: Cell<u32>,
}

struct Lists {
    are_kept: Cell<bool>,
    of_class: [List; CLASSES],
}

// Const-initialised and without a destructor, so that using it never allocates; whoever fills it empties it (`Spares`).
thread_local! {
    static LISTS: Lists = const {
        Lists {
            are_kept: Cell::new(false),
            of_class: [const { List { first: Cell::new(ptr::null_mut()), count: Cell::new(0) } }; CLASSES],
        }
    };
}

/// This thread keeps spare blocks until it is dropped; then they are freed.
#[must_use = "spare blocks are freed when it is dropped"]
#[derive(Debug)]
pub struct Spares {
    were_kept: bool,
    _on_this_thread: PhantomData<*const ()>,
}

/// Keeps small blocks that this thread frees for those that it allocates, at most a few hundred of each size.
pub fn keep_spares() -> Spares {
    Spares { were_kept: LISTS.with(|lists| lists.are_kept.replace(true)), _on_this_thread: PhantomData }
}

impl Drop for Spares {
    fn drop(&mut self) {
        LISTS.with(|lists| {
            lists.are_kept.set(self.were_kept);
            if !self.were_kept {
                lists.of_class.iter().for_each(List::free_all);
            }
        });
    }
}

impl List {
    #[inline]
    fn take(&self) -> Option<*mut u8> {
        let block = self.first.get();
        if block.is_null() {
            return None;
        }
        // SAFETY: blocks in a list are nobody else's, and begin with the address of the next.
        self.first.set(unsafe { block.cast::<*mut u8>().read() });
        self.count.set(self.count.get() - 1);
        Some(block)
    }

    /// # Safety
    /// The block is mimalloc's, of this list's class, and nobody uses it any more.
    #[inline]
    unsafe fn put(&self, block: *mut u8) {
        // SAFETY: a block of any class has room for an address, and is aligned for it.
        unsafe { block.cast::<*mut u8>().write(self.first.get()) };
        self.first.set(block);
        self.count.set(self.count.get() + 1);
    }

    fn free_all(&self) {
        while let Some(block) = self.take() {
            // SAFETY: it came from mimalloc and is nobody's.
            unsafe { mi_free(block.cast()) };
        }
    }
}

/// The class of blocks of so many bytes, of which there is at least one; none for large ones.
#[inline]
fn class(bytes: usize) -> Option<usize> {
    (bytes <= BYTES_MAX).then(|| bytes.saturating_sub(1) / GRAIN)
}

/// So many bytes, or as many as all blocks of their class have.
#[inline]
pub(super) fn rounded(bytes: usize) -> usize {
    if bytes <= BYTES_MAX { bytes.next_multiple_of(GRAIN) } else { bytes }
}

/// A block of at least so many bytes, aligned as malloc(3) aligns; null if there is none.
#[inline]
pub(super) fn allocate(bytes: usize) -> *mut u8 {
    // SAFETY: mimalloc takes any size.
    spare(bytes).unwrap_or_else(|| unsafe { mi_malloc(rounded(bytes)) }.cast())
}

/// The same, with zeros in so many bytes.
#[inline]
pub(super) fn allocate_zeroed(bytes: usize) -> *mut u8 {
    match spare(bytes) {
        Some(block) => {
            // SAFETY: the block has as many bytes as its class, and is ours.
            unsafe { block.write_bytes(0, bytes) };
            block
        }
        // SAFETY: mimalloc takes any size.
        None => unsafe { mi_zalloc(rounded(bytes)) }.cast(),
    }
}

/// A spare block of at least so many bytes.
#[inline]
fn spare(bytes: usize) -> Option<*mut u8> {
    let class = class(bytes)?;
    LISTS.with(|lists| if lists.are_kept.get() { lists.of_class[class].take() } else { None })
}

/// Whether this thread keeps spare blocks. Where it does not, mimalloc alone knows best what becomes of a block.
#[inline]
fn are_kept() -> bool {
    LISTS.with(|lists| lists.are_kept.get())
}

/// Makes a block smaller or larger, elsewhere if need be; null if there is no room, and then it stays as it was.
///
/// # Safety
/// As for [`free`]: `block` has at least [`rounded`] `before` bytes.
#[inline]
pub(super) unsafe fn reallocate(block: *mut u8, before: usize, after: usize) -> *mut u8 {
    let Some((old, new)) = class(before).zip(class(after)).filter(|_| are_kept()) else {
        // SAFETY: it came from mimalloc.
        return unsafe { mi_realloc(block.cast(), rounded(after)) }.cast();
    };
    if old == new {
        return block;
    }
    let moved = allocate(after);
    if !moved.is_null() {
        // SAFETY: both blocks have as many bytes, and they are two.
        unsafe {
            ptr::copy_nonoverlapping(block, moved, before.min(after));
            free(block, before);
        }
    }
    moved
}

/// Frees a block, or keeps it for the next of its size.
///
/// # Safety
/// `block` came from mimalloc with at least [`rounded`] `bytes`, and nobody uses it any more.
#[inline]
pub(super) unsafe fn free(block: *mut u8, bytes: usize) {
    let is_kept = class(bytes).is_some_and(|class| {
        LISTS.with(|lists| {
            let list = &lists.of_class[class];
            let is_kept = lists.are_kept.get() && list.count.get() < OF_A_CLASS_MAX;
            if is_kept {
                // SAFETY: the caller's block has as many bytes as its class.
                unsafe { list.put(block) };
            }
            is_kept
        })
    });
    if !is_kept {
        // SAFETY: it came from mimalloc.
        unsafe { mi_free(block.cast()) };
    }
}
