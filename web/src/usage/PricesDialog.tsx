import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { putYaml } from "../api/client";
import { asProblem } from "../api/problem";
import { usePriceSheet } from "../api/queries";
import type { PriceSheetReply } from "../api/types";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Loaded, ProblemBox } from "../ui/Feedback";
import { YamlField } from "../ui/YamlField";

const ID = "price-sheet";

/** The price sheet in force, to read and to replace. A sheet with a gap or an overlap is refused and the old one stays. */
export function PricesDialog({ onClose }: { onClose: () => void }) {
  const sheet = usePriceSheet();
  const client = useQueryClient();
  const put = useMutation({
    mutationFn: (text: string) => putYaml<PriceSheetReply>("/price-sheets", text),
    onSuccess: (reply) => {
      announce(`Price sheet ${reply.name}, version ${reply.version}, is in force`);
      void client.invalidateQueries({ queryKey: ["usage"] });
      void client.invalidateQueries({ queryKey: ["prices"] });
      onClose();
    },
  });
  return (
    <Dialog wide title="Price sheet" onClose={onClose} actions={
      <>
        <Button onClick={onClose}>Close</Button>
        <Button look="primary" type="submit" form={ID} disabled={put.isPending}>{put.isPending ? "Checking…" : "Put in force"}</Button>
      </>
    }>
      {put.isError && <ProblemBox compact problem={asProblem(put.error)} />}
      <Loaded query={sheet} lines={8}>{(text) => <Editor before={text} onSend={(next) => put.mutate(next)} />}</Loaded>
      <p className="help">The version before stays stored, and every change is in the audit log.</p>
    </Dialog>
  );
}

function Editor({ before, onSend }: { before: string; onSend: (text: string) => void }) {
  const [text, setText] = useState(before);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) onSend(text);
  };
  return (
    <form id={ID} className="stack" onSubmit={send}>
      <YamlField label="Prices as YAML" value={text} onChange={setText} placeholder={"name: default\ncurrency: EUR\nprices:\n…"} />
    </form>
  );
}
