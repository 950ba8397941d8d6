//! The tagged heap as a program uses it: installed as the global allocator, with the crypto library on it.

use std::alloc::{GlobalAlloc, Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::hint::black_box;

use keytoll_native::heap::{
    CryptoHeapError, TaggedHeap, allocations, enter, install_crypto_heap, keep_spares, live, peak, reset_peak,
};

#[global_allocator]
static HEAP: TaggedHeap = TaggedHeap;

/// A block that AWS-LC allocated before its heap was routed.
static EARLY: std::sync::atomic::AtomicPtr<u8> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

/// Runs before `main`, as the test harness starts threads before the first test.
#[used]
// SAFETY: the loader calls the functions in this section with arguments that a C function may ignore.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn before_main() {
        // SAFETY: plain allocation and use of 100 bytes.
        unsafe {
            let block: *mut u8 = aws_lc_sys::OPENSSL_malloc(100).cast();
            block.write_bytes(7, 100);
            EARLY.store(block, std::sync::atomic::Ordering::Relaxed);
        }
        install_crypto_heap().expect("there is one thread before main");
    }
    before_main
};

#[test]
fn bytes_are_charged_to_the_role_that_asked() {
    let (a, b) = {
        let _ue = enter(1);
        let a = black_box(vec![0_u8; 1000]);
        let _gw = enter(2);
        (a, black_box(vec![0_u8; 300]))
    };
    assert_eq!((live(1), live(2)), (1000, 300));
    assert_eq!((allocations(1), allocations(2)), (1, 1));
    let _other = enter(3);
    drop((a, b));
    assert_eq!((live(1), live(2), live(3)), (0, 0, 0));
    assert_eq!((peak(1), peak(2)), (1000, 300));
}

#[test]
fn roles_nest_and_come_back() {
    let outer = enter(4);
    drop(enter(5));
    let block = black_box(Box::new([0_u8; 64]));
    drop(outer);
    let later = black_box(Box::new([0_u8; 32]));
    assert_eq!((live(4), live(5)), (64, 0));
    drop((block, later));
}

#[test]
fn the_peak_can_start_again_from_what_is_live() {
    let _role = enter(6);
    let kept = black_box(vec![0_u8; 100]);
    drop(black_box(vec![0_u8; 5000]));
    assert_eq!(peak(6), 5100);
    reset_peak(6);
    assert_eq!(peak(6), 100);
    drop(black_box(vec![0_u8; 50]));
    assert_eq!(peak(6), 150);
    drop(kept);
}

#[test]
fn growing_and_shrinking_keep_bytes_role_and_books() {
    let mut block = {
        let _role = enter(7);
        black_box(vec![1_u8; 10])
    };
    let _other = enter(8);
    for size in [16, 100, 5_000, 3_000_000, 20, 1] {
        block.resize(size, 2);
        block.shrink_to_fit();
        assert_eq!((live(7), live(8)), (size as i64, 0));
        assert_eq!(block[0], 1);
    }
    assert_eq!(allocations(7), 1);
}

#[test]
fn every_alignment_and_size_is_served() {
    let _role = enter(9);
    for align in (0..=16).map(|bits| 1_usize << bits) {
        for size in [1, 7, 16, 4097] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: blocks are used within their sizes and freed with the layout they have by then.
            unsafe {
                let block = alloc(layout);
                assert_eq!(block as usize % align, 0);
                block.write_bytes(0x5a, size);
                let grown = realloc(block, layout, size * 3);
                assert_eq!(grown as usize % align, 0);
                assert!((0..size).all(|at| *grown.add(at) == 0x5a), "size {size}, alignment {align}");
                assert_eq!(live(9), size as i64 * 3);
                dealloc(grown, Layout::from_size_align(size * 3, align).unwrap());
                let zeroed = alloc_zeroed(layout);
                assert!((0..size).all(|at| *zeroed.add(at) == 0));
                dealloc(zeroed, layout);
            }
        }
    }
    assert_eq!(live(9), 0);
}

#[test]
fn nothing_at_all_is_a_block_too() {
    let _role = enter(10);
    let layout = Layout::from_size_align(0, 64).unwrap();
    // SAFETY: this allocator gives even empty blocks an address of their own; nothing is read or written.
    unsafe {
        let block = HEAP.alloc(layout);
        assert!(!block.is_null() && (block as usize).is_multiple_of(64));
        HEAP.dealloc(block, layout);
    }
    assert_eq!((live(10), allocations(10)), (0, 1));
}

#[test]
fn impossible_sizes_fail_without_a_trace_in_the_books() {
    let _role = enter(11);
    let layout = Layout::from_size_align(isize::MAX as usize - 63, 64).unwrap();
    // SAFETY: the result is only compared with null.
    assert!(unsafe { HEAP.alloc(layout) }.is_null());
    assert_eq!((live(11), allocations(11)), (0, 0));
}

#[test]
fn each_thread_has_its_own_books() {
    let block = {
        let _role = enter(12);
        black_box(vec![0_u8; 4096])
    };
    let there = std::thread::spawn(move || {
        let before = live(12);
        drop(block);
        (before, live(12))
    });
    assert_eq!(there.join().unwrap(), (0, -4096), "the free is booked where it happens");
    assert_eq!(live(12), 4096);
}

#[test]
fn the_crypto_library_is_in_the_books() {
    let _role = enter(13);
    // SAFETY: a block is made, grown, read within its size and freed, by the library's own functions.
    unsafe {
        let block: *mut u8 = aws_lc_sys::OPENSSL_malloc(500).cast();
        assert_eq!((live(13), allocations(13)), (500, 1));
        block.write_bytes(3, 500);
        let grown: *mut u8 = aws_lc_sys::OPENSSL_realloc(block.cast(), 2000).cast();
        assert_eq!(live(13), 2000);
        assert!((0..500).all(|at| *grown.add(at) == 3));
        aws_lc_sys::OPENSSL_free(grown.cast());
        assert_eq!((live(13), peak(13)), (0, 2500));
        let bn = aws_lc_sys::BN_new();
        aws_lc_sys::BN_set_bit(bn, 2047);
        assert!(live(13) >= 256, "{} bytes for a number of 256 bytes", live(13));
        aws_lc_sys::BN_free(bn);
    }
    assert_eq!(live(13), 0);
}

#[test]
fn what_the_library_keeps_for_a_thread_is_there_after_its_preparation() {
    let grown = std::thread::spawn(|| {
        let ours = enter(15);
        keytoll_native::awslc::prepare_thread();
        drop(ours);
        let _role = enter(16);
        keytoll_native::awslc::prepare_thread();
        (live(15), live(16))
    });
    let (prepared, again) = grown.join().unwrap();
    assert!(prepared > 0 && again == 0, "{prepared}, then {again}");
}

#[test]
fn blocks_from_before_the_routing_can_be_grown_and_freed() {
    let early = EARLY.swap(std::ptr::null_mut(), std::sync::atomic::Ordering::Relaxed);
    let _role = enter(14);
    // SAFETY: the block has 100 bytes and nobody else has it any more.
    unsafe {
        let grown: *mut u8 = aws_lc_sys::OPENSSL_realloc(early.cast(), 200).cast();
        assert!((0..100).all(|at| *grown.add(at) == 7));
        assert_eq!(live(14), 200);
        aws_lc_sys::OPENSSL_free(grown.cast());
    }
    assert_eq!(live(14), 0);
}

#[test]
fn routing_is_refused_once_there_are_threads() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || wait.recv());
    assert_eq!(install_crypto_heap(), Err(CryptoHeapError::OtherThreads));
    drop(release);
    assert!(other.join().unwrap().is_err(), "the other thread waited until the end");
}

#[test]
fn small_blocks_that_were_freed_last_are_used_again_while_they_are_kept() {
    let place = |size| {
        let block = black_box(vec![7_u8; size]);
        (block.as_ptr() as usize, block)
    };
    let _role = enter(17);
    let spares = keep_spares();
    for size in [1, 8, 100, 1000, 4000] {
        let [(first, a), (second, b)] = [place(size), place(size)];
        drop((a, b));
        let [(third, c), (fourth, d)] = [place(size), place(size)];
        assert_eq!([third, fourth], [second, first], "the last first, {size} bytes");
        drop(c);
        let zeroed = black_box(vec![0_u8; size]);
        assert!(zeroed.as_ptr() as usize == third && zeroed.iter().all(|byte| *byte == 0));
        drop(d);
    }
    let inner = keep_spares();
    let (before, block) = place(64);
    drop(block);
    drop(inner);
    assert_eq!(place(64).0, before, "they are kept until the last does not want them");
    drop(spares);
    assert_eq!(live(17), 0);
}

#[test]
fn more_spares_than_are_kept_are_freed() {
    let _role = enter(18);
    let _spares = keep_spares();
    let mut blocks: Vec<Vec<u8>> = (0..2000).map(|n| vec![n as u8; 200]).collect();
    assert!(blocks.iter().enumerate().all(|(n, block)| block.iter().all(|byte| *byte == n as u8)));
    blocks.iter_mut().for_each(|block| block.resize(700, 1));
    blocks.iter_mut().for_each(|block| block.truncate(100));
    blocks.iter_mut().for_each(Vec::shrink_to_fit);
    assert!(blocks.iter().enumerate().all(|(n, block)| block.iter().all(|byte| *byte == n as u8)));
    drop(blocks);
    assert_eq!(live(18), 0);
}
