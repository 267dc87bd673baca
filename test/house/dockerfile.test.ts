import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const { name, dependencies, devDependencies } = JSON.parse(read("package.json")) as {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
/** The packages that the image installs besides the dependencies. */
const added = new Map(
  [...read("Dockerfile").matchAll(/^RUN npm install .*$/gm)].flatMap(([line]) =>
    [...line.matchAll(/ ((?:@[\w.-]+\/)?[\w.-]+)@(\S+)/g)].map(([, added = "", version = ""]) => [
      added,
      version,
    ]),
  ),
);

const agents = readdirSync(join(root, "agents")).map((file) => [`agents/${file}`, read("agents", file)]);
/** The agents of the guide, which a reader puts into agents/. */
const described = readdirSync(join(root, "docs/guide")).flatMap((file) =>
  [...read("docs/guide", file).matchAll(/^```ts\n((?:(?!^```).)*?export const (\w+) = .*?)^```$/gms)].map(
    ([, code = "", name = ""]) => [`${name} of ${file}`, code],
  ),
);

test.each([...agents, ...described])("the image contains all imports of %s", (_name, code = "") => {
  const imports = [...code.matchAll(/^import .* from "([^"]+)";$/gm)].map(([, from = ""]) => from);
  const packages = imports.filter((from) => !from.startsWith(".") && !isBuiltin(from)).map(toPackage);
  const known = [name, ...Object.keys(dependencies), ...added.keys()];
  expect(packages).not.toEqual([]);
  expect(packages.filter((from) => !known.includes(from))).toEqual([]);
});

test("the image contains all agents", () => {
  const given = read(".dockerignore").split("\n");
  expect(given).toContain("!agents");
  expect(given.filter((line) => line.startsWith("agents"))).toEqual([]);
});

test("the image has the package versions that the agents are tested with", () => {
  expect(added.size).toBeGreaterThan(0);
  for (const [one, version] of added) expect(version).toBe(devDependencies[one]);
});

function toPackage(from: string): string {
  const [scope = "", rest = ""] = from.split("/");
  return scope.startsWith("@") ? `${scope}/${rest}` : scope;
}

function read(...path: string[]): string {
  return readFileSync(join(root, ...path), "utf8");
}
