/**
 * Finishes what `changeset version` began: the version that it gave the package also goes to create-troupe, which
 * installs the troupe of its own version, and to the lock file, and names the unreleased part of the changelog.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = process.argv[2] ?? ".";
const { version } = readJson("package.json") as { readonly version: string };

const starter = readJson("create-troupe/package.json") as { readonly dependencies: object };
writeJson("create-troupe/package.json", {
  ...starter,
  version,
  dependencies: { ...starter.dependencies, troupe: version },
});

const lock = readJson("package-lock.json") as { readonly packages: Readonly<Record<string, object>> };
writeJson("package-lock.json", {
  ...lock,
  version,
  packages: { ...lock.packages, "": { ...lock.packages[""], version } },
});

const changes = readFileSync(join(root, "CHANGELOG.md"), "utf8");
if (!changes.includes(`\n## ${version}\n`))
  writeFileSync(join(root, "CHANGELOG.md"), changes.replace("\n## Unreleased\n", `\n## ${version}\n`));

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

function writeJson(path: string, value: object): void {
  writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
}
