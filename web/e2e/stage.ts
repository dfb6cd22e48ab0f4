import { accessSync, constants, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type APIRequestContext, type Browser, type BrowserContext, chromium, type Page, request } from "playwright-core";

/** The control plane under test, and a browser in front of it. */
export const SERVER = needed("SQUADRON_SERVER").replace(/\/$/, "");
export const TOKEN = needed("SQUADRON_TOKEN");
/** A job that has written a log; tests of the log need it. */
export const JOB = process.env.SQUADRON_JOB ?? "";
const SHOTS = process.env.SQUADRON_SCREENSHOTS ?? "";

export interface Look {
  scheme: "light" | "dark";
  width: number;
}

export function launch(): Promise<Browser> {
  const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath: chromiumPath(), args: quiet });
}

/** The API as a program with the token sees it, to compare the screen with. */
export function api(): Promise<APIRequestContext> {
  return request.newContext({ baseURL: SERVER, ignoreHTTPSErrors: true, extraHTTPHeaders: { authorization: `Bearer ${TOKEN}` } });
}

export async function json<T>(context: APIRequestContext, path: string): Promise<T> {
  const response = await context.get(path);
  if (!response.ok()) throw new Error(`GET ${path}: ${response.status()} ${await response.text()}`);
  return (await response.json()) as T;
}

/** A fresh browser profile; what the page complains about is collected. */
export async function visitor(browser: Browser, look: Look = { scheme: "light", width: 1280 }): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true, colorScheme: look.scheme, viewport: { width: look.width, height: 860 }, acceptDownloads: true, reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // An answer of 401 before the sign-in is what the console asks for.
    if (message.type() === "error" && !message.text().includes("401")) complaints.push(message.text());
  });
  return { context, page, complaints };
}

export async function signIn(page: Page, path = "/jobs"): Promise<void> {
  await page.goto(`${SERVER}${path}#token=${TOKEN}`);
  await page.locator(".live-live").waitFor();
}

/** Keeps a picture when a folder for pictures was given. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; see README.md for what the browser test reads`);
  return value;
}

function chromiumPath(): string {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (!found) throw new Error("no Chromium in PATH; install it or set CHROMIUM to its path");
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
