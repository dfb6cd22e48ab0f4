// Writes src/api/schema.ts from docs/openapi.json; with --check only compares. The document comes from
// `squadron-control-plane openapi`, so that console, command line and server speak of the same types.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const document = new URL("../../docs/openapi.json", import.meta.url);
const target = new URL("../src/api/schema.ts", import.meta.url);

const types = astToString(await openapiTS(document));
const text = `// Generated from docs/openapi.json by \`npm run types\`. Do not edit.\n\n${types}`;

if (process.argv.includes("--check")) {
  const present = await readFile(target, "utf8").catch(() => "");
  if (present !== text) {
    console.error("src/api/schema.ts is not what docs/openapi.json says; run `npm run types` and commit the result");
    process.exit(1);
  }
} else {
  await writeFile(target, text);
}
