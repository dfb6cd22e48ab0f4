{{/* Settings of the controller. */}}
{{- define "squadron-agent.controllerEnv" -}}
- {name: SQUADRON_CONTROL_PLANE, value: {{ .Values.controlPlane.address | trimSuffix "/" | quote }}}
- {name: SQUADRON_CA, value: /etc/squadron/ca.crt}
- {name: SQUADRON_CLUSTER_ID, value: {{ .Values.cluster.id | quote }}}
- {name: SQUADRON_TOKEN, value: /var/run/secrets/squadron/token}
- {name: SQUADRON_SPOOL, value: /var/lib/squadron}
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
- {name: SQUADRON_LOG, value: {{ .Values.log | quote }}}
{{ include "squadron-agent.podEnv" . }}
{{- with .Values.controller.env }}
{{ toYaml . }}
{{- end }}
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
