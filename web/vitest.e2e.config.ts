import { defineConfig } from "vitest/config";

/**
 * The browser test talks to a running control plane; see README.md for the variables it reads. With SQUADRON_TOLD it looks
 * only at what a test on real clusters has just done.
 */
const include = process.env.SQUADRON_TOLD ? ["e2e/told.stage.ts"] : ["e2e/**/*.e2e.ts"];
export default defineConfig({
  test: { include, environment: "node", testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false },
});
