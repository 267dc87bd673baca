/** @module-tag long */
// `npm create troupe` from the packed archives, with a registry on this machine.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { root, run } from "../house/packed.ts";
import { startRegistry } from "./registry.ts";

test("npm create troupe makes a project whose own test passes", { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-create-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [troupe, starter] = [await pack(root, folder), await pack(join(root, "create-troupe"), folder)];
  await using registry = await startRegistry(folder, { troupe, "create-troupe": starter });
  const env = {
    ...process.env,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, "cache"),
    npm_config_audit: "false",
    npm_config_update_notifier: "false",
    npm_config_fetch_retries: "0",
  };
  const npm = async (cwd: string, ...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)("npm", args, { cwd, env })).stdout;

  await npm(folder, "create", "--yes", "troupe", "my-agents", "--", "-y", "--template", "approval");
  const project = join(folder, "my-agents");
  const written = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as object;
  const { version } = await readVersions();
  expect(written).toMatchObject({ name: "my-agents", dependencies: { troupe: `^${version}` } });
  expect(await npm(project, "test")).toMatch(/^. pass 1$/m);
});

test("both packages are ready to be published", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-publish-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using registry = await startRegistry(folder, {});
  for (const cwd of [root, join(root, "create-troupe")]) {
    const args = ["publish", "--dry-run", "--ignore-scripts", `--registry=${registry.url}`];
    const { stderr } = await promisify(execFile)("npm", args, { cwd });
    const warnings = stderr
      .split("\n")
      .filter((line) => line.includes("warn") && !line.includes("logged in"));
    expect(warnings).toEqual([]);
  }
});

test("create-troupe installs the troupe of its own version, and a release gives both the next one", async () => {
  const { version, starter } = await readVersions();
  expect(starter).toMatchObject({ version, dependencies: { troupe: version } });

  const copy = await mkdtemp(join(tmpdir(), "troupe-version-"));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  await mkdir(join(copy, "create-troupe"));
  for (const file of ["package.json", "package-lock.json", "CHANGELOG.md", "create-troupe/package.json"])
    await cp(join(root, file), join(copy, file));
  const own = JSON.parse(await readFile(join(copy, "package.json"), "utf8")) as object;
  await writeFile(join(copy, "package.json"), JSON.stringify({ ...own, version: "7.8.9" }));
  await run(process.execPath, [join(root, ".ci/version.ts"), copy], root);
  expect(JSON.parse(await readFile(join(copy, "create-troupe/package.json"), "utf8"))).toMatchObject({
    version: "7.8.9",
    dependencies: { troupe: "7.8.9" },
  });
  expect(JSON.parse(await readFile(join(copy, "package-lock.json"), "utf8"))).toMatchObject({
    version: "7.8.9",
    packages: { "": { name: "troupe", version: "7.8.9" } },
  });
  expect(await readFile(join(copy, "CHANGELOG.md"), "utf8")).toMatch(/^## 7\.8\.9$/m);
});

/** Packs a package as it is built. Returns the name of the archive. */
async function pack(from: string, to: string): Promise<string> {
  const args = ["pack", "--offline", "--silent", "--ignore-scripts", "--pack-destination", to];
  return (await run("npm", args, from)).trim();
}

async function readVersions(): Promise<{ readonly version: string; readonly starter: object }> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const starter = JSON.parse(await readFile(join(root, "create-troupe/package.json"), "utf8")) as object;
  return { version, starter };
}
