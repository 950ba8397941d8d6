//! Michael, the MIC of TKIP, which 20 bits of effort break: hence the countermeasures. 802.11-2020 §12.5.2.3.

/// Octets of a key, and of a MIC.
pub(super) const LEN: usize = 8;

/// The MIC of a message in parts, of which all but the last one are whole words of four octets.
pub(super) fn michael(key: [u8; LEN], parts: [&[u8]; 2]) -> [u8; LEN] {
    let [left, right] = words(key);
    let mut state = State { left, right };
    let [head, tail] = parts;
    let (tail, rest) = tail.as_chunks::<4>();
    head.as_chunks::<4>().0.iter().chain(tail).for_each(|word| state.absorb(u32::from_le_bytes(*word)));
    // 802.11-2020 §12.5.2.3.3: 5a and then zeros, four at least, up to whole words.
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x5a;
    state.absorb(u32::from_le_bytes(last));
    state.absorb(0);
    state.mic()
}

fn words(key: [u8; LEN]) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = key;
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

struct State {
    left: u32,
    right: u32,
}

impl State {
    fn absorb(&mut self, word: u32) {
        self.left ^= word;
        self.step(|left| left.rotate_left(17));
        self.step(swapped);
        self.step(|left| left.rotate_left(3));
        self.step(|left| left.rotate_right(2));
    }

    fn step(&mut self, mixed: impl Fn(u32) -> u32) {
        self.right ^= mixed(self.left);
        self.left = self.left.wrapping_add(self.right);
    }

    fn mic(&self) -> [u8; LEN] {
        let (left, right) = (u64::from(self.left), u64::from(self.right));
        (left | right << 32).to_le_bytes()
    }
}

/// XSWAP: the octets of each half change places.
const fn swapped(word: u32) -> u32 {
    (word & 0xff00_ff00) >> 8 | (word & 0x00ff_00ff) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 802.11-2020 J.2.2: each MIC is the key of the next line.
    #[test]
    fn examples_of_the_annex() {
        let messages: [&[u8]; 6] = [b"", b"M", b"Mi", b"Mic", b"Mich", b"Michael"];
        let mics = [
            "82925c1ca1d130b8",
            "434721ca40639b3f",
            "e8f9becae97e5d29",
            "90038fc6cf13c1db",
            "d55e100510128986",
            "0a942b124ecaa546",
        ];
        let mut key = [0; LEN];
        for (message, expected) in messages.into_iter().zip(mics) {
            key = michael(key, [&[], message]);
            assert_eq!(key, u64::from_str_radix(expected, 16).unwrap().to_be_bytes(), "{message:?}");
        }
    }
}
