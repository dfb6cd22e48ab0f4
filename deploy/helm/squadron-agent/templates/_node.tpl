{{/*
The host paths of the node role as JSON: {"devices": [...], "folders": [...]}. A file under /dev is mounted by itself;
any other is mounted by its folder, so that it may appear later or be replaced.
*/}}
{{- define "squadron-agent.hostPaths" -}}
{{- $devices := list -}}
{{- $folders := list -}}
{{- range append .Values.node.kmsg .Values.node.deviceList | compact -}}
{{- if hasPrefix "/dev/" . -}}
{{- $devices = append $devices . -}}
{{- else -}}
{{- $folders = append $folders (dir .) -}}
{{- end -}}
{{- end -}}
{{- dict "devices" $devices "folders" ($folders | uniq | sortAlpha) | toJson -}}
{{- end -}}

{{/* Settings of the node role. */}}
{{- define "squadron-agent.nodeEnv" -}}
- {name: SQUADRON_KMSG, value: {{ join "," .Values.node.kmsg | quote }}}
{{- with .Values.node.deviceList }}
- {name: SQUADRON_DEVICE_LIST, value: {{ . | quote }}}
{{- end }}
{{- with .Values.node.cgroupRoot }}
- {name: SQUADRON_CGROUP_ROOT, value: {{ . | quote }}}
{{- end }}
- {name: SQUADRON_STATE, value: /var/lib/squadron-node}
- {name: SQUADRON_LOG, value: {{ .Values.log | quote }}}
{{ include "squadron-agent.podEnv" . }}
{{- with .Values.node.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}
