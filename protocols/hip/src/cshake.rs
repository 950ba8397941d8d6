//! cSHAKE128 of NIST SP 800-185 §3, over Keccak-f[1600] of FIPS 202 §3: what RFC 9374 §3.4 makes HITs of EdDSA keys with. It
//! names keys and hides nothing, is computed once for each identity, and by nothing else than this crate; so it stands here
//! and not behind the crypto trait.

/// Octets of a block: FIPS 202 §6.3, 1600 bits less twice 128.
const RATE: usize = 168;

/// RC of FIPS 202 §3.2.5.
const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// ρ and π of FIPS 202 §3.2.2 and §3.2.3: how far a lane is rotated, and where it goes, along π's one cycle.
const LANES: [(u32, usize); 24] = [
    (1, 10),
    (3, 7),
    (6, 11),
    (10, 17),
    (15, 18),
    (21, 3),
    (28, 5),
    (36, 16),
    (45, 8),
    (55, 21),
    (2, 24),
    (14, 4),
    (27, 15),
    (41, 23),
    (56, 19),
    (8, 13),
    (25, 12),
    (43, 2),
    (62, 20),
    (18, 14),
    (39, 22),
    (61, 9),
    (20, 6),
    (44, 1),
];

fn permute(lanes: &mut [u64; 25]) {
    for constant in ROUND_CONSTANTS {
        theta(lanes);
        let mut moved = lanes[1];
        for (rotation, to) in LANES {
            moved = std::mem::replace(&mut lanes[to], moved.rotate_left(rotation));
        }
        for row in lanes.as_chunks_mut::<5>().0 {
            let before = *row;
            (0..5).for_each(|x| row[x] ^= !before[(x + 1) % 5] & before[(x + 2) % 5]);
        }
        lanes[0] ^= constant;
    }
}

fn theta(lanes: &mut [u64; 25]) {
    let parity: [u64; 5] = std::array::from_fn(|x| (0..5).fold(0, |sum, y| sum ^ lanes[x + 5 * y]));
    for (at, lane) in lanes.iter_mut().enumerate() {
        *lane ^= parity[(at + 4) % 5] ^ parity[(at + 1) % 5].rotate_left(1);
    }
}

/// An encoded string of SP 800-185 §2.3.2: its length in bits, and itself.
fn encode_string(text: &[u8], to: &mut Vec<u8>) {
    let bits = (8 * text.len() as u64).to_be_bytes();
    let zeros = bits.iter().take_while(|octet| **octet == 0).count().min(7);
    to.push((8 - zeros) as u8);
    to.extend_from_slice(&bits[zeros..]);
    to.extend_from_slice(text);
}

/// The first `LEN` octets of cSHAKE128 of the message, with this customization and no function name.
///
/// # Panics
/// If they are more than a block has: 168.
pub(crate) fn cshake128<const LEN: usize>(message: &[u8], customization: &[u8]) -> [u8; LEN] {
    let mut input = vec![1, RATE as u8];
    encode_string(&[], &mut input);
    encode_string(customization, &mut input);
    input.resize(input.len().next_multiple_of(RATE), 0);
    input.extend_from_slice(message);
    // SP 800-185 §3.3: two zero bits follow the message; FIPS 202 §5.1: then a one, zeros, and a one.
    input.push(0x04);
    input.resize(input.len().next_multiple_of(RATE), 0);
    *input.last_mut().expect("something was pushed") |= 0x80;
    let mut lanes = [0; 25];
    for block in input.chunks_exact(RATE) {
        let words = block.as_chunks::<8>().0;
        lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane ^= u64::from_le_bytes(*word));
        permute(&mut lanes);
    }
    let octets = lanes.map(u64::to_le_bytes);
    octets.as_flattened()[..LEN].try_into().expect("a block has so many")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST's samples 1 and 2 of cSHAKE128.
    #[test]
    fn the_samples_of_its_standard() {
        let first: [u8; 32] = cshake128(&[0, 1, 2, 3], b"Email Signature");
        let expected = 0xc1c3_6925_b640_9a04_f1b5_04fc_bca9_d82b_u128;
        assert_eq!(first[..16], expected.to_be_bytes());
        assert_eq!(first[16..], 0x4017_277c_b5ed_2b20_65fc_1d38_14d5_aaf5_u128.to_be_bytes());
        let message: Vec<u8> = (0..200).collect();
        let second: [u8; 32] = cshake128(&message, b"Email Signature");
        assert_eq!(second[..16], 0xc522_1d50_e4f8_22d9_6a2e_8881_a961_420f_u128.to_be_bytes());
    }
}
