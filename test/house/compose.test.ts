import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";

const text = readFileSync(resolve(import.meta.dirname, "../../compose.yaml"), "utf8");
const commands = [...text.matchAll(/command: \[node, dist\/cli\/main\.js, (.*)\]/g)].map(([, words = ""]) =>
  words.split(", "),
);

test("each node of compose.yaml has options that exist, and an address of its own", async () => {
  expect(commands).toHaveLength(2);
  const { commands: known } = await createProgram();
  const addresses = commands.map(([name, ...options]) => {
    const serve = known.find((command) => command.name() === name);
    expect(serve?.parseOptions(options).unknown).toEqual([]);
    return String(serve?.getOptionValue("cluster"));
  });
  const services = [...text.matchAll(/^ {2}([\w-]+):/gm)].map(([, service]) => `http://${service}:4200`);
  expect(services).toEqual(expect.arrayContaining(addresses));
  expect(new Set(addresses).size).toBe(2);
});

test("no password or secret of compose.yaml has a default", () => {
  const given = [
    ...text.matchAll(/\b(?:PGPASSWORD|POSTGRES_PASSWORD|TROUPE_[A-Z_]*(?:TOKEN|SECRET|KEY)): (.*)$/gm),
  ];
  expect(given.length).toBeGreaterThan(4);
  for (const [line, value] of given)
    expect([line, value]).toEqual([line, expect.stringMatching(/^\$\{\w+:\?.+\}$/)]);
});

test("the proxy of compose.yaml asks each node whether it is ready, by a name that the node knows", () => {
  const [proxy = ""] = /^ +reverse_proxy .*$/m.exec(text) ?? [];
  const addresses = commands.map((words) => new URL(String(words.at(-1)?.slice("--cluster=".length))));
  for (const { hostname } of addresses) expect(proxy).toContain(` ${hostname}:4100`);
  expect(text).toMatch(/health_uri \/readyz/);
  expect(text).toMatch(/health_headers \{\s+Host localhost\s/);
});
