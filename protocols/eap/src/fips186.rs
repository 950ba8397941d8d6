//! The pseudo-random function of FIPS 186-2 Change Notice 1, from which EAP-SIM and EAP-AKA derive their keys. Read
//! RFC 4186 Appendix B first.

use keytoll_crypto_api::Crypto;
use zeroize::{Zeroize, Zeroizing};

/// Length in bytes of XKEY, and of one output of G: b = 160 bits.
pub const SEED_LEN: usize = 20;

/// FIPS 180-4 §5.3.1, in the order of G.
const T: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Fills `output` with x₀ ‖ x₁ ‖ …, each of two draws; the rest of the last draw is discarded.
pub fn prf(crypto: &mut dyn Crypto, seed: &[u8; SEED_LEN], output: &mut [u8]) {
    let mut key = Zeroizing::new(*seed);
    for chunk in output.chunks_mut(SEED_LEN) {
        let drawn = g(crypto, &key);
        chunk.copy_from_slice(&drawn[..chunk.len()]);
        advance(&mut key, &drawn);
    }
}

/// RFC 4186 Appendix B step 3.2b: G(t, XVAL) is one step of SHA-1 over XVAL and zeros, without padding.
fn g(crypto: &mut dyn Crypto, value: &[u8; SEED_LEN]) -> Zeroizing<[u8; SEED_LEN]> {
    let (mut state, mut block) = (T, Zeroizing::new([0; 64]));
    block[..SEED_LEN].copy_from_slice(value);
    crypto.sha1_compress(&mut state, &block);
    let mut drawn = Zeroizing::new([0; SEED_LEN]);
    drawn.chunks_mut(4).zip(&state).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_be_bytes()));
    state.zeroize();
    drawn
}

/// RFC 4186 Appendix B step 3.2c: XKEY = (1 + XKEY + w) mod 2^b.
fn advance(key: &mut [u8; SEED_LEN], drawn: &[u8; SEED_LEN]) {
    let mut carry = 1;
    for (byte, &more) in key.iter_mut().zip(drawn).rev() {
        let [high, low] = (u16::from(*byte) + u16::from(more) + carry).to_be_bytes();
        (*byte, carry) = (low, high.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use keytoll_crypto::{Null, Real};

    const SEED: &str = "bd029bbe7f51960bcf9edb2b61f06f0feb5a38b6";

    #[test]
    fn the_example_of_fips_186_2_comes_out() {
        let mut output = [0; 40];
        prf(&mut Real::default(), &hex(SEED).try_into().unwrap(), &mut output);
        let expected = "2070b3223dba372fde1c0ffc7b2e3b498b2606143c6c18bacb0f6c55babb13788e20d737a3275116";
        assert_eq!(output[..], hex(expected)[..]);
    }

    #[test]
    fn a_shorter_output_is_the_beginning_of_a_longer_one() {
        let seed = hex(SEED).try_into().unwrap();
        let mut long = [0; 160];
        prf(&mut Real::default(), &seed, &mut long);
        for len in 0..long.len() {
            let mut short = vec![0; len];
            prf(&mut Real::default(), &seed, &mut short);
            assert_eq!(short, long[..len], "{len} bytes");
        }
    }

    #[test]
    fn all_ones_carry_through() {
        let mut key = [0xff; SEED_LEN];
        advance(&mut key, &[0; SEED_LEN]);
        assert_eq!(key, [0; SEED_LEN]);
        let mut key = [0xff; SEED_LEN];
        advance(&mut key, &[0xff; SEED_LEN]);
        assert_eq!(key, [0xff; SEED_LEN]);
    }

    #[test]
    fn null_crypto_gives_the_length() {
        let mut output = [7; 33];
        prf(&mut Null, &[9; SEED_LEN], &mut output);
        assert_eq!(output, [0; 33]);
    }
}
