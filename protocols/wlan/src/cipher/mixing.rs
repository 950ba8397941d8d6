//! The key mixing of TKIP: an RC4 key for every MPDU. 802.11-2020 §12.5.2.5.

use super::packet_number;
use crate::MacAddr;

/// Octets of the temporal key that are mixed.
pub(super) const KEY: usize = 16;
/// 802.11-2020 §12.5.2.5.2: the rounds of phase 1.
const ROUNDS: u16 = 8;

/// What phase 1 gives: for one transmitter, and for 65 536 packet numbers.
pub(super) type Ttak = [u16; 5];

/// Phase 1 of temporal key, transmitter, and the upper 32 bits of the packet number.
pub(super) fn phase_1(key: &[u8; KEY], transmitter: MacAddr, high: u32) -> Ttak {
    let [a0, a1, a2, a3, a4, a5] = transmitter;
    let mut t = [high as u16, (high >> 16) as u16, word(a0, a1), word(a2, a3), word(a4, a5)];
    for round in 0..ROUNDS {
        let odd = 2 * usize::from(round & 1);
        for at in 0..5 {
            let of_key = key_word(key, 4 * (at % 4) + odd);
            t[at] = t[at].wrapping_add(substituted(t[(at + 4) % 5] ^ of_key));
        }
        t[4] = t[4].wrapping_add(round);
    }
    t
}

/// Phase 2: the RC4 key of the packet number with these lower 16 bits; its first three octets are on the air.
pub(super) fn phase_2(key: &[u8; KEY], ttak: &Ttak, low: u16) -> [u8; KEY] {
    let [t0, t1, t2, t3, t4] = *ttak;
    let mut p = [t0, t1, t2, t3, t4, t4.wrapping_add(low)];
    for at in 0..6 {
        p[at] = p[at].wrapping_add(substituted(p[(at + 5) % 6] ^ key_word(key, 2 * at)));
    }
    for at in 0..6 {
        let of_key = if at < 2 { key_word(key, 12 + 2 * at) } else { 0 };
        p[at] = p[at].wrapping_add((p[(at + 5) % 6] ^ of_key).rotate_right(1));
    }
    let mut mixed = [0; KEY];
    mixed[..3].copy_from_slice(&seed(low));
    mixed[3] = ((p[5] ^ key_word(key, 0)) >> 1) as u8;
    mixed[4..].chunks_mut(2).zip(p).for_each(|(two, word)| two.copy_from_slice(&word.to_le_bytes()));
    mixed
}

// 802.11-2020 §12.5.2.5.3: the second octet is such that the key is none of WEP's weak ones.
/// The octets of the key that are on the air.
pub(super) fn seed(low: u16) -> [u8; 3] {
    let [low, high] = low.to_le_bytes();
    [high, (high | 0x20) & 0x7f, low]
}

/// The lower 16 bits of a packet number, and the upper 32.
pub(super) const fn halves(number: u64) -> (u16, u32) {
    debug_assert!(number <= packet_number::MAX, "packet numbers have 48 bits");
    (number as u16, (number >> 16) as u32)
}

const fn word(low: u8, high: u8) -> u16 {
    u16::from_le_bytes([low, high])
}

fn key_word(key: &[u8; KEY], at: usize) -> u16 {
    word(key[at], key[at + 1])
}

// 802.11-2020 §12.5.2.5.1: S(v) = Sbox(low octet) ⊕ Sbox(high octet) with its octets exchanged.
fn substituted(value: u16) -> u16 {
    let [low, high] = value.to_le_bytes();
    SBOX[usize::from(low)] ^ SBOX[usize::from(high)].swap_bytes()
}

/// Of every octet x, S(x) of AES times 2, then times 3, in GF(2⁸).
const SBOX: [u16; 256] = sbox();

const fn sbox() -> [u16; 256] {
    let (mut sbox, mut at) = ([0; 256], 0);
    while at < 256 {
        let of_aes = aes_sbox(at as u8);
        let twice = doubled(of_aes);
        sbox[at] = u16::from_be_bytes([twice, twice ^ of_aes]);
        at += 1;
    }
    sbox
}

// FIPS 197 §5.1.1: the inverse in GF(2⁸), then an affine transformation.
const fn aes_sbox(octet: u8) -> u8 {
    let inverse = inverse(octet);
    let (mut sum, mut turns) = (inverse, 1);
    while turns < 5 {
        sum ^= inverse.rotate_left(turns);
        turns += 1;
    }
    sum ^ 0x63
}

/// x²⁵⁴, which is 0 for 0.
const fn inverse(octet: u8) -> u8 {
    let (mut power, mut times) = (1, 0);
    while times < 254 {
        power = product(power, octet);
        times += 1;
    }
    power
}

const fn product(a: u8, b: u8) -> u8 {
    let (mut sum, mut shifted, mut bit) = (0, a, 0);
    while bit < 8 {
        if b >> bit & 1 == 1 {
            sum ^= shifted;
        }
        shifted = doubled(shifted);
        bit += 1;
    }
    sum
}

const fn doubled(octet: u8) -> u8 {
    octet << 1 ^ if octet & 0x80 == 0 { 0 } else { 0x1b }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 802.11-2020 J.6.3, phases as in FreeBSD's test_tkip.c.
    #[test]
    fn example_of_the_annex() {
        let key = 0x1234_5678_9012_3456_7890_1234_5678_9012_u128.to_be_bytes();
        let ttak = phase_1(&key, [2, 3, 4, 5, 6, 7], 0);
        assert_eq!(
            ttak.map(u16::to_le_bytes).concat(),
            [0xbb, 0x58, 0x07, 0x1f, 0x9e, 0x93, 0xb4, 0x38, 0x25, 0x4b]
        );
        let expected = 0x0020_014c_fe67_bed2_7c86_7b1b_f802_8b1c_u128.to_be_bytes();
        assert_eq!(phase_2(&key, &ttak, 1), expected);
    }

    #[test]
    fn sbox_is_that_of_the_standard() {
        assert_eq!([SBOX[0], SBOX[1], SBOX[255]], [0xc6a5, 0xf884, 0x2c3a]);
    }
}
