//! Symmetric operations allocate nothing, in Rust or in the library. This runs without the test harness, because the
//! library's heap can only be redirected while there is one thread.

use keytoll_crypto::{Metered, Null, Real};
use keytoll_crypto_api::algorithm::{Encryption, Hash, Integrity, Prf};
use keytoll_crypto_api::{Crypto, Phase, Secret, TrafficKey};
use keytoll_native::heap::{DRIVER, TaggedHeap, allocations, enter, install_crypto_heap, live};

#[global_allocator]
static HEAP: TaggedHeap = TaggedHeap;

/// The role that is charged for what is measured.
const MEASURED: u8 = 1;

fn main() {
    install_crypto_heap().expect("nothing was allocated by the library before main");
    let mut real = Real::default();
    // The first use makes what the library keeps per process and thread.
    exercise(&mut real);
    assert_eq!(charged(|| exercise(&mut real)), 0, "allocations of the real provider");
    assert_eq!(charged(|| exercise(&mut Null)), 0, "allocations of the null provider");
    check_traffic(&mut real);
    check_meter();
}

/// The meter's own tables belong to the driver, also if they are allocated during an operation of another role.
fn check_meter() {
    let before = [DRIVER, MEASURED].map(live);
    let role = enter(MEASURED);
    let mut metered = Metered::new(Real::default());
    metered.keep_step();
    for phase in [Phase::new(1, "first"), Phase::new(2, "second")] {
        metered.enter(phase);
        exercise(&mut metered);
    }
    drop(role);
    let [driver, measured] = [DRIVER, MEASURED].map(live);
    assert_eq!(measured, before[1], "bytes of the meter that are charged to the measured role");
    assert!(driver > before[0] + 10_000, "{} bytes of the meter", driver - before[0]);
    assert!(metered.snapshot().len() > 10);
}

/// With traffic, a key is expanded from its second packet on, in one block, which is freed with the key.
fn check_traffic(real: &mut Real) {
    let mut key =
        TrafficKey::new(Encryption::Aes128Gcm16, None, vec![3; 20].as_slice().into(), Secret::default());
    let mut seal = || real.encrypt_traffic(&mut key, &[5; 8], &[], &mut [7; 96], &mut [0; 16]);
    assert_eq!(
        [charged(&mut seal), charged(&mut seal), charged(&mut seal)],
        [0, 1, 0],
        "first, second, third packet"
    );
    assert!((500..1000).contains(&live(MEASURED)), "{} bytes kept for one key", live(MEASURED));
    drop(key);
    assert_eq!(live(MEASURED), 0);
    Encryption::ALL.iter().for_each(|&encryption| {
        Integrity::ALL.iter().for_each(|&integrity| check_packets(real, encryption, integrity));
    });
}

/// No packet after those that expand the key allocates, whatever the algorithms.
fn check_packets(real: &mut Real, encryption: Encryption, integrity: Integrity) {
    let key = |len| Secret::new(vec![3; len]);
    let mut key =
        TrafficKey::new(encryption, Some(integrity), key(encryption.key_len()), key(integrity.key_len()));
    let mut packet = || {
        let (iv, tag) = (&[5; 16][..encryption.iv_len()], &mut [0; 16][..encryption.tag_len()]);
        real.encrypt_traffic(&mut key, iv, &[1; 8], &mut [7; 96], tag);
        real.mac_traffic(&mut key, &[&[7; 96]], &mut [0; 32][..integrity.tag_len()]);
    };
    (0..3).for_each(|_| packet());
    assert_eq!(charged(&mut packet), 0, "{encryption} {integrity}");
}

fn charged(operations: impl FnOnce()) -> u64 {
    let before = allocations(MEASURED);
    let role = enter(MEASURED);
    operations();
    drop(role);
    allocations(MEASURED) - before
}

fn exercise(crypto: &mut dyn Crypto) {
    let parts: [&[u8]; 2] = [&[7; 100], &[8; 33]];
    for &hash in Hash::ALL {
        crypto.hash(hash, &parts);
    }
    for &prf in Prf::ALL {
        crypto.prf(prf, &[3; 40], &parts);
    }
    for &integrity in Integrity::ALL {
        let key = &[3; 64][..integrity.key_len()];
        let tag = crypto.mac(integrity, key, &parts);
        crypto.verify_mac(integrity, key, &parts, &tag).expect("its own tag");
    }
    // GMAC gathers the authenticated data: a single message does not keep the buffer.
    let encryptions = Encryption::ALL.iter().filter(|algorithm| !algorithm.is_gmac());
    encryptions.for_each(|&algorithm| encrypt(crypto, algorithm));
}

fn encrypt(crypto: &mut dyn Crypto, algorithm: Encryption) {
    let (key, iv) = (&[3; 36][..algorithm.key_len()], &[5; 16][..algorithm.iv_len()]);
    let (mut data, tag) = ([7; 96], &mut [0; 16][..algorithm.tag_len()]);
    crypto.encrypt(algorithm, key, iv, &[1; 8], &mut data, tag);
    crypto.decrypt(algorithm, key, iv, &[1; 8], &mut data, tag).expect("its own message");
    assert_eq!(data, [7; 96]);
}
