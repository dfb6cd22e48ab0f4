import type { APIRequestContext, Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Cluster, JobDetail, Page as List } from "../src/api/types";
import { api, json, launch, SERVER, shoot, signIn, visitor } from "./stage";

/** What the end-to-end tests on real clusters do to the fleet, as a person at the console sees it. They say which with SQUADRON_TOLD. */
const TOLD = process.env.SQUADRON_TOLD ?? "";
const ABOUT = process.env.SQUADRON_ABOUT ?? "";

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

async function cluster(): Promise<Cluster> {
  const { items } = await json<List<Cluster>>(server, "/api/v1/clusters");
  const found = items.find(({ name }) => name === ABOUT);
  if (!found) throw new Error(`no cluster ${ABOUT}`);
  return found;
}

test.runIf(TOLD === "silence")("a silent cluster says so and since when", async () => {
  const { silent_since: since } = await cluster();
  if (!since) throw new Error(`${ABOUT} is not silent`);
  const { page, context, complaints } = await visitor(browser);
  await signIn(page, "/clusters");
  const card = page.locator(`[data-cluster="${ABOUT}"]`);
  await card.locator('[data-state="silent"]').waitFor();
  const told = card.getByText(/Silent since/);
  expect(await told.locator("time").first().getAttribute("datetime")).toBe(since);
  await shoot(page, "cluster-silent");
  await page.goto(`${SERVER}/`);
  await page.getByText(/silent/i).first().waitFor();
  await shoot(page, "fleet-silent");
  expect(complaints).toEqual([]);
  await context.close();
});

test.runIf(TOLD === "alarm")("an alarm is told with its next step, and is cleared by a button", async () => {
  const { alarm } = await cluster();
  if (!alarm) throw new Error(`${ABOUT} has no alarm`);
  const { page, context } = await visitor(browser);
  await signIn(page, "/clusters");
  const card = page.locator(`[data-cluster="${ABOUT}"]`);
  await card.getByText(alarm).waitFor();
  await shoot(page, "cluster-alarm");
  await card.getByRole("button", { name: "Clear the alarm" }).click();
  await card.getByText(alarm).waitFor({ state: "detached" });
  expect((await cluster()).alarm ?? "").toBe("");
  await context.close();
});

test.runIf(TOLD === "job")("a job's page says the sentence that the API says", async () => {
  const { page, context } = await visitor(browser);
  await signIn(page, `/jobs/${ABOUT}`);
  const { job, why } = await json<JobDetail>(server, `/api/v1/jobs/${ABOUT}`);
  expect(job.sentence).not.toBe("");
  await page.locator(".job-sentence", { hasText: job.sentence }).waitFor();
  for (const { sentence, try_this: next } of why?.blockers ?? []) {
    await page.getByText(sentence, { exact: true }).first().waitFor();
    if (next) await page.getByText(next).first().waitFor();
  }
  await shoot(page, `job-${job.name}`);
  await context.close();
});

test.runIf(TOLD === "token")("a token that ended opens nothing and says what to do", async () => {
  const { page, context } = await visitor(browser);
  await page.goto(`${SERVER}/jobs`);
  await page.getByLabel("API token").fill(ABOUT);
  await page.getByRole("button", { name: "Sign in" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("SQD-1001").waitFor();
  expect((await alert.locator("p").allInnerTexts()).filter(Boolean).length).toBeGreaterThanOrEqual(3);
  expect(await context.cookies()).toEqual([]);
  await context.close();
});
