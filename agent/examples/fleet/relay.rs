//! Relay: the wire between agents and control plane, which counts the bytes that pass, encrypted as they are.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// Bytes so far: up to the control plane, and down to agents.
#[derive(Default)]
pub struct Bytes {
    pub up: AtomicU64,
    pub down: AtomicU64,
}

impl Bytes {
    pub fn now(&self) -> (u64, u64) {
        (self.up.load(Ordering::Relaxed), self.down.load(Ordering::Relaxed))
    }
}

/// Passes connections on to `control_plane`; answers where agents dial.
pub async fn start(control_plane: SocketAddr) -> Result<(SocketAddr, Arc<Bytes>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (address, bytes) = (listener.local_addr()?, Arc::new(Bytes::default()));
    let counted = bytes.clone();
    tokio::spawn(async move {
        while let Ok((agent, _)) = listener.accept().await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let Ok(far) = TcpStream::connect(control_plane).await else { return };
                // Small messages must not wait for each other.
                let _quick = (agent.set_nodelay(true), far.set_nodelay(true));
                let ((from, back), (answers, to)) = (agent.into_split(), far.into_split());
                tokio::join!(pass(from, to, &counted.up), pass(answers, back, &counted.down));
            });
        }
    });
    Ok((address, bytes))
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, count: &AtomicU64) {
    let mut buffer = vec![0; 4 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        count.fetch_add(read as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
    // The other side may have closed first.
    let _closed = to.shutdown().await;
}
