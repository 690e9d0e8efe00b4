//! The messages of a TLS 1.3 handshake as QUIC carries them (RFC 9001), with the sizes of rustls's and without cryptography.
//!
//! Each flight of a full handshake is there: the same bytes leave in the same packets as with rustls. Packets have room for the
//! tag of an AEAD, which stays zero. So a run draws no random numbers of the system, and a seed fixes every byte.

use std::any::Any;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::{Error, TransportParameters};
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Bytes of a ClientHello. QUIC pads its packet anyway.
const CLIENT_HELLO_BYTES: usize = 300;
/// Bytes of a ServerHello with an X25519 key share.
const SERVER_HELLO_BYTES: usize = 90;
/// Bytes of EncryptedExtensions, Certificate, CertificateVerify and Finished with the lab's chain of certificates.
const SERVER_FLIGHT_BYTES: usize = 1_250;
/// Bytes of a Finished with SHA-384.
const FINISHED_BYTES: usize = 52;
/// Bytes of the session tickets of a server.
const TICKETS_BYTES: usize = 200;
/// Type and length of a message (RFC 8446 §4).
const HEADER_BYTES: usize = 4;
/// The tag of AES-GCM and the sample of header protection (RFC 9001 §5).
const TAG_BYTES: usize = 16;

/// Configures both ends.
#[derive(Debug)]
pub struct PlainTls;

impl ClientConfig for PlainTls {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(PlainSession::new(Side::Client, params)))
    }
}

impl ServerConfig for PlainTls {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(PlainSession::new(Side::Server, params))
    }
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The client's hello has to leave, or to arrive.
    Hello,
    /// The server's hello has to leave, or to arrive.
    ServerHello,
    /// The client has the server's hello.
    Keys,
    /// The rest of the server's flight has to leave, or to arrive.
    Flight,
    /// The client's last message has to leave, or to arrive.
    Finished,
    /// The server's tickets have to leave.
    Tickets,
    Done,
}

struct PlainSession {
    side: Side,
    stage: Stage,
    params: Vec<u8>,
    peer: Option<TransportParameters>,
    received: BytesMut,
}

impl PlainSession {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        Self { side, stage: Stage::Hello, params: encoded, peer: None, received: BytesMut::new() }
    }

    /// Process a whole message.
    fn on_message(&mut self, content: &[u8]) -> Result<(), TransportError> {
        self.stage = match (self.side, self.stage) {
            (Side::Server, Stage::Hello) => {
                self.read_params(content)?;
                Stage::ServerHello
            }
            (Side::Client, Stage::ServerHello) => Stage::Keys,
            (Side::Client, Stage::Flight) => {
                self.read_params(content)?;
                Stage::Finished
            }
            (Side::Server, Stage::Finished) => Stage::Tickets,
            (_, stage) => stage,
        };
        Ok(())
    }

    /// Read the peer's transport parameters, which a message begins with after their length.
    fn read_params(&mut self, mut content: &[u8]) -> Result<(), TransportError> {
        let length = content.try_get_u16().map_err(|_| Error::Malformed)?;
        let mut encoded = content.get(..usize::from(length)).ok_or(Error::Malformed)?;
        // The side is that of the reader.
        self.peer = Some(TransportParameters::read(self.side, &mut encoded)?);
        Ok(())
    }

    fn with_params(&self, bytes: usize, buffer: &mut Vec<u8>) {
        let content = [&(self.params.len() as u16).to_be_bytes()[..], &self.params].concat();
        write_message(bytes.max(content.len() + HEADER_BYTES), &content, buffer);
    }
}

fn write_message(bytes: usize, content: &[u8], buffer: &mut Vec<u8>) {
    let end = buffer.len() + bytes;
    buffer.extend_from_slice(&((bytes - HEADER_BYTES) as u32).to_be_bytes());
    buffer.extend_from_slice(content);
    buffer.resize(end, 0);
}

impl Session for PlainSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => !matches!(self.stage, Stage::Finished | Stage::Done),
            Side::Server => !matches!(self.stage, Stage::Tickets | Stage::Done),
        }
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.received.extend_from_slice(buf);
        while let Some(header) = self.received.first_chunk::<HEADER_BYTES>() {
            let length = u32::from_be_bytes(*header) as usize;
            if self.received.len() < HEADER_BYTES + length {
                break;
            }
            let message = self.received.split_to(HEADER_BYTES + length);
            self.on_message(&message[HEADER_BYTES..])?;
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let (stage, keys) = match (self.side, self.stage) {
            (Side::Client, Stage::Hello) => {
                self.with_params(CLIENT_HELLO_BYTES, buf);
                (Stage::ServerHello, None)
            }
            (Side::Client, Stage::Keys) => (Stage::Flight, Some(keys())),
            (Side::Client, Stage::Finished) => {
                write_message(FINISHED_BYTES, &[], buf);
                (Stage::Done, Some(keys()))
            }
            (Side::Server, Stage::ServerHello) => {
                write_message(SERVER_HELLO_BYTES, &[], buf);
                (Stage::Flight, Some(keys()))
            }
            (Side::Server, Stage::Flight) => {
                self.with_params(SERVER_FLIGHT_BYTES, buf);
                (Stage::Finished, Some(keys()))
            }
            (Side::Server, Stage::Tickets) => {
                write_message(TICKETS_BYTES, &[], buf);
                (Stage::Done, None)
            }
            (_, stage) => (stage, None),
        };
        self.stage = stage;
        keys
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(PlainKey), remote: Box::new(PlainKey) })
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// A key that changes nothing.
struct PlainKey;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(PlainKey), remote: Box::new(PlainKey) },
        packet: KeyPair { local: Box::new(PlainKey), remote: Box::new(PlainKey) },
    }
}

impl PacketKey for PlainKey {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        // RFC 9001 §6.6, for AES-GCM.
        1 << 23
    }

    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

impl HeaderKey for PlainKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG_BYTES
    }
}

/// Makes stateless reset tokens, which differ between connection identifiers.
pub struct ResetKey;

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let seed = data.iter().fold(0_u64, |seed, &byte| seed.rotate_left(8) ^ u64::from(byte));
        Pcg64Mcg::seed_from_u64(seed).fill_bytes(signature_out);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        if expected == signature { Ok(()) } else { Err(CryptoError) }
    }
}

/// Seals address validation tokens, of which these servers issue none.
pub struct TokenKey;

impl HandshakeTokenKey for TokenKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for TokenKey {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }

    fn open<'a>(&self, _data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Err(CryptoError)
    }
}
