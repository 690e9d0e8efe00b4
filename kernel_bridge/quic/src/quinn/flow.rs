//! The two ends of a flow.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, ConnectionError, Endpoint, QlogConfig, RecvStream, ServerConfig, TransportConfig, VarInt,
};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use leo_quic::arguments::{Arguments, End};
use leo_quic::logs::{Progress, SharedFile};
use leo_quic::{CHUNK_BYTES, Outcome, PROTOCOL, chunks, until_terminated};

/// A receiver ends a connection when the bytes of a stream have more than 1,024 gaps (quinn's pull request 2694). As its packets
/// carry over 1,024 bytes each, no losses make as many gaps in this window.
const WINDOW_BYTES: u32 = 2 << 20;

/// Carries out an end of a flow.
///
/// # Errors
///
/// Certificates are missing, or the connection fails.
pub async fn run(arguments: &Arguments) -> Outcome {
    // rustls has two providers here: s2n-quic needs the other.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut progress = Progress::create(&arguments.log)?;
    let mut transport = transport(arguments.scheme);
    match &arguments.end {
        End::Sender => {
            let mut log = SharedFile::create(&arguments.log.join("sender.qlog"))?;
            let mut qlog = QlogConfig::default();
            qlog.writer(Box::new(log.clone()));
            transport.qlog_stream(qlog.into_stream());
            let outcome = until_terminated(send(arguments.port, transport, &mut progress)).await;
            log.flush()?;
            progress.complete()?;
            outcome
        }
        End::Receiver { host, bytes } => {
            let outcome =
                until_terminated(receive((host, arguments.port), *bytes, transport, &mut progress)).await;
            progress.complete()?;
            outcome
        }
    }
}

fn transport(scheme: &str) -> TransportConfig {
    let mut transport = TransportConfig::default();
    match scheme {
        "cubic" => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "newreno" => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        _ => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
    };
    transport.stream_receive_window(VarInt::from_u32(WINDOW_BYTES));
    transport
}

/// Sends what the first connection asks for, and closes it when all is acknowledged.
async fn send(port: u16, transport: TransportConfig, progress: &mut Progress) -> Outcome {
    let certificates = CertificateDer::pem_file_iter("tls.crt")?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file("tls.key")?;
    let mut tls =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(certificates, key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
    let connection = endpoint.accept().await.ok_or("the endpoint has closed")?.await?;
    let (mut stream, mut requests) = connection.accept_bi().await?;
    let mut request = [0; 8];
    requests.read_exact(&mut request).await?;
    let bytes = u64::from_be_bytes(request);
    let chunk = [0; CHUNK_BYTES];
    for length in chunks(bytes) {
        if stream.write_all(&chunk[..length]).await.is_err() {
            return Ok(()); // The receiver has been stopped.
        }
    }
    stream.finish()?;
    if stream.stopped().await.is_ok_and(|code| code.is_none()) {
        progress.add(bytes)?;
    }
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Asks for bytes, and returns when they have arrived.
async fn receive(
    from: (&str, u16),
    bytes: u64,
    transport: TransportConfig,
    progress: &mut Progress,
) -> Outcome {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter("ca.crt")? {
        roots.add(certificate?)?;
    }
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let address = tokio::net::lookup_host(from).await?.find(SocketAddr::is_ipv4).ok_or("no IPv4 address")?;
    let endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    let connection = endpoint.connect_with(config, address, from.0)?.await?;
    let (mut requests, mut stream) = connection.open_bi().await?;
    requests.write_all(&bytes.to_be_bytes()).await?;
    requests.finish()?;
    read(&mut stream, progress).await?;
    // The sender closes the connection when all bytes are acknowledged.
    match connection.closed().await {
        ConnectionError::ApplicationClosed(_) => Ok(()),
        lost => Err(lost.into()),
    }
}

async fn read(stream: &mut RecvStream, progress: &mut Progress) -> Outcome {
    while let Some(chunk) = stream.read_chunk(CHUNK_BYTES, true).await? {
        progress.add(chunk.bytes.len() as u64)?;
    }
    Ok(())
}
