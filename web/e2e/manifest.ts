/** A RayJob that no cluster can hold: it waits with a reason and takes nothing from anybody. */
export function hugeJob(name: string): string {
  const pod = (container: string) => `
          containers:
            - name: ${container}
              image: rayproject/ray:2.60.0
              resources:
                requests: { cpu: "100000", memory: 1Gi }
                limits: { cpu: "100000", memory: 1Gi }`;
  return `apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: ${name}
spec:
  entrypoint: python -c "print('never')"
  rayClusterSpec:
    rayVersion: "2.60.0"
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:${pod("ray-head")}
`;
}
