//! The two ends of a flow.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use leo_quic::arguments::{Arguments, End};
use leo_quic::logs::{Progress, SharedFile};
use leo_quic::{CHUNK_BYTES, Failure, Outcome, PROTOCOL, chunks, until_terminated};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{self, Bbr, Cubic};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls;
use s2n_quic::stream::PeerStream;
use s2n_quic::{Client, Server};

use crate::qlog::Qlog;

/// What neither end limits: more than any path holds in an RTT.
const WINDOW_BYTES: u32 = 64 << 20;
/// The time in which the endpoint sends its last packets: servers of s2n-quic cannot be waited for.
const CLOSING: Duration = Duration::from_millis(100);

/// Carries out an end of a flow.
///
/// # Errors
///
/// Certificates are missing, or the connection fails.
pub async fn run(arguments: &Arguments) -> Outcome {
    match arguments.scheme {
        "cubic" => run_with(arguments, Cubic::default()).await,
        _ => run_with(arguments, Bbr::default()).await,
    }
}

async fn run_with(arguments: &Arguments, scheme: impl congestion_controller::Endpoint) -> Outcome {
    // Its first use seeds the generator for half a billion instructions, which would delay the handshake.
    aws_lc_rs::rand::fill(&mut [0; 1]).map_err(|_| "no random numbers")?;
    let mut progress = Progress::create(&arguments.log)?;
    match &arguments.end {
        End::Sender => {
            let mut log = SharedFile::create(&arguments.log.join("sender.qlog"))?;
            let qlog = Qlog::new(log.clone())?;
            let outcome = until_terminated(send(arguments.port, scheme, qlog, &mut progress)).await;
            log.flush()?;
            progress.complete()?;
            outcome
        }
        End::Receiver { host, bytes } => {
            let outcome =
                until_terminated(receive((host, arguments.port), *bytes, scheme, &mut progress)).await;
            progress.complete()?;
            outcome
        }
    }
}

fn limits() -> Result<Limits, Failure> {
    let window = u64::from(WINDOW_BYTES);
    Ok(Limits::new()
        .with_data_window(window)?
        .with_bidirectional_local_data_window(window)?
        .with_max_send_buffer_size(WINDOW_BYTES)?)
}

/// Sends what the first connection asks for, and closes it when all is acknowledged.
async fn send(
    port: u16,
    scheme: impl congestion_controller::Endpoint,
    qlog: Qlog,
    progress: &mut Progress,
) -> Outcome {
    let tls = rustls::Server::builder()
        .with_certificate(Path::new("tls.crt"), Path::new("tls.key"))?
        .with_application_protocols([PROTOCOL].iter())?
        .build()?;
    let mut server = Server::builder()
        .with_tls(tls)?
        .with_io(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?
        .with_congestion_controller(scheme)?
        .with_limits(limits()?)?
        .with_event(qlog)?
        .start()?;
    let mut connection = server.accept().await.ok_or("the endpoint has closed")?;
    let mut stream = connection.accept_bidirectional_stream().await?.ok_or("the connection has closed")?;
    let mut request = Vec::new();
    while let Some(part) = stream.receive().await? {
        request.extend_from_slice(&part);
    }
    let bytes = u64::from_be_bytes(request.try_into().map_err(|_| "the request is not eight bytes")?);
    let chunk = bytes::Bytes::from_static(&[0; CHUNK_BYTES]);
    for length in chunks(bytes) {
        if stream.send(chunk.slice(..length)).await.is_err() {
            return Ok(()); // The receiver has been stopped.
        }
    }
    // Returns when all bytes are acknowledged.
    if stream.close().await.is_ok() {
        progress.add(bytes)?;
    }
    connection.close(0_u32.into());
    tokio::time::sleep(CLOSING).await;
    Ok(())
}

/// Asks for bytes, and returns when they have arrived and the sender has closed the connection.
async fn receive(
    from: (&str, u16),
    bytes: u64,
    scheme: impl congestion_controller::Endpoint,
    progress: &mut Progress,
) -> Outcome {
    let tls = rustls::Client::builder()
        .with_certificate(Path::new("ca.crt"))?
        .with_application_protocols([PROTOCOL].iter())?
        .build()?;
    let client = Client::builder()
        .with_tls(tls)?
        .with_io(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?
        .with_congestion_controller(scheme)?
        .with_limits(limits()?)?
        .start()?;
    let address = tokio::net::lookup_host(from).await?.find(SocketAddr::is_ipv4).ok_or("no IPv4 address")?;
    let connection = client.connect(Connect::new(address).with_server_name(from.0)).await?;
    let (mut handle, mut acceptor) = connection.split();
    let mut stream = handle.open_bidirectional_stream().await?;
    stream.send(bytes::Bytes::copy_from_slice(&bytes.to_be_bytes())).await?;
    stream.finish()?;
    while let Some(part) = stream.receive().await? {
        progress.add(part.len() as u64)?;
    }
    let peer: Result<Option<PeerStream>, _> = acceptor.accept().await;
    match peer {
        Ok(None) | Err(_) => Ok(()),
        Ok(Some(_)) => Err("the sender has opened a stream".into()),
    }
}
