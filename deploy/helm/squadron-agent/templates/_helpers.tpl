{{/* The name of everything in the release's namespace; also the name of the agent's service account. */}}
{{- define "squadron-agent.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of what belongs to the whole cluster, told apart by the release's namespace. */}}
{{- define "squadron-agent.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "squadron-agent.name" .) -}}
{{- end -}}

{{/* Labels that never change. Call with (list $ "controller"). */}}
{{- define "squadron-agent.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "squadron-agent.labels" -}}
{{- $root := index . 0 -}}
{{ include "squadron-agent.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The certificate authority as PEM text, whichever way it was given. */}}
{{- define "squadron-agent.ca" -}}
{{- $given := .Values.controlPlane.caBundle -}}
{{- $pem := contains "-----BEGIN CERTIFICATE-----" $given | ternary $given ($given | nospace | b64dec) -}}
{{- if not (contains "-----BEGIN CERTIFICATE-----" $pem) -}}
{{- fail "controlPlane.caBundle holds no PEM certificate; give the text of the control plane's ca.crt, or base64 of it" -}}
{{- end -}}
{{- $pem | trim -}}
{{- end -}}

{{/* What the schema cannot say, refused here. */}}
{{- define "squadron-agent.check" -}}
{{- if not (hasSuffix (printf ":%s" .Values.cluster.id) .Values.controlPlane.audience) -}}
{{- fail "controlPlane.audience does not end with cluster.id; take both from one answer of `squadron cluster add`" -}}
{{- end -}}
{{- if and .Values.enrollment.code .Values.enrollment.existingSecret -}}
{{- fail "enrollment.code and enrollment.existingSecret are both set; remove one of them" -}}
{{- end -}}
{{- range .Values.namespaces -}}
{{- if or (eq . $.Release.Namespace) (hasPrefix "kube-" .) -}}
{{- fail (printf "namespaces names %s, but no job may run in the agent's own namespace or in one of Kubernetes; remove it" .) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.rbac.onlyInNamespaces (not .Values.namespaces) -}}
{{- fail "rbac.onlyInNamespaces is true but namespaces is empty, so the agent could write nowhere; name the namespaces" -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the one-time code, or nothing. */}}
{{- define "squadron-agent.enrolmentSecret" -}}
{{- if .Values.enrollment.code -}}
{{- include "squadron-agent.name" . }}-enrolment
{{- else -}}
{{- .Values.enrollment.existingSecret -}}
{{- end -}}
{{- end -}}

{{/* Environment variables that say which pod this is. */}}
{{- define "squadron-agent.podEnv" -}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
{{- end -}}

{{- define "squadron-agent.image" -}}
{{ .Values.image.repository }}{{ hasPrefix "sha256:" .Values.image.tag | ternary "@" ":" }}{{ .Values.image.tag }}
{{- end -}}
