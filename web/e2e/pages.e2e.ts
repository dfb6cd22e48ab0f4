import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { api, JOB, json, launch, type Look, SERVER, shoot, signIn, visitor } from "./stage";
import type { Incident, Page as List } from "../src/api/types";

/** Every page in both themes and at two widths: no complaint, no sideways scrolling, nothing that shuts people out. */
const LOOKS: Look[] = [{ scheme: "light", width: 1280 }, { scheme: "dark", width: 1280 }, { scheme: "light", width: 390 }, { scheme: "dark", width: 390 }];

let browser: Browser;
let pages: Record<string, string>;

beforeAll(async () => {
  browser = await launch();
  pages = { fleet: "/", jobs: "/jobs", clusters: "/clusters", incidents: "/incidents?state=all", usage: "/usage?by=kind,team,job", queues: "/queues", "queue-line": "/queues?line=default" };
  const server = await api();
  const { items } = await json<List<Incident>>(server, "/api/v1/incidents");
  await server.dispose();
  if (items[0]) pages.incident = `/incidents/${items[0].id}`;
  if (JOB) for (const tab of ["summary", "timeline", "why", "placement", "logs", "pods", "attempts", "cost", "incidents", "manifest"]) pages[`job-${tab}`] = `/jobs/${JOB}?tab=${tab}`;
});
afterAll(() => browser.close());

describe.each(LOOKS)("$scheme at $width px", (look) => {
  test("all pages", async () => {
    const { page, context, complaints } = await visitor(browser, look);
    await signIn(page);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(SERVER + path);
      await page.locator("h1").first().waitFor();
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      await shoot(page, `${name}-${look.scheme}-${look.width}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${name} scrolls sideways`).toBeLessThanOrEqual(0);
      expect(await barriers(page), name).toEqual([]);
    }
    expect(complaints).toEqual([]);
    await context.close();
  }, 180_000);
});

/** What axe finds serious or critical, as short lines. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  });
}
