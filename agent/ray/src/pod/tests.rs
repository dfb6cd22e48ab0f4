//! Pods as KubeRay would build them.
