import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crawler } from "../../agents/crawler.ts";
import { ofType, textsOf } from "./events.ts";

const runtime = createRuntime({ agents: [crawler], log: memoryLog() });
const before = process.cwd();
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "troupe-crawler-"));
  await mkdir(join(folder, "docs"));
  await writeFile(
    join(folder, "README.md"),
    "One [two](docs/two.md) [gone](docs/gone.md#part) [out](../x.md).",
  );
  await writeFile(join(folder, "docs/two.md"), "Back [home](../README.md), on to [three](three.md).");
  await writeFile(join(folder, "docs/three.md"), "The end.");
  process.chdir(folder);
});

afterAll(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true });
  await runtime.close();
});

describe("crawler", () => {
  test("reads all pages that link to each other, and reports a broken link", async () => {
    const events = await collect(runtime, "crawler", {
      type: "OperationRequest",
      operation: "crawl",
      input: {},
    });
    expect(events.at(-1)).toMatchObject({
      output: {
        pages: 3,
        words: 11,
        broken: [{ page: "docs/gone.md", from: "README.md", reason: "there is no docs/gone.md" }],
      },
    });
    expect(ofType(events, "ToolCall")).toHaveLength(4);
    expect(ofType(events, "ToolCall").every(({ expires_at: at }) => at !== undefined)).toBe(true);
  });

  test("reads nothing outside of the working directory", async () => {
    const events = await collect(runtime, "crawler", { type: "ChatRequest", input: "../../etc/passwd.md" });
    expect(textsOf(events).join("")).toContain("is no Markdown file below the working directory");
  });
});
