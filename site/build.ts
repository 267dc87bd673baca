import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkLinks } from "./check-links.ts";
import { writeContent } from "./content.ts";

/** `npm run site`: writes the pages from docs/, builds them into site/dist, and checks every link. */
const folder = import.meta.dirname;
if (!existsSync(join(folder, "node_modules/astro"))) run("npm", ["ci", "--no-audit", "--no-fund"]);
writeContent();
run(process.execPath, [join(folder, "node_modules/astro/bin/astro.mjs"), "build"]);
const { pages, faults } = checkLinks(join(folder, "dist"));
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`${pages} pages in site/dist; ${faults.length} faults of links\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function run(program: string, args: readonly string[]): void {
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: "1" };
  const { status } = spawnSync(program, args, { cwd: folder, stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
}
