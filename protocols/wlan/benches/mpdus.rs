//! MPDUs of 1500 octets through both ends, beside the primitives alone: `cargo bench -p keytoll-wlan`.
//!
//! `mpdu` is everything that a sender and a receiver do for one of a flow: packet number, AAD and nonce from the MAC header,
//! encryption and MIC on one end; key ID, replay check, decryption and MIC on the other. `raw` is the primitive over as many
//! octets, twice, its key expanded where the cipher keeps one.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::Encryption;
use keytoll_crypto_api::{Crypto, Secret, TrafficKey};
use keytoll_native::awslc::rc4;
use keytoll_wlan::Cipher;
use keytoll_wlan::cipher::{Receiver, Sender, Side, wep::Iv};

fn main() {
    divan::main();
}

const LENGTH: usize = 1500;
/// A data frame with QoS from a station.
const HEADER: [u8; 26] =
    [0x88, 0x41, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0x10, 0, 5, 0];

#[divan::bench(args = [
    Cipher::Wep104, Cipher::Tkip, Cipher::Ccmp128, Cipher::Ccmp256, Cipher::Gcmp128, Cipher::Gcmp256,
])]
fn mpdu(bencher: Bencher<'_, '_>, cipher: Cipher) {
    let key = Secret::new(vec![3; cipher.key_len()]);
    let mut sender =
        Sender::new(cipher, &key, 0, Side::Supplicant, Iv([1, 2, 3])).expect("the key has the right length");
    let mut receiver =
        Receiver::new(cipher, &key, 0, Side::Supplicant, 0).expect("the key has the right length");
    let (mut real, mut body) = (Real::default(), vec![7; LENGTH]);
    bencher.counter(BytesCount::new(2 * LENGTH)).bench_local(|| {
        sender.seal(black_box(&HEADER), &mut body, &mut real).expect("there are packet numbers left");
        receiver.open(black_box(&HEADER), &mut body, &mut real).expect("what was sealed here opens");
    });
}

/// RC4 under a new key for every MPDU.
#[divan::bench]
fn raw_rc4(bencher: Bencher<'_, '_>) {
    let mut data = vec![7; LENGTH];
    bencher.counter(BytesCount::new(2 * LENGTH)).bench_local(|| {
        rc4::apply(black_box(&[3; 16]), &mut data);
        rc4::apply(black_box(&[3; 16]), &mut data);
    });
}

/// Sealing and opening with an expanded key.
#[divan::bench(args = [
    Encryption::Aes128Ccm8, Encryption::Aes256Ccm16, Encryption::Aes128Gcm16, Encryption::Aes256Gcm16,
])]
fn raw_aead(bencher: Bencher<'_, '_>, encryption: Encryption) {
    let key = || {
        let octets = Secret::new(vec![3; encryption.cipher_key_len()]);
        TrafficKey::new(encryption, None, octets, Secret::default())
    };
    let (mut sealing, mut opening, mut real) = (key(), key(), Real::default());
    let nonce = &[5; 13][..encryption.whole_nonce_len().expect("802.11 gives nonces whole")];
    let (mut data, mut tag) = (vec![7; LENGTH], vec![0; encryption.tag_len()]);
    bencher.counter(BytesCount::new(2 * LENGTH)).bench_local(|| {
        real.encrypt_traffic(&mut sealing, nonce, black_box(&[1; 24]), &mut data, &mut tag);
        real.decrypt_traffic(&mut opening, nonce, black_box(&[1; 24]), &mut data, &tag)
            .expect("what was sealed here opens");
    });
}
