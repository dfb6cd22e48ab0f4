import type { APIRequestContext, Browser } from "playwright-core";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Cluster, Job, Page as List, SubmitReply, Usage } from "../src/api/types";
import { api, JOB, json, launch, SERVER, shoot, signIn, TOKEN, visitor } from "./stage";
import { hugeJob } from "./manifest";

let browser: Browser;
let server: APIRequestContext;

beforeAll(async () => {
  browser = await launch();
  server = await api();
});
afterAll(async () => {
  await server.dispose();
  await browser.close();
});

test("a wrong token is refused with a next step, the right one opens the page that was asked for", async () => {
  const { page, context } = await visitor(browser);
  await page.goto(`${SERVER}/queues`);
  await page.getByLabel("API token").fill("sqd_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("SQD-1001").waitFor();
  await shoot(page, "sign-in");
  await page.getByLabel("API token").fill(TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  expect(await context.cookies()).toContainEqual(expect.objectContaining({ name: "__Host-squadron", httpOnly: true, secure: true, sameSite: "Strict" }));
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))).not.toContain(TOKEN);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API token").waitFor();
  await context.close();
});

test("a login link signs in and leaves no token in the address", async () => {
  const { page, context } = await visitor(browser);
  await signIn(page, "/usage");
  expect(page.url()).toBe(`${SERVER}/usage`);
  await context.close();
});

test("a job that is submitted elsewhere appears by itself, says why it waits, and can be cancelled", async () => {
  const { page, context, complaints } = await visitor(browser);
  await signIn(page, "/jobs");
  const job = await submitHuge();
  const { name } = job;
  const row = page.locator("tr", { hasText: name });
  await row.locator('[data-state="queued"]').waitFor({ timeout: 15_000 });
  await row.getByRole("link", { name }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  await page.getByRole("navigation", { name: "Sections of this job" }).getByRole("link", { name: /^Why/ }).click();
  await page.locator(".blockers li").first().waitFor({ timeout: 20_000 });
  await shoot(page, "job-why");

  await page.getByRole("button", { name: "Cancel" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/Reason/).fill("checked in the browser");
  await dialog.getByRole("button", { name: "Cancel the job" }).click();
  await page.locator('.job-title [data-state="cancelled"]').waitFor({ timeout: 15_000 });
  expect((await json<{ job: Job }>(server, `/api/v1/jobs/${job.id}`)).job.state).toBe("cancelled");

  await page.goto(`${SERVER}/jobs?status=cancelled&queue=default`);
  await row.waitFor();
  await page.getByRole("button", { name: "Active", exact: true }).click();
  await row.waitFor({ state: "detached" });
  expect(new URL(page.url()).searchParams.get("queue")).toBe("default");
  await page.goBack();
  await row.waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

test("rows hold still under the pointer, and newer ones wait behind a notice", async () => {
  const first = await submitHuge();
  const { page, context } = await visitor(browser);
  await signIn(page, "/jobs");
  const top = page.locator("tbody tr").first();
  await top.getByText(first.name).hover();
  const second = await submitHuge();
  await page.getByRole("button", { name: /newer job/ }).waitFor({ timeout: 15_000 });
  expect(await top.innerText()).toContain(first.name);
  await page.getByRole("button", { name: /newer job/ }).click();
  await top.getByText(second.name).waitFor();
  for (const { id } of [first, second]) expect((await server.post(`/api/v1/jobs/${id}/cancel`, { data: { reason: "checked" } })).ok()).toBe(true);
  await context.close();
});

test("a manifest with a typo and a queue that is unknown are refused where they were typed, and nothing is stored", async () => {
  const { page, context } = await visitor(browser);
  await signIn(page, "/jobs");
  const newest = async () => (await json<List<Job>>(server, "/api/v1/jobs?limit=1")).items[0]?.id;
  const before = await newest();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  const dialog = page.getByRole("dialog");
  const send = dialog.getByRole("button", { name: "Submit", exact: true });
  await dialog.getByLabel("RayJob manifest").fill(hugeJob("console-typo").replace("rayStartParams", "rayStartParms"));
  await send.click();
  const alert = dialog.getByRole("alert");
  await alert.getByText("SQD-1201").waitFor();
  await alert.getByText(/rayStartParms/).first().waitFor();
  await shoot(page, "submit-typo");
  await dialog.getByLabel("RayJob manifest").fill(hugeJob("console-queue"));
  await dialog.getByLabel("Queue", { exact: true }).fill("defalt");
  await send.click();
  await alert.getByText("SQD-1203").waitFor();
  await alert.getByText(/default/).first().waitFor();
  expect(await newest()).toBe(before);
  await dialog.getByLabel("Queue", { exact: true }).fill("default");
  await send.click();
  await page.getByRole("heading", { name: "console-queue", level: 1 }).waitFor();
  const stored = await newest();
  expect(stored).not.toBe(before);
  expect((await server.post(`/api/v1/jobs/${stored}/cancel`, { data: { reason: "checked" } })).ok()).toBe(true);
  await context.close();
});

test("a price sheet with a gap or an overlap is refused where it was typed, and the old one stays", async () => {
  const sheet = async () => {
    const answer = await server.get("/api/v1/price-sheets");
    return answer.ok() ? answer.text() : "";
  };
  const before = await sheet();
  const { page, context } = await visitor(browser);
  await signIn(page, "/usage");
  await page.getByRole("button", { name: "Prices" }).click();
  const dialog = page.getByRole("dialog");
  const text = dialog.getByLabel("Prices as YAML");
  await expect.poll(() => text.inputValue()).toBe(before);
  for (const { problem, ends, begins } of [{ problem: "gap", ends: "2026-02-01", begins: "2026-03-01" }, { problem: "overlap", ends: "2026-03-01", begins: "2026-02-01" }]) {
    const price = (from: string, to: string) => `- {cluster: '*', from: ${from}, ${to}cpu_hour: 1, memory_gib_hour: 0, gpu_hour: 0}\n`;
    await text.fill(`name: default\ncurrency: EUR\nprices:\n${price("2026-01-01", `to: ${ends}, `)}${price(begins, "")}`);
    await dialog.getByRole("button", { name: "Put in force" }).click();
    const alert = dialog.getByRole("alert");
    await alert.getByText("SQD-1301").waitFor();
    await alert.locator("li", { hasText: problem }).first().waitFor();
    await shoot(page, `prices-${problem}`);
  }
  expect(await sheet()).toBe(before);
  await context.close();
});

test("a job that does not exist gives its sentence and the next step", async () => {
  const { page, context } = await visitor(browser);
  await signIn(page, "/jobs/no-such-job");
  await page.getByRole("alert").getByText("SQD-1003").waitFor();
  await context.close();
});

test("every cluster shows its state and how old its last word is", async () => {
  const { page, context } = await visitor(browser);
  await signIn(page, "/clusters");
  const { items } = await json<List<Cluster>>(server, "/api/v1/clusters");
  for (const cluster of items) {
    const card = page.locator(`[data-cluster="${cluster.name}"]`);
    await card.locator(`[data-state="${cluster.state}"]`).waitFor();
    if (cluster.last_heard_at && cluster.state !== "revoked") expect(await card.locator(".last-word").innerText()).toMatch(/last word\s+\d+ [smhd] ago/);
    if (cluster.silent_since) await card.getByText(/Silent since/).waitFor();
  }
  if (items.length === 0) await page.getByText("No clusters yet").waitFor();
  await context.close();
});

test("usage rows sum to the total, and the file is what the screen shows", async () => {
  const { page, context } = await visitor(browser);
  await signIn(page, "/usage?by=kind,team,job,cluster");
  const usage = await json<Usage>(server, "/api/v1/usage?by=kind,team,job,cluster");
  if (usage.rows.length === 0) {
    await page.getByText("Nothing was held in this time").waitFor();
    return context.close();
  }
  await page.locator("[data-usage-row]").first().waitFor();
  const amounts = await page.locator("[data-usage-row] [data-amount]").evaluateAll((cells) => cells.map((cell) => cell.getAttribute("data-amount") ?? ""));
  const total = (await page.locator("tfoot [data-amount]").getAttribute("data-amount")) ?? "";
  expect(amounts.map(units).reduce((a, b) => a + b, 0n)).toBe(units(total));

  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  const lines = (await readFile(await file.path(), "utf8")).trimEnd().split("\r\n");
  expect(lines[0]).toBe(`kind,team,job,cluster,cpu_hours,memory_gib_hours,gpu_hours,amount_${usage.currency || "none"}`);
  expect(lines).toHaveLength(amounts.length + 2);
  expect(units(lines.at(-1)?.split(",").at(-1) ?? "")).toBe(units(total));
  await context.close();
});

test.skipIf(!JOB)("the log on screen is the log of the API, and search finds its lines", async () => {
  const { page, context, complaints } = await visitor(browser);
  const log = await (await server.get(`/api/v1/jobs/${JOB}/logs`)).text();
  const lines = log.split("\n").filter((line) => line.trim() !== "");
  expect(lines.length).toBeGreaterThan(0);
  await signIn(page, `/jobs/${JOB}?tab=logs`);
  await page.locator(".log-line").first().waitFor();
  await expect.poll(() => page.locator(".log-line").count(), { timeout: 15_000 }).toBeGreaterThanOrEqual(lines.length);
  const word = /[A-Za-z]{5,}/.exec(lines.at(-1) ?? "")?.[0] ?? "ray";
  await page.getByLabel("Find in the log").fill(word);
  await expect.poll(() => page.locator(".log mark").count()).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Next match" }).click();
  await page.locator(".log-current mark").first().waitFor();
  await page.getByText("complete,").waitFor();
  await shoot(page, "job-logs");
  expect(complaints).toEqual([]);
  await context.close();
});

let count = 0;

/** A job that waits with a reason, submitted as a program would. */
async function submitHuge(): Promise<Job> {
  count += 1;
  const name = `console-${Date.now().toString(36)}-${count}`;
  const reply = await server.post("/api/v1/jobs", { data: { manifest: hugeJob(name), queue: "default" } });
  expect(reply.status(), await reply.text()).toBeLessThan(300);
  const { job } = (await reply.json()) as SubmitReply;
  if (!job) throw new Error("the answer to a submission holds no job");
  return job;
}

/** A decimal text as whole units of its last digit; all amounts of a report have the same number of decimals. */
function units(decimal: string): bigint {
  return BigInt(decimal.replaceAll(",", "").replace(".", ""));
}
