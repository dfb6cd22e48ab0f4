import { defineConfig } from "vitest/config";

/** The browser test talks to a running control plane; see README.md for the variables it reads. */
export default defineConfig({
  test: { include: ["e2e/**/*.e2e.ts"], environment: "node", testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false },
});
