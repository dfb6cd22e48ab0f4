//! The link's hello: the bytes that an agent signs to prove that it holds its key.
//!
//! Owns what the signature covers, so that both ends build the same bytes. Invariant: two different inputs never give
//! the same bytes, because every part carries its length. A part too long for its length field cannot be written, and
//! no such part exists: nonces are 32 bytes, tokens are hashed, ids are texts of at most 253 characters.

/// Domain of the signature; a signature made for another purpose never verifies here.
const DOMAIN: &[u8] = b"squadron-hello-v1";

/// What `Hello.signature` covers: the domain, then the server's nonce, the cluster id as text, the pod uid and the
/// SHA-256 of the bearer token, each prefixed with its length in bytes as a big-endian `u32`.
pub fn hello_bytes(nonce: &[u8], cluster_id: &str, pod_uid: &str, token_sha256: &[u8; 32]) -> Vec<u8> {
    let parts = [nonce, cluster_id.as_bytes(), pod_uid.as_bytes(), token_sha256.as_slice()];
    let mut bytes = DOMAIN.to_vec();
    for part in parts {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_fixed() {
        let bytes = hello_bytes(&[1, 2], "c", "pod", &[9; 32]);
        let mut expected = b"squadron-hello-v1".to_vec();
        expected.extend_from_slice(&[
            0, 0, 0, 2, 1, 2, 0, 0, 0, 1, b'c', 0, 0, 0, 3, b'p', b'o', b'd', 0, 0, 0, 32,
        ]);
        expected.extend_from_slice(&[9; 32]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn moving_a_byte_between_parts_changes_the_bytes() {
        let token = [0; 32];
        assert_ne!(hello_bytes(b"n", "ab", "c", &token), hello_bytes(b"n", "a", "bc", &token));
        assert_ne!(hello_bytes(b"na", "b", "c", &token), hello_bytes(b"n", "ab", "c", &token));
    }
}
