//! How deep this thread's stack gets while code runs: the free part is filled with a pattern before, and searched for changes after.
//! Read pthread_getattr_np(3).
//!
//! ```text
//!   paint()                 work                       Painted::depth()
//!   | frames of the caller | frames of the caller     | frames of the caller
//!   | pattern              | frames of the work       | changed
//!   | pattern              | pattern                  | unchanged      <- the deepest changed word ends here
//! ```

use std::cell::OnceCell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;

/// So many bytes are filled at most.
const PAINTED_BYTES_MAX: usize = 256 * 1024;
/// So many bytes at the end of the stack are left alone.
const MARGIN_BYTES: usize = 64 * 1024;
/// The frames of [`paint`] and [`Painted::depth`] themselves fit into so many bytes, which are not filled.
const OWN_BYTES: usize = 2048;
const WORD_BYTES: usize = size_of::<u64>();
/// Neither an address nor a small number.
const PATTERN: u64 = 0xa5c3_96e1_7b0d_f248;

/// The part of this thread's stack that was filled with the pattern.
#[derive(Debug, Clone, Copy)]
pub struct Painted {
    /// Where the stack ended when it was filled.
    top: usize,
    /// The lowest address that was filled, a multiple of a word.
    low: usize,
    /// Where the filled part ends.
    high: usize,
}

/// Fills the free part of this thread's stack; `None` if its limits are unknown or nearly reached.
#[inline(never)]
pub fn paint() -> Option<Painted> {
    let top = here();
    let limit = lowest()? + MARGIN_BYTES;
    let high = (top - OWN_BYTES) & !(WORD_BYTES - 1);
    let low = limit.max(top.saturating_sub(PAINTED_BYTES_MAX)).next_multiple_of(WORD_BYTES);
    if low >= high {
        return None;
    }
    if low > limit {
        reach_down();
    }
    for address in (low..high).step_by(WORD_BYTES).rev() {
        // SAFETY: the address is on this thread's stack, at least `MARGIN_BYTES` from its end and `OWN_BYTES` below a local variable
        // of this function. Frames of this function are smaller: no living object is there.
        unsafe { ptr::with_exposed_provenance_mut::<u64>(address).write_volatile(PATTERN) };
    }
    Some(Painted { top, low, high })
}

/// Has a frame that is as large as the part that is filled. The stack of a main thread grows with the frames, and valgrind lets nothing else
/// write there.
#[inline(never)]
fn reach_down() {
    let mut frame = [MaybeUninit::<u8>::uninit(); PAINTED_BYTES_MAX];
    black_box(&mut frame);
}

impl Painted {
    /// The greatest depth of the stack below the caller of [`paint`] since then, in bytes. Depths under two kilobytes are reported as 0,
    /// and greater ones than that of the filled part as that.
    #[inline(never)]
    pub fn depth(self) -> u64 {
        let is_changed = |address: &usize| {
            // SAFETY: as in `paint`, which has written there.
            let word = unsafe { ptr::with_exposed_provenance::<u64>(*address).read_volatile() };
            word != PATTERN
        };
        let lowest = (self.low..self.high).step_by(WORD_BYTES).find(is_changed);
        lowest.map_or(0, |address| (self.top - address) as u64)
    }
}

/// An address in the caller's frame or directly below it.
#[inline(always)]
fn here() -> usize {
    let local = 0_u8;
    (&raw const local).expose_provenance()
}

/// The lowest address of this thread's stack.
fn lowest() -> Option<usize> {
    thread_local! {
        static LOWEST: OnceCell<Option<usize>> = const { OnceCell::new() };
    }
    LOWEST.with(|lowest| *lowest.get_or_init(ask_for_lowest))
}

fn ask_for_lowest() -> Option<usize> {
    let mut attributes = MaybeUninit::uninit();
    let (mut low, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: the first call initializes the attributes of this living thread, the second one reads them, and the third one frees them
    // whether or not they could be read.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (found == 0 && !low.is_null()).then(|| low.addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has at least so many bytes on the stack.
    #[inline(never)]
    fn deep<const BYTES: usize>() -> u8 {
        let mut local = [1_u8; BYTES];
        black_box(&mut local)[BYTES - 1]
    }

    fn depth_of(work: impl FnOnce() -> u8) -> u64 {
        let painted = paint().unwrap();
        black_box(work());
        painted.depth()
    }

    #[test]
    fn depth_is_that_of_the_deepest_call() {
        let shallow = depth_of(|| 1);
        let [small, large] = [depth_of(deep::<20_000>), depth_of(deep::<200_000>)];
        assert!(shallow < 8_000, "{shallow}");
        assert!((20_000..28_000).contains(&small), "{small}");
        assert!((200_000..208_000).contains(&large), "{large}");
        let both = depth_of(|| deep::<200_000>() + deep::<20_000>());
        assert!((200_000..208_000).contains(&both), "{both}");
    }

    #[test]
    fn a_small_stack_is_not_left() {
        // The system adds room for thread-local variables. This thread comes first, because a later one may get a stack that an earlier
        // one has left.
        let tiny = std::thread::Builder::new().stack_size(MARGIN_BYTES / 2);
        assert!(tiny.spawn(|| paint().is_none()).unwrap().join().unwrap());
        let small = std::thread::Builder::new().stack_size(MARGIN_BYTES + 48 * 1024);
        let depth = small.spawn(|| depth_of(deep::<16_000>)).unwrap().join().unwrap();
        assert!((16_000..24_000).contains(&depth), "{depth}");
    }
}
