//! The two ends of a flow.

use std::io::{self, Write};
use std::net::SocketAddr;

use leo_quic::arguments::{Arguments, End};
use leo_quic::logs::{Progress, SharedFile};
use leo_quic::{CHUNK_BYTES, Outcome, PROTOCOL, chunks, until_terminated};
use quiche::{Config, Connection, ConnectionId, Error, QlogLevel};

use crate::endpoint::{Endpoint, PACKET_BYTES};

/// The first stream that a client opens.
const STREAM: u64 = 0;
/// Receive windows of the connection and the stream, as in quiche's own programs; quiche doubles them, up to 24 and 16 MiB,
/// while the sender uses them up within two RTTs.
const WINDOW_BYTES: [u64; 2] = [10_000_000, 1_000_000];
static CHUNK: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
/// As in quiche's own programs.
const IDLE_MS: u64 = 30_000;
/// Each socket has one connection, so any ID serves; of the length that quiche's own programs use.
const ID: [u8; quiche::MAX_CONN_ID_LEN] = [0; quiche::MAX_CONN_ID_LEN];

/// Carries out an end of a flow.
///
/// # Errors
///
/// Certificates are missing, or the connection fails.
pub async fn run(arguments: &Arguments) -> Outcome {
    let mut progress = Progress::create(&arguments.log)?;
    let mut config = config(arguments.scheme)?;
    match &arguments.end {
        End::Sender => {
            let mut log = SharedFile::create(&arguments.log.join("sender.qlog"))?;
            let end = send(arguments.port, &mut config, log.clone(), &mut progress);
            let outcome = until_terminated(end).await;
            log.flush()?;
            progress.complete()?;
            outcome
        }
        End::Receiver { host, bytes } => {
            let end = receive((host, arguments.port), *bytes, &mut config, &mut progress);
            let outcome = until_terminated(end).await;
            progress.complete()?;
            outcome
        }
    }
}

fn config(scheme: &str) -> quiche::Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_cc_algorithm_name(scheme)?;
    config.set_application_protos(&[PROTOCOL])?;
    config.set_max_idle_timeout(IDLE_MS);
    config.set_max_recv_udp_payload_size(PACKET_BYTES);
    config.set_max_send_udp_payload_size(PACKET_BYTES);
    let [connection_bytes, stream_bytes] = WINDOW_BYTES;
    config.set_initial_max_data(connection_bytes);
    config.set_initial_max_stream_data_bidi_local(stream_bytes);
    config.set_initial_max_stream_data_bidi_remote(stream_bytes);
    config.set_initial_max_streams_bidi(1);
    Ok(config)
}

/// Sends what the first connection asks for, and closes it when all is acknowledged.
async fn send(port: u16, config: &mut Config, log: SharedFile, progress: &mut Progress) -> Outcome {
    config.load_cert_chain_from_pem_file("tls.crt")?;
    config.load_priv_key_from_pem_file("tls.key")?;
    let mut endpoint = Endpoint::bind(port)?;
    let from = endpoint.first_peer().await?;
    let mut connection = quiche::accept(&ConnectionId::from_ref(&ID), None, endpoint.local, from, config)?;
    connection.set_qlog_with_level(Box::new(log), String::new(), String::new(), QlogLevel::Core);
    let mut request = Vec::new();
    read(&mut endpoint, &mut connection, |part| request.write_all(part)).await?;
    let bytes = u64::from_be_bytes(request.try_into().map_err(|_| "the request is not eight bytes")?);
    let mut unsent = bytes;
    while !write(&mut connection, &mut unsent)? {
        exchange(&mut endpoint, &mut connection).await?;
    }
    progress.add(bytes)?;
    connection.close(true, 0, b"")?;
    while !connection.is_closed() {
        endpoint.exchange(&mut connection).await?;
    }
    Ok(())
}

/// Asks for bytes, and returns when they have arrived and the sender has closed the connection.
async fn receive(from: (&str, u16), bytes: u64, config: &mut Config, progress: &mut Progress) -> Outcome {
    config.load_verify_locations_from_file("ca.crt")?;
    config.verify_peer(true);
    let address = tokio::net::lookup_host(from).await?.find(SocketAddr::is_ipv4).ok_or("no IPv4 address")?;
    let mut endpoint = Endpoint::bind(0)?;
    let mut connection =
        quiche::connect(Some(from.0), &ConnectionId::from_ref(&ID), endpoint.local, address, config)?;
    while !connection.is_established() {
        exchange(&mut endpoint, &mut connection).await?;
    }
    connection.stream_send(STREAM, &bytes.to_be_bytes(), true)?;
    read(&mut endpoint, &mut connection, |part| progress.add(part.len() as u64)).await?;
    // Meanwhile, quiche acknowledges what the sender repeats.
    while !connection.is_closed() {
        endpoint.exchange(&mut connection).await?;
    }
    Ok(())
}

/// Reads the stream to its end.
async fn read(
    endpoint: &mut Endpoint,
    connection: &mut Connection,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Outcome {
    let mut part = vec![0; CHUNK_BYTES];
    loop {
        // Before the stream's first packet, this is an error.
        while let Ok((length, is_last)) = connection.stream_recv(STREAM, &mut part) {
            take(&part[..length])?;
            if is_last {
                return Ok(());
            }
        }
        exchange(endpoint, connection).await?;
    }
}

/// Gives quiche what it has room for; returns whether all is acknowledged.
fn write(connection: &mut Connection, unsent: &mut u64) -> quiche::Result<bool> {
    while let Some(length) = chunks(*unsent).next() {
        match connection.stream_send(STREAM, &CHUNK[..length], length as u64 == *unsent) {
            Ok(taken) => *unsent -= taken as u64,
            Err(Error::Done) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    // quiche forgets a stream that has ended in both directions.
    Ok(matches!(connection.stream_capacity(STREAM), Err(Error::InvalidStreamState(_))))
}

/// Exchanges packets before the flow's end, where no connection may close.
async fn exchange(endpoint: &mut Endpoint, connection: &mut Connection) -> Outcome {
    endpoint.exchange(connection).await?;
    let error = connection.local_error().or(connection.peer_error());
    if connection.is_timed_out() {
        Err("the connection has timed out".into())
    } else if let Some(error) = error {
        let reason = String::from_utf8_lossy(&error.reason);
        Err(format!("the connection has ended with error {}: {reason}", error.error_code).into())
    } else if connection.is_closed() {
        Err("the connection has ended".into())
    } else {
        Ok(())
    }
}
