import type { JobDetail } from "../api/types";
import { download } from "../format/csv";
import { Button, Copy } from "../ui/Button";
import { Card, Verbatim } from "../ui/Layout";

/** The manifest exactly as it was submitted. */
export function Manifest({ detail }: { detail: JobDetail }) {
  return (
    <Card title={<>Manifest <small>as submitted</small></>} actions={
      <div className="actions">
        <Copy text={detail.manifest} label="manifest" look="plain">Copy</Copy>
        <Button icon="download" onClick={() => download(`${detail.job.name}.yaml`, detail.manifest, "application/yaml")}>Download</Button>
      </div>
    }>
      <Verbatim text={detail.manifest} className="manifest" />
    </Card>
  );
}
