import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findPrice } from "../../../src/runtime/model/prices.ts";
import { findPrices } from "../../../src/cli/serve/server-config.ts";
import { createProject } from "../command.ts";

afterEach(() => {
  delete process.env["TROUPE_PRICES"];
});

test("the prices of the file come before those of the configuration, and these before those of the package", async () => {
  const file = { "openai/small": { match: "^gpt-5", input: 1, output: 1 } };
  const cwd = await createProject({ "prices.json": JSON.stringify(file), "broken.json": "{" });
  const prices = {
    "openai/all": { match: ".", input: 2, output: 2 },
    "openai/small": { match: "^gpt-5", input: 3, output: 3 },
  };
  const priceOf = async (modelId: string): Promise<number | undefined> => {
    const table = await findPrices({ prices });
    return findPrice({ provider: "openai", modelId, name: modelId }, table)?.input;
  };

  expect(await priceOf("gpt-5-mini")).toBe(2);
  process.env["TROUPE_PRICES"] = join(cwd, "prices.json");
  expect(await priceOf("gpt-5-mini")).toBe(1);
  expect(await priceOf("gpt-4o")).toBe(2);
  expect(
    findPrice({ provider: "openai", modelId: "gpt-4o", name: "gpt-4o" }, undefined)?.input,
  ).toBeGreaterThan(0);

  process.env["TROUPE_PRICES"] = join(cwd, "broken.json");
  await expect(findPrices({ prices })).rejects.toThrow("broken.json cannot be read");
});
