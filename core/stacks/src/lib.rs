//! QUIC flows with quinn-proto, which takes time as an argument: both ends in one process, over the simulator's links.
//!
//! Transport parameters and applications are those of leo-quinn (`kernel_bridge/quic`), which runs the same version of
//! quinn-proto in the lab. quinn's BBR is not here: it draws from the system's random numbers, which no seed fixes.

mod application;
mod clock;
mod host;
mod plain_tls;
mod recorder;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use leo_transport::{Datagram, End, Nanos, Stack, StackStats};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, ServerConfig,
    TransportConfig, VarInt,
};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use application::Application;
use clock::Clock;
use host::Host;
use plain_tls::{PlainTls, ResetKey, TokenKey};
use recorder::{Recording, SharedRecord};

/// The schemes, each with a sentence.
pub const SCHEMES: [(&str, &str); 2] = [
    ("quic:quinn-cubic", "QUIC stack quinn (quinn-proto 0.11.19) with its CUBIC."),
    ("quic:quinn-newreno", "QUIC stack quinn (quinn-proto 0.11.19) with its NewReno."),
];

/// A receiver ends a connection when the bytes of a stream have more than 1,024 gaps (quinn's pull request 2694). As its packets
/// carry over 1,024 bytes each, no losses make as many gaps in this window.
const WINDOW_BYTES: u32 = 2 << 20;
/// IPv4 and UDP.
const HEADERS_BYTES: u64 = 28;
/// Bytes of a connection identifier of an endpoint, and of the first one that a client makes up: quinn's defaults.
const ID_BYTES: usize = 8;
const FIRST_ID_BYTES: usize = 20;

/// Return both ends of a flow with the scheme, backlogged unless it is a transfer; `None` for an unknown scheme.
///
/// The seed fixes connection identifiers and all other random numbers, so every byte.
pub fn stack(scheme: &str, seed: u64, transfer_bytes: Option<u64>) -> Option<Box<dyn Stack>> {
    let record = SharedRecord::default();
    let sender = match scheme {
        "quic:quinn-cubic" => recorded(CubicConfig::default(), &record),
        "quic:quinn-newreno" => recorded(NewRenoConfig::default(), &record),
        _ => return None,
    };
    Some(Box::new(Quinn::new(seed, transfer_bytes, sender, record)))
}

fn recorded<F: ControllerFactory + Send + Sync + 'static>(
    inner: F,
    record: &SharedRecord,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    Arc::new(Recording { inner: Arc::new(inner), record: record.clone() })
}

/// A flow between two endpoints.
#[derive(Debug)]
struct Quinn {
    sender: Host,
    receiver: Host,
    client: Option<ClientConfig>,
    record: SharedRecord,
}

impl Quinn {
    fn new(
        seed: u64,
        transfer_bytes: Option<u64>,
        controller: Arc<dyn ControllerFactory + Send + Sync>,
        record: SharedRecord,
    ) -> Self {
        let mut seeds = Pcg64Mcg::seed_from_u64(seed);
        let clock = Clock::new();
        let mut server = ServerConfig::new(Arc::new(PlainTls), Arc::new(TokenKey));
        let mut transport = transport();
        transport.congestion_controller_factory(controller);
        server.transport_config(Arc::new(transport));
        let mut client = ClientConfig::new(Arc::new(PlainTls));
        client.transport_config(Arc::new(self::transport()));
        let first_id = id(&mut seeds, FIRST_ID_BYTES);
        client.initial_dst_cid_provider(Arc::new(move || first_id));
        let sender = endpoint(&mut seeds, Some(server));
        let receiver = endpoint(&mut seeds, None);
        Self {
            sender: Host::new(clock, sender, Application::server(), Some(record.clone())),
            receiver: Host::new(clock, receiver, Application::client(transfer_bytes), None),
            client: Some(client),
            record,
        }
    }

    const fn host(&mut self, end: End) -> &mut Host {
        match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        }
    }
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(WINDOW_BYTES));
    transport
}

fn endpoint(seeds: &mut Pcg64Mcg, server: Option<ServerConfig>) -> Endpoint {
    let mut config = EndpointConfig::new(Arc::new(ResetKey));
    let mut seed = [0; 32];
    seeds.fill_bytes(&mut seed);
    let of_ids = seeds.next_u64();
    config.rng_seed(Some(seed)).cid_generator(move || Box::new(Ids(Pcg64Mcg::seed_from_u64(of_ids))));
    Endpoint::new(Arc::new(config), server.map(Arc::new), true, None)
}

fn id(random: &mut Pcg64Mcg, length: usize) -> ConnectionId {
    let mut bytes = [0; FIRST_ID_BYTES];
    random.fill_bytes(&mut bytes);
    ConnectionId::new(&bytes[..length])
}

/// Makes connection identifiers from a seed.
struct Ids(Pcg64Mcg);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        id(&mut self.0, ID_BYTES)
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl Stack for Quinn {
    fn start(&mut self, now: Nanos) {
        if let Some(client) = self.client.take() {
            self.receiver.connect(now, client);
        }
    }

    fn wakes(&self) -> Nanos {
        self.sender.wakes().min(self.receiver.wakes())
    }

    fn wake(&mut self, now: Nanos) {
        self.sender.wake(now);
        self.receiver.wake(now);
    }

    fn on_datagram(&mut self, end: End, now: Nanos, datagram: &Datagram) {
        self.host(end).on_datagram(now, datagram);
    }

    fn transmit(&mut self, end: End, now: Nanos) -> Option<Datagram> {
        self.host(end).transmit(now)
    }

    fn take_rtt(&mut self) -> Option<Nanos> {
        let rtt = self.record.lock().unwrap_or_else(PoisonError::into_inner).rtt.take()?;
        Some(rtt.as_nanos() as Nanos)
    }

    fn is_complete(&self) -> bool {
        self.sender.application().is_complete()
    }

    fn lost(&self) -> Option<(Nanos, End, &str)> {
        let sender = self.sender.lost().map(|(at, reason)| (at, End::Sender, reason));
        let receiver = self.receiver.lost().map(|(at, reason)| (at, End::Receiver, reason));
        sender.into_iter().chain(receiver).min_by_key(|(at, ..)| *at)
    }

    fn stats(&self) -> StackStats {
        let delivered_bytes = match *self.receiver.application() {
            Application::Client { delivered, .. } => delivered,
            Application::Server { .. } => 0,
        };
        let Some(connection) = self.sender.connection() else {
            return StackStats { delivered_bytes, ..StackStats::default() };
        };
        let stats = connection.stats();
        StackStats {
            sent_packets: stats.path.sent_packets,
            sent_bytes: stats.udp_tx.bytes + HEADERS_BYTES * stats.udp_tx.datagrams,
            lost_packets: stats.path.lost_packets,
            probe_timeouts: self.sender.probe_timeouts(),
            delivered_bytes,
            window_bytes: stats.path.cwnd,
            in_flight_bytes: self.record.lock().unwrap_or_else(PoisonError::into_inner).in_flight,
            payload_bytes: u64::from(stats.path.current_mtu),
        }
    }
}
