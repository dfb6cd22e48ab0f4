{{/* Settings of the controller. */}}
{{- define "squadron-agent.controllerEnv" -}}
- {name: SQUADRON_CONTROL_PLANE, value: {{ .Values.controlPlane.address | trimSuffix "/" | quote }}}
- {name: SQUADRON_CA, value: /etc/squadron/ca.crt}
- {name: SQUADRON_CLUSTER_ID, value: {{ .Values.cluster.id | quote }}}
- {name: SQUADRON_TOKEN, value: /var/run/secrets/squadron/token}
- {name: SQUADRON_SPOOL, value: /var/lib/squadron}
- {name: SQUADRON_SPOOL_MIB, value: {{ include "squadron-agent.spoolMib" . | quote }}}
- {name: SQUADRON_MODE, value: {{ .Values.operate | ternary "operate" "observe" }}}
{{- with .Values.namespaces }}
- {name: SQUADRON_NAMESPACES, value: {{ join "," . | quote }}}
{{- end }}
{{- with .Values.controller.heartbeatSeconds }}
- {name: SQUADRON_HEARTBEAT_SECONDS, value: {{ . | toString | quote }}}
{{- end }}
{{- with include "squadron-agent.enrolmentSecret" . }}
# Optional, because after the enrolment the Secret may be deleted.
- {name: SQUADRON_ENROLMENT_CODE, valueFrom: {secretKeyRef: {name: {{ . }}, key: code, optional: true}}}
{{- end }}
{{- if .Values.watchdog.enabled }}
- {name: SQUADRON_WATCHDOG_ADDRESS, value: "{{ include "squadron-agent.name" . }}-watchdog.{{ .Release.Namespace }}.svc:8082"}
- {name: SQUADRON_WATCHDOG_IMAGE, value: {{ include "squadron-agent.image" . | quote }}}
{{- end }}
- {name: SQUADRON_LOG, value: {{ .Values.log | quote }}}
{{ include "squadron-agent.podEnv" . }}
{{- with .Values.controller.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
What the agent may keep in the spool, in MiB: three quarters of its size. The rest is for what the agent remembers
beside it and for what a file system needs itself, so that records meet the agent's limit and never the disk's.
*/}}
{{- define "squadron-agent.spoolMib" -}}
{{- $size := .Values.spool.size -}}
{{- $unit := regexFind "[A-Za-z]+$" $size -}}
{{- $factors := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $factors = merge $factors (dict "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000) -}}
{{- $factor := ternary 1 (get $factors $unit) (eq $unit "") -}}
{{- $mib := divf (mulf (regexFind "^[0-9.]+" $size | float64) $factor 0.75) 1048576.0 | floor | int64 -}}
{{- if lt $mib 64 -}}
{{- fail (printf "spool.size is %s, which is too little; give the spool 128Mi or more" $size) -}}
{{- end -}}
{{- $mib -}}
{{- end -}}

{{/* The source of the spool's volume. */}}
{{- define "squadron-agent.spoolVolume" -}}
{{- if eq .Values.spool.kind "emptyDir" -}}
emptyDir: {sizeLimit: {{ .Values.spool.size }}}
{{- else if eq .Values.spool.kind "hostPath" -}}
hostPath: {path: {{ .Values.spool.hostPath.path | quote }}, type: Directory}
{{- else -}}
persistentVolumeClaim: {claimName: {{ include "squadron-agent.claim" . }}}
{{- end -}}
{{- end -}}

{{- define "squadron-agent.claim" -}}
{{- .Values.spool.persistentVolumeClaim.existingClaim | default (include "squadron-agent.name" . | printf "%s-spool") -}}
{{- end -}}

{{/* Where pods of a role may run. Call with (list $ .Values.<role>). */}}
{{- define "squadron-agent.placement" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
nodeSelector:
  kubernetes.io/os: linux
  {{- with $role.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $role.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $role.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $role.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
