{{/*
What the agent's controller may write, apart from its own namespace. Nothing here is a wildcard and no rule names
Secrets. In operate mode it also holds what it passes on to Ray's autoscaler, because Kubernetes lets nobody grant
what he does not hold.
*/}}
{{- define "squadron-agent.writeRules" -}}
# Jobs that the control plane sends.
- apiGroups: [ray.io]
  resources: [rayjobs]
  verbs: [create, patch, delete]
# Events about the objects that are reconciled.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# What became of RayJobs that wait for Squadron.
- apiGroups: [ray.io]
  resources: [rayjobs/status]
  verbs: [update]
{{- if .Values.operate }}
- apiGroups: [ray.io]
  resources: [rayclusters]
  verbs: [create, patch, delete]
- apiGroups: [ray.io]
  resources: [rayclusters/status]
  verbs: [update]
# Owner references that block the deletion of their owner.
- apiGroups: [ray.io]
  resources: [rayclusters/finalizers, rayjobs/finalizers]
  verbs: [update]
# Patching pods and resizing them is passed on to Ray's autoscaler only.
- apiGroups: [""]
  resources: [pods]
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [pods/resize]
  verbs: [patch]
- apiGroups: [""]
  resources: [services]
  verbs: [create, patch]
# Submitters of RayJobs.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, delete, patch]
# The account of Ray's autoscaler, where a RayCluster asks for one.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [create]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [create]
{{- else }}
# What must stop when the lease ends is stopped with the fence's own grace, which KubeRay's operator does not give.
# Worker groups that have more than their minimum shrink for jobs that wait.
- apiGroups: [ray.io]
  resources: [rayclusters]
  verbs: [patch, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [delete]
{{- end }}
{{- end -}}

{{/* What the agent's controller may read in the whole cluster. */}}
{{- define "squadron-agent.readRules" -}}
- apiGroups: [ray.io]
  resources: [rayclusters, rayjobs]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [nodes, pods, services, events]
  verbs: [get, list, watch]
# Output of drivers.
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch]
# The uid of kube-system tells one cluster from another.
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
# Whether KubeRay's operator is active, in whatever namespace.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list]
{{- if .Values.operate }}
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, watch]
{{- end }}
# The keys that sign this cluster's tokens, sent to the control plane at enrolment and when they change.
- nonResourceURLs: [/.well-known/openid-configuration, /openid/v1/jwks]
  verbs: [get]
{{- end -}}
