//! Compiles the protos with protox, so that no protoc is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["squadron/link/v1/link.proto"], ["proto"])?;
    println!("cargo:rerun-if-changed=proto");
    tonic_prost_build::configure().bytes(".").codec_path("crate::codec::LinkCodec").compile_fds(files)?;
    Ok(())
}
