//! The MAC header, 802.11-2020 §9.2.3, §9.3.
//!
//!   management  Frame Control(2) Duration(2) Address 1..3(6 each) Sequence Control(2) HT Control(0 or 4)
//!   data        Frame Control(2) Duration(2) Address 1..3(6 each) Sequence Control(2) Address 4(0 or 6) QoS Control(0 or 2)
//!               HT Control(0 or 4)
//!   control     Frame Control(2) Duration(2) Address 1(6) Address 2(0 or 6)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use super::control::{Flags, FrameControl, FrameType};
use crate::MacAddr;

/// No MAC header is longer.
pub const LEN_MAX: usize = 36;

/// A MAC header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Of a management frame.
    Management(ManagementHeader),
    /// Of a data frame.
    Data(DataHeader),
    /// Of a control frame.
    Control(ControlHeader),
}

/// The MAC header of a management frame, 802.11-2020 §9.3.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagementHeader {
    /// The kind of frame ([`super::management::subtype`]).
    pub subtype: u8,
    /// Flags; [`Flags::HTC`] is that of `ht_control`.
    pub flags: Flags,
    /// For how many microseconds the medium is reserved.
    pub duration_us: u16,
    /// Whom it is for, address 1.
    pub destination: MacAddr,
    /// Who sends it, address 2.
    pub source: MacAddr,
    /// The access point of the network, address 3.
    pub bssid: MacAddr,
    /// Its number.
    pub sequence: SequenceControl,
    /// HT Control.
    pub ht_control: Option<[u8; 4]>,
}

/// The MAC header of a data frame, 802.11-2020 §9.3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataHeader {
    /// The kind of frame without its QoS bit: 0 is data, 4 has none.
    pub subtype: u8,
    /// Flags; To DS and From DS are those of `addresses`, and [`Flags::HTC`] of a frame with QoS is that of `ht_control`.
    pub flags: Flags,
    /// For how many microseconds the medium is reserved.
    pub duration_us: u16,
    /// From where to where.
    pub addresses: Addresses,
    /// Its number.
    pub sequence: SequenceControl,
    /// QoS Control.
    pub qos: Option<Qos>,
    /// HT Control, in frames with QoS.
    pub ht_control: Option<[u8; 4]>,
}

/// The MAC header of a control frame, 802.11-2020 §9.3.1. What follows differs by its kind and is left in the frame's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlHeader {
    /// The kind of frame.
    pub subtype: u8,
    /// Flags.
    pub flags: Flags,
    /// For how many microseconds the medium is reserved; of a PS-Poll, the association identifier.
    pub duration_us: u16,
    /// Whom it is for, address 1.
    pub receiver: MacAddr,
    /// Who sends it, address 2; acknowledgements do not say.
    pub transmitter: Option<MacAddr>,
}

/// The addresses of a data frame, 802.11-2020 table 9-30.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// Between two stations of an independent network.
    Direct {
        /// The receiver.
        destination: MacAddr,
        /// The sender.
        source: MacAddr,
        /// The network.
        bssid: MacAddr,
    },
    /// From a station to its access point.
    ToAccessPoint {
        /// The access point.
        bssid: MacAddr,
        /// The sender.
        source: MacAddr,
        /// To whom the access point forwards it.
        destination: MacAddr,
    },
    /// From an access point to a station.
    FromAccessPoint {
        /// The receiver.
        destination: MacAddr,
        /// The access point.
        bssid: MacAddr,
        /// For whom the access point forwards it.
        source: MacAddr,
    },
    /// Between two access points.
    Relayed {
        /// Who receives it now.
        receiver: MacAddr,
        /// Who sends it now.
        transmitter: MacAddr,
        /// Whom it is for.
        destination: MacAddr,
        /// Who sent it first.
        source: MacAddr,
    },
}

impl Addresses {
    /// Whom it is for.
    pub const fn destination(&self) -> MacAddr {
        match *self {
            Self::Direct { destination, .. }
            | Self::ToAccessPoint { destination, .. }
            | Self::FromAccessPoint { destination, .. }
            | Self::Relayed { destination, .. } => destination,
        }
    }

    /// Who sent it first.
    pub const fn source(&self) -> MacAddr {
        match *self {
            Self::Direct { source, .. }
            | Self::ToAccessPoint { source, .. }
            | Self::FromAccessPoint { source, .. }
            | Self::Relayed { source, .. } => source,
        }
    }

    /// Who receives it on the air, address 1.
    pub const fn receiver(&self) -> MacAddr {
        match *self {
            Self::Direct { destination, .. } | Self::FromAccessPoint { destination, .. } => destination,
            Self::ToAccessPoint { bssid, .. } => bssid,
            Self::Relayed { receiver, .. } => receiver,
        }
    }

    /// Who sends it on the air, address 2.
    pub const fn transmitter(&self) -> MacAddr {
        match *self {
            Self::Direct { source, .. } | Self::ToAccessPoint { source, .. } => source,
            Self::FromAccessPoint { bssid, .. } => bssid,
            Self::Relayed { transmitter, .. } => transmitter,
        }
    }

    const fn distribution(&self) -> Flags {
        match self {
            Self::Direct { .. } => Flags(0),
            Self::ToAccessPoint { .. } => Flags::TO_DS,
            Self::FromAccessPoint { .. } => Flags::FROM_DS,
            Self::Relayed { .. } => Flags::TO_DS.with(Flags::FROM_DS),
        }
    }

    const fn address3(&self) -> MacAddr {
        match *self {
            Self::Direct { bssid, .. } => bssid,
            Self::ToAccessPoint { destination, .. } | Self::Relayed { destination, .. } => destination,
            Self::FromAccessPoint { source, .. } => source,
        }
    }

    /// Of the first three; `address4` reads the fourth one where there is one.
    fn read(
        flags: Flags,
        [a1, a2, a3]: [MacAddr; 3],
        address4: impl FnOnce() -> Result<MacAddr, DecodeError>,
    ) -> Result<Self, DecodeError> {
        Ok(match (flags.has(Flags::TO_DS), flags.has(Flags::FROM_DS)) {
            (false, false) => Self::Direct { destination: a1, source: a2, bssid: a3 },
            (true, false) => Self::ToAccessPoint { bssid: a1, source: a2, destination: a3 },
            (false, true) => Self::FromAccessPoint { destination: a1, bssid: a2, source: a3 },
            (true, true) => {
                Self::Relayed { receiver: a1, transmitter: a2, destination: a3, source: address4()? }
            }
        })
    }
}

/// Sequence Control, 802.11-2020 §9.2.4.4:  Fragment Number(4 bits) Sequence Number(12)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SequenceControl(pub u16);

impl SequenceControl {
    /// A frame that is not fragmented; its number counts modulo 4096.
    pub const fn numbered(number: u16) -> Self {
        Self(number << 4)
    }

    /// The number of the frame.
    pub const fn number(self) -> u16 {
        self.0 >> 4
    }

    /// The number of the fragment.
    pub const fn fragment(self) -> u16 {
        self.0 & 15
    }
}

/// QoS Control, 802.11-2020 §9.2.4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Qos(pub u16);

impl Qos {
    /// The traffic identifier, which is part of nonces.
    pub const fn tid(self) -> u8 {
        (self.0 & 15) as u8
    }

    /// Whether the body is an A-MSDU, several packets in one frame.
    pub const fn is_aggregate(self) -> bool {
        self.0 & 1 << 7 != 0
    }
}

/// The bit of a data frame's subtype that says that there is QoS Control.
const QOS: u8 = 8;
/// The bit of a data frame's subtype that says that there are no data.
const NULL: u8 = 4;

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// If it is cut short, or is of a version or type that does not exist.
    pub fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let control = FrameControl::read(r)?;
        let duration_us = r.u16_le("duration")?;
        Ok(match control.frame_type {
            FrameType::Management => Self::Management(ManagementHeader::read(control, duration_us, r)?),
            FrameType::Control => Self::Control(ControlHeader::read(control, duration_us, r)?),
            FrameType::Data => Self::Data(DataHeader::read(control, duration_us, r)?),
        })
    }

    /// Writes the header.
    pub fn write(&self, w: &mut Writer) {
        match self {
            Self::Management(header) => header.write(w),
            Self::Data(header) => header.write(w),
            Self::Control(header) => header.write(w),
        }
    }

    /// Whether the body is encrypted.
    pub const fn is_protected(&self) -> bool {
        let flags = match self {
            Self::Management(header) => header.flags,
            Self::Data(header) => header.flags,
            Self::Control(header) => header.flags,
        };
        flags.has(Flags::PROTECTED)
    }

    /// The header as bytes, as ciphers want it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(LEN_MAX);
        self.write(&mut w);
        w.finish()
    }
}

impl ManagementHeader {
    /// A frame that nobody has sent before.
    pub const fn new(subtype: u8, destination: MacAddr, source: MacAddr, bssid: MacAddr) -> Self {
        let (flags, sequence) = (Flags(0), SequenceControl(0));
        Self { subtype, flags, duration_us: 0, destination, source, bssid, sequence, ht_control: None }
    }

    fn read(control: FrameControl, duration_us: u16, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let FrameControl { subtype, flags, .. } = control;
        Ok(Self {
            subtype,
            flags,
            duration_us,
            destination: r.array("address 1")?,
            source: r.array("address 2")?,
            bssid: r.array("address 3")?,
            sequence: SequenceControl(r.u16_le("sequence control")?),
            ht_control: read_ht_control(flags.has(Flags::HTC), r)?,
        })
    }

    /// Writes the header.
    pub fn write(&self, w: &mut Writer) {
        let flags = with_htc(self.flags, self.ht_control.is_some());
        FrameControl { frame_type: FrameType::Management, subtype: self.subtype, flags }.write(w);
        w.u16_le(self.duration_us);
        [self.destination, self.source, self.bssid].iter().for_each(|address| w.bytes(address));
        w.u16_le(self.sequence.0);
        write_ht_control(self.ht_control, w);
    }
}

impl DataHeader {
    /// A frame without QoS that nobody has sent before.
    pub const fn new(addresses: Addresses) -> Self {
        let (flags, sequence) = (Flags(0), SequenceControl(0));
        Self { subtype: 0, flags, duration_us: 0, addresses, sequence, qos: None, ht_control: None }
    }

    /// Whether it is of a kind without data.
    pub const fn is_null(&self) -> bool {
        self.subtype & NULL != 0
    }

    fn read(control: FrameControl, duration_us: u16, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let FrameControl { subtype, flags, .. } = control;
        let first = [r.array("address 1")?, r.array("address 2")?, r.array("address 3")?];
        let sequence = SequenceControl(r.u16_le("sequence control")?);
        let addresses = Addresses::read(flags, first, || r.array("address 4"))?;
        let has_qos = subtype & QOS != 0;
        let qos = has_qos.then(|| r.u16_le("QoS control").map(Qos)).transpose()?;
        // 802.11-2020 §9.2.4.1.10: without QoS the bit means something else.
        let ht_control = read_ht_control(has_qos && flags.has(Flags::HTC), r)?;
        let flags = flags.without(Flags::TO_DS.with(Flags::FROM_DS));
        Ok(Self { subtype: subtype & !QOS, flags, duration_us, addresses, sequence, qos, ht_control })
    }

    /// Writes the header.
    pub fn write(&self, w: &mut Writer) {
        let subtype = self.subtype & !QOS | if self.qos.is_some() { QOS } else { 0 };
        let flags = self.flags.with(self.addresses.distribution());
        let flags = if self.qos.is_some() { with_htc(flags, self.ht_control.is_some()) } else { flags };
        FrameControl { frame_type: FrameType::Data, subtype, flags }.write(w);
        w.u16_le(self.duration_us);
        let addresses = &self.addresses;
        w.bytes(&addresses.receiver());
        w.bytes(&addresses.transmitter());
        w.bytes(&addresses.address3());
        w.u16_le(self.sequence.0);
        if let Addresses::Relayed { source, .. } = addresses {
            w.bytes(source);
        }
        if let Some(Qos(qos)) = self.qos {
            w.u16_le(qos);
            write_ht_control(self.ht_control, w);
        }
    }
}

/// 802.11-2020 table 9-1: the control frames that do not say who sends them, CTS and ACK.
const WITHOUT_TRANSMITTER: [u8; 2] = [12, 13];

impl ControlHeader {
    fn read(control: FrameControl, duration_us: u16, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let FrameControl { subtype, flags, .. } = control;
        let receiver = r.array("address 1")?;
        let says = !WITHOUT_TRANSMITTER.contains(&subtype);
        let transmitter = says.then(|| r.array("address 2")).transpose()?;
        Ok(Self { subtype, flags, duration_us, receiver, transmitter })
    }

    fn write(&self, w: &mut Writer) {
        FrameControl { frame_type: FrameType::Control, subtype: self.subtype, flags: self.flags }.write(w);
        w.u16_le(self.duration_us);
        w.bytes(&self.receiver);
        if let Some(transmitter) = self.transmitter {
            w.bytes(&transmitter);
        }
    }
}

fn read_ht_control(is_there: bool, r: &mut Reader<'_>) -> Result<Option<[u8; 4]>, DecodeError> {
    is_there.then(|| r.array("HT control")).transpose()
}

fn write_ht_control(ht_control: Option<[u8; 4]>, w: &mut Writer) {
    if let Some(ht_control) = ht_control {
        w.bytes(&ht_control);
    }
}

const fn with_htc(flags: Flags, has_ht_control: bool) -> Flags {
    if has_ht_control { flags.with(Flags::HTC) } else { flags.without(Flags::HTC) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: MacAddr = [2, 0, 0, 0, 0, 0xa];
    const B: MacAddr = [2, 0, 0, 0, 0, 0xb];
    const C: MacAddr = [2, 0, 0, 0, 0, 0xc];
    const D: MacAddr = [2, 0, 0, 0, 0, 0xd];

    fn check(header: Header, len: usize) {
        let bytes = header.to_bytes();
        assert_eq!(bytes.len(), len);
        assert_eq!(Header::read(&mut Reader::new(&bytes)).unwrap(), header);
        for cut in 0..bytes.len() {
            assert!(Header::read(&mut Reader::new(&bytes[..cut])).is_err(), "{cut}");
        }
    }

    #[test]
    fn each_kind_has_its_length_and_is_nothing_less() {
        let management = ManagementHeader::new(11, A, B, C);
        check(Header::Management(management), 24);
        let ht_control = Some([1, 2, 3, 4]);
        check(Header::Management(ManagementHeader { flags: Flags::HTC, ht_control, ..management }), 28);
        let to = Addresses::ToAccessPoint { bssid: A, source: B, destination: C };
        let relayed = Addresses::Relayed { receiver: A, transmitter: B, destination: C, source: D };
        for (addresses, len) in [
            (Addresses::Direct { destination: A, source: B, bssid: C }, 24),
            (to, 24),
            (Addresses::FromAccessPoint { destination: A, bssid: B, source: C }, 24),
            (relayed, 30),
        ] {
            let data = DataHeader::new(addresses);
            check(Header::Data(data), len);
            check(Header::Data(DataHeader { flags: Flags::HTC, ..data }), len);
            check(Header::Data(DataHeader { qos: Some(Qos(0x87)), ..data }), len + 2);
            let qos = Some(Qos(5));
            check(Header::Data(DataHeader { flags: Flags::HTC, qos, ht_control, ..data }), len + 6);
        }
        let control =
            ControlHeader { subtype: 13, flags: Flags(0), duration_us: 0, receiver: A, transmitter: None };
        check(Header::Control(control), 10);
        check(Header::Control(ControlHeader { subtype: 11, transmitter: Some(B), ..control }), 16);
    }

    #[test]
    fn addresses_tell_who_sends_and_receives() {
        let to = Addresses::ToAccessPoint { bssid: A, source: B, destination: C };
        assert_eq!((to.receiver(), to.transmitter(), to.source(), to.destination()), (A, B, B, C));
        let from = Addresses::FromAccessPoint { destination: A, bssid: B, source: C };
        assert_eq!((from.receiver(), from.transmitter(), from.source(), from.destination()), (A, B, C, A));
    }

    #[test]
    fn versions_and_types_that_do_not_exist_are_refused() {
        let error = |kind: u8| Header::read(&mut Reader::new(&[kind, 0])).unwrap_err().to_string();
        assert_eq!(error(0x01), "frame control version at offset 0: value 1 is not allowed");
        assert_eq!(error(0x0c), "frame control type at offset 0: value 3 is not allowed");
    }

    #[test]
    fn numbers_of_sequence_and_traffic_are_told() {
        let sequence = SequenceControl::numbered(0x123);
        assert_eq!((sequence.0, sequence.number(), sequence.fragment()), (0x1230, 0x123, 0));
        assert_eq!((Qos(0x85).tid(), Qos(0x85).is_aggregate()), (5, true));
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_again(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut r = Reader::new(&bytes);
            if let Ok(header) = Header::read(&mut r) {
                prop_assert_eq!(&header.to_bytes()[..], &bytes[..r.offset()]);
            }
        }
    }
}
