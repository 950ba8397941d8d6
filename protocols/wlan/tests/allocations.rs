//! No MPDU allocates, sent or received, whatever the cipher; without the test harness, because the library's heap can only be
//! routed while there is one thread.

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;
use keytoll_native::heap::{TaggedHeap, allocations, enter, install_crypto_heap};
use keytoll_wlan::Cipher;
use keytoll_wlan::cipher::{Receiver, Sender, Side, bip, wep::Iv};

#[global_allocator]
static HEAP: TaggedHeap = TaggedHeap;

/// The role that is charged for what is measured.
const MEASURED: u8 = 1;
/// A data frame to the distribution system, and a management frame to a group.
const DATA: [u8; 24] = [0x08, 0x41, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0x10, 0];
const MANAGEMENT: [u8; 24] =
    [0xc0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x20, 0];

fn main() {
    install_crypto_heap().expect("nothing was allocated by the library before main");
    for &cipher in Cipher::ALL {
        let key = Secret::new(vec![3; cipher.key_len()]);
        if cipher.protects_management() {
            check_group(cipher, &key);
        } else {
            check_data(cipher, &key);
        }
    }
}

fn check_data(cipher: Cipher, key: &Secret) {
    let side = Side::Supplicant;
    let mut sender = Sender::new(cipher, key, 1, side, Iv([1, 2, 3])).expect("a key of this cipher");
    let mut receiver = Receiver::new(cipher, key, 1, side, 0).expect("a key of this cipher");
    check(cipher, |body, real| {
        sender.seal(&DATA, body, real).expect("there are packet numbers left");
        receiver.open(&DATA, body, real).expect("what was sealed here opens");
    });
}

fn check_group(cipher: Cipher, key: &Secret) {
    let mut sender = bip::Sender::new(cipher, key, 4).expect("a key of this cipher");
    let mut receiver = bip::Receiver::new(cipher, key, 4, 0).expect("a key of this cipher");
    check(cipher, |body, real| {
        sender.seal(&MANAGEMENT, body, real).expect("there are packet numbers left");
        receiver.open(&MANAGEMENT, body, real).expect("what was sealed here opens");
    });
}

/// The second packet expands the keys, the third may find its scratch space too small.
fn check(cipher: Cipher, mut pass: impl FnMut(&mut Vec<u8>, &mut Real)) {
    let (mut real, mut body) = (Real::default(), vec![7; 1500]);
    (0..3).for_each(|_| pass(&mut body, &mut real));
    let before = allocations(MEASURED);
    let role = enter(MEASURED);
    (0..8).for_each(|_| pass(&mut body, &mut real));
    drop(role);
    assert_eq!(allocations(MEASURED) - before, 0, "{cipher:?}");
    assert_eq!(body, [7; 1500]);
}
