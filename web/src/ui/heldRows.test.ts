import { expect, test } from "vitest";
import { hold } from "./heldRows";

const row = (id: string, state = "running") => ({ id, state });

test("rows take new content in place, new rows wait, vanished rows stay marked", () => {
  const held = hold([row("a"), row("b")], [row("c"), row("b", "failed")], (r) => r.id);
  expect(held.rows).toEqual([row("a"), row("b", "failed")]);
  expect(held.waiting).toBe(1);
  expect([...held.gone]).toEqual(["a"]);
});

test("a mere reordering moves nothing", () => {
  const held = hold([row("a"), row("b")], [row("b"), row("a")], (r) => r.id);
  expect(held.rows.map((r) => r.id)).toEqual(["a", "b"]);
  expect(held.waiting).toBe(0);
});
