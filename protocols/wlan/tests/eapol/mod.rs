//! Any bytes as an EAPOL PDU, as its key descriptors, and as key data. The fuzz target `eapol_key` and the replay of its corpus call
//! this.

use keytoll_wlan::eapol::{KeyData, Pdu, Rc4Key, RsnKey};

/// 802.11-2020 table 12-10: the lengths of a MIC.
const MIC_LENS: [usize; 4] = [0, 16, 24, 32];

/// Reads everything that the bytes can be; returns how many key descriptors they are. What can be read can be written, and is then
/// the same.
pub(crate) fn run(bytes: &[u8]) -> usize {
    if let Ok(pdu) = Pdu::read(bytes) {
        assert_eq!(pdu.to_bytes(), &bytes[..pdu.len()]);
    }
    key_data(bytes);
    let descriptors = MIC_LENS.iter().filter(|mic_len| rsn(bytes, **mic_len)).count();
    if let Ok((frame, _)) = RsnKey::read_of_any_akm(bytes) {
        key_data(frame.key_data);
    }
    descriptors + usize::from(Rc4Key::read(bytes).is_ok())
}

fn rsn(bytes: &[u8], mic_len: usize) -> bool {
    let Ok((frame, signed)) = RsnKey::read(bytes, mic_len) else { return false };
    assert_eq!(signed.mic().len(), mic_len);
    let written = frame.write(2, mic_len).signed(signed.mic());
    let (again, signed_again) = RsnKey::read(&written, mic_len).expect("it was written by us");
    assert_eq!((again, signed_again.mic()), (frame, signed.mic()));
    true
}

fn key_data(bytes: &[u8]) {
    let Ok(key_data) = KeyData::read(bytes) else { return };
    let written = KeyData::write(&key_data.items);
    assert_eq!(KeyData::read(&written).as_ref(), Ok(&key_data));
}
