//! What ciphers read of a MAC header, and the additional authentication data that they make of it. 802.11-2020 §9.2.3, §12.5.3.3.3.
//!
//!   Frame Control(2) Duration(2) Address 1(6) Address 2(6) Address 3(6) Sequence Control(2) [Address 4(6)] [QoS Control(2)]
//!   [HT Control(4)]

use crate::MacAddr;

const MANAGEMENT: u8 = 0;
const DATA: u8 = 2;
/// Of Frame Control's first octet: the subtypes of data frames with QoS, and the subtype bits that the AAD leaves out.
const QOS: u8 = 0x80;
const SUBTYPE_LOW: u8 = 0x70;
/// Of its second octet.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY_POWER_MORE_DATA: u8 = 0x38;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;
/// Length of the part that every frame has.
const FIXED: usize = 24;
/// Length of the longest AAD: with the fourth address and QoS Control.
const AAD_MAX: usize = 30;
/// Of Sequence Control, and of QoS Control: the fragment number, and the TID.
const LOW: u8 = 0x0f;

/// A MAC header whose parts are where its Frame Control says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header<'a> {
    octets: &'a [u8],
    /// Where QoS Control is.
    qos_at: Option<usize>,
    has_address_4: bool,
}

/// Additional authentication data.
pub(super) struct Aad {
    octets: [u8; AAD_MAX],
    len: usize,
}

impl<'a> Header<'a> {
    /// None if it is another length than it says, or neither of data nor of management.
    pub(super) fn read(octets: &'a [u8]) -> Option<Self> {
        let &[control, flags, ..] = octets else { return None };
        let is_data = match control >> 2 & 3 {
            DATA => true,
            MANAGEMENT => false,
            _ => return None,
        };
        let has_address_4 = is_data && flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS;
        let before_qos = FIXED + if has_address_4 { 6 } else { 0 };
        let qos_at = (is_data && control & QOS != 0).then_some(before_qos);
        let has_ht_control = flags & HT_CONTROL != 0 && (!is_data || qos_at.is_some());
        let len = before_qos + if qos_at.is_some() { 2 } else { 0 } + if has_ht_control { 4 } else { 0 };
        (octets.len() == len).then_some(Self { octets, qos_at, has_address_4 })
    }

    pub(super) fn is_management(self) -> bool {
        self.octets[0] >> 2 & 3 == MANAGEMENT
    }

    pub(super) fn is_fragment(self) -> bool {
        self.octets[1] & MORE_FRAGMENTS != 0 || self.octets[22] & LOW != 0
    }

    /// The TID of a data frame with QoS, 0 of any other.
    pub(super) fn tid(self) -> u8 {
        self.qos_at.map_or(0, |at| self.octets[at] & LOW)
    }

    /// Address 2.
    pub(super) fn transmitter(self) -> MacAddr {
        self.address(10)
    }

    // 802.11-2020 §9.3.2.1, table 9-30.
    /// Destination and source.
    pub(super) fn ends(self) -> [MacAddr; 2] {
        let [first, second, third] = [4, 10, 16].map(|at| self.address(at));
        match self.octets[1] & (TO_DS | FROM_DS) {
            0 => [first, second],
            TO_DS => [third, second],
            FROM_DS => [first, third],
            _ => [third, self.address(FIXED)],
        }
    }

    fn address(self, at: usize) -> MacAddr {
        let mut address = MacAddr::default();
        address.copy_from_slice(&self.octets[at..at + 6]);
        address
    }

    // 802.11-2020 §12.5.3.3.3: what may change on a retransmission is masked, Protected Frame is 1, the low bits of a data
    // frame's subtype and the sequence number are 0; of QoS Control only the TID remains.
    /// The AAD of CCMP and GCMP.
    pub(super) fn aad(self) -> Aad {
        let mut aad = Aad { octets: [0; AAD_MAX], len: 0 };
        let is_data = !self.is_management();
        let control = self.octets[0] & if is_data { !SUBTYPE_LOW } else { u8::MAX };
        let masked = RETRY_POWER_MORE_DATA | if self.qos_at.is_some() { HT_CONTROL } else { 0 };
        aad.put(&[control, self.octets[1] & !masked | PROTECTED]);
        aad.put(&self.octets[4..22]);
        aad.put(&[self.octets[22] & LOW, 0]);
        if self.has_address_4 {
            aad.put(&self.octets[FIXED..FIXED + 6]);
        }
        if self.qos_at.is_some() {
            aad.put(&[self.tid(), 0]);
        }
        aad
    }

    // 802.11-2020 §12.5.4.3: Frame Control with Retry, Power Management and More Data masked, and the addresses.
    /// The AAD of BIP.
    pub(super) fn bip_aad(self) -> Aad {
        let mut aad = Aad { octets: [0; AAD_MAX], len: 0 };
        aad.put(&[self.octets[0], self.octets[1] & !RETRY_POWER_MORE_DATA]);
        aad.put(&self.octets[4..22]);
        aad
    }
}

impl Aad {
    fn put(&mut self, octets: &[u8]) {
        self.octets[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }
}

impl std::ops::Deref for Aad {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}
