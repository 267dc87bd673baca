import { PDFDocument } from "pdf-lib";
import { createRuntime, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { pdfWriter } from "../../agents/pdf-writer.ts";
import { ofType, theOne } from "./events.ts";

const runtime = createRuntime({ agents: [pdfWriter], log: memoryLog() });
afterAll(() => runtime.close());

describe("pdf-writer", () => {
  test("creates a PDF with the title and answers with its name", async () => {
    const events = await collect(runtime, "pdf-writer", {
      type: "ChatRequest",
      input: "Moon: it is far away",
    });
    const artifact = theOne(events, "ArtifactGenerated");
    expect(artifact).toMatchObject({ name: "Moon.pdf", mime_type: "application/pdf", depth: 0 });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Moon.pdf" });

    const bytes = await bytesOf(runtime, artifact.artifact_id);
    expect(bytes.byteLength).toBe(artifact.size_bytes);
    const document = await PDFDocument.load(bytes, { updateMetadata: false });
    expect(document.getTitle()).toBe("Moon");
    expect(document.getPageCount()).toBe(1);
  });

  test("creates the same bytes from the same words", async () => {
    const request = { type: "ChatRequest", input: "Moon: it is far away" } as const;
    const first = theOne(await collect(runtime, "pdf-writer", request), "ArtifactGenerated");
    const second = theOne(await collect(runtime, "pdf-writer", request), "ArtifactGenerated");
    expect(first.artifact_id).not.toBe(second.artifact_id);
    expect(await bytesOf(runtime, first.artifact_id)).toEqual(await bytesOf(runtime, second.artifact_id));
  });

  test.each([
    ["a long text", `Moon: ${"far and away ".repeat(2000)}`, 9],
    ["a word without an end", `Moon: ${"far".repeat(200)}`, 1],
    ["several lines", "Moon: far\r\n\taway\n\n\nand round", 1],
    ["letters that the font has not", "Луна: далеко 🌕", 1],
    ["a long title", `${"M".repeat(100)}: far`, 1],
  ])("lays out %s", async (_, input, pages) => {
    const events = await collect(runtime, "pdf-writer", { type: "ChatRequest", input });
    const artifact = theOne(events, "ArtifactGenerated");
    const document = await PDFDocument.load(await bytesOf(runtime, artifact.artifact_id));
    expect(document.getPageCount()).toBe(pages);
  });

  test.each(["", "Moon", "Moon:", ": far", "  : far", "Moon:  \n ", `${"M".repeat(101)}: far`])(
    "describes its input format when it gets %j",
    async (input) => {
      const events = await collect(runtime, "pdf-writer", { type: "ChatRequest", input });
      expect(ofType(events, "ArtifactGenerated")).toEqual([]);
      const { finish_reason, result } = theOne(events, "RequestCompleted");
      expect(finish_reason).toBe("success");
      expect(result).toMatch(/^Give me a title and a text/);
    },
  );
});

async function bytesOf(from: Runtime, artifactId: Parameters<Runtime["artifact"]>[0]): Promise<Buffer> {
  const { body } = await from.artifact(artifactId);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
