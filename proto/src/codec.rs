//! Codec: prost over small buffers.
//!
//! A control plane holds two streams of every agent, which carry a small message every few seconds; a stream's buffers stay for as
//! long as it lives. They grow where a message is longer.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstDecoder, ProstEncoder};

/// Bytes that a stream's buffer begins with, in each direction; tonic's own 8 KiB otherwise.
const BUFFER: usize = 512;
/// Bytes that are gathered before they are handed on, as tonic does.
const YIELD: usize = 32 * 1024;

/// The codec of the link.
#[derive(Clone, Debug)]
pub struct LinkCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for LinkCodec<T, U> {
    fn default() -> Self {
        LinkCodec(PhantomData)
    }
}

impl<T, U> Codec for LinkCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::new(BufferSettings::new(BUFFER, YIELD))
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstDecoder::new(BufferSettings::new(BUFFER, YIELD))
    }
}
