import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `npm run dev` sends API calls. */
const server = process.env.SQUADRON_SERVER ?? "https://127.0.0.1:8443";

export default defineConfig({
  plugins: [react()],
  build: {
    // Nothing is inlined: the console runs under a policy that allows only files of its own origin.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    target: "es2022",
    // Old enough targets would have light-dark() rewritten; every browser we name in README.md knows it.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
  server: { proxy: { "/api": { target: server, secure: false, changeOrigin: true } } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
