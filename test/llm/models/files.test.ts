import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { aiSdkModel, llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import type { ModelVariables, Prompt } from "troupe/llm";
import type { ArtifactId, Event, RunId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { OpenAiServer, streaming } from "./openai-server.ts";
import { saying, specifiedModel } from "./specified-model.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const JPEG = Buffer.from("ffd8ffe000104a46494600", "hex");
const GIF = Buffer.from("GIF89a\x01\x00\x01\x00", "latin1");
const WEBP = Buffer.from("RIFF\x1a\x00\x00\x00WEBPVP8L", "latin1");

/** An image of some size, with valid first bytes only. */
const pngOf = (sizeBytes: number): Buffer => Buffer.concat([PNG, Buffer.alloc(sizeBytes - PNG.length)]);

const thanks = streaming("stop", { content: "Thank you." });

function runtimeAt(server: OpenAiServer, variables: ModelVariables = {}, options = {}): Runtime {
  const model = modelFromEnv({ TROUPE_MODEL_URL: server.url, ...variables }, scriptedModel([]));
  const agent = llmAgent({ name: "clerk", purpose: "Looks.", instructions: "", model });
  return createRuntime({ agents: [agent], ...options });
}

async function upload(
  runtime: Runtime,
  name: string,
  mimeType: string,
  bytes: Uint8Array,
): Promise<ArtifactId> {
  const body = new Blob([new Uint8Array(bytes)]).stream();
  return (await runtime.upload({ name, mimeType, body, limitBytes: 1e8 })).artifactId;
}

async function show(
  runtime: Runtime,
  attachments: readonly ArtifactId[],
  runId?: RunId,
): Promise<readonly Event[]> {
  const run = runId === undefined ? {} : { run_id: runId };
  return collect(runtime, "clerk", { type: "ChatRequest", input: "See.", attachments, ...run });
}

function runOf(events: readonly Event[]): RunId {
  const runId = events[0]?.run_id;
  if (!runId) throw new Error("there is no event of a run");
  return runId;
}

function urlOf(type: string, bytes: Uint8Array): string {
  return `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
}

/** The images of each message of a prompt. */
function imagesIn(server: OpenAiServer, request: number): readonly (readonly string[])[] {
  return (server.requests[request]?.messages ?? []).map(({ content }) =>
    Array.isArray(content)
      ? (content as { readonly image_url?: { readonly url: string } }[]).flatMap(
          ({ image_url }) => image_url?.url ?? [],
        )
      : [],
  );
}

test("images are sent to the model with their actual type, other files by name or text", async () => {
  await using server = await OpenAiServer.start(thanks);
  const runtime = runtimeAt(server);
  const files = [
    ["moon.png", "image/png", PNG],
    ["sun.png", "image/png", JPEG],
    ["star.gif", "image/gif; charset=binary", GIF],
    ["comet.webp", "IMAGE/WEBP", WEBP],
    ["list.csv", "text/csv", Buffer.from("a,b")],
    ["chart.svg", "image/svg+xml", Buffer.from("<svg/>")],
    ["words.png", "image/png", Buffer.from("no picture")],
    ["wall.png", "image/png", pngOf(5 * 1_048_576 + 1)],
  ] as const;
  const ids: ArtifactId[] = [];
  for (const [name, type, bytes] of files) ids.push(await upload(runtime, name, type, bytes));
  const events = await show(runtime, ids);

  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Thank you." });
  const line = (index: number): string => {
    const [name, type] = files[index] ?? [];
    return `Attached: ${name} (${type}) /artifacts/${ids[index]}`;
  };
  const text = [
    "See.",
    ...[0, 1, 2, 3].map(line),
    `${line(4)}\na,b`,
    `${line(5)}\n<svg/>`,
    ...[6, 7].map(line),
  ].join("\n\n");
  expect(server.requests[0]?.messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text },
        { type: "image_url", image_url: { url: urlOf("image/png", PNG) } },
        { type: "image_url", image_url: { url: urlOf("image/jpeg", JPEG) } },
        { type: "image_url", image_url: { url: urlOf("image/gif", GIF) } },
        { type: "image_url", image_url: { url: urlOf("image/webp", WEBP) } },
      ],
    },
  ]);
  await runtime.close();
});

test("images of earlier turns are sent again, the newest up to the limit", { tags: "long" }, async () => {
  await using server = await OpenAiServer.start(thanks, thanks, thanks);
  const runtime = runtimeAt(server);
  const large = pngOf(5 * 1_048_576);
  const run = runOf(await show(runtime, [await upload(runtime, "first.png", "image/png", large)]));
  const more = [
    await upload(runtime, "second.png", "image/png", large),
    await upload(runtime, "small.png", "image/png", PNG),
  ];
  await show(runtime, more, run);
  await show(runtime, [await upload(runtime, "third.png", "image/png", large)], run);

  const counts = [0, 1, 2].map((request) => imagesIn(server, request).map(({ length }) => length));
  expect(counts).toEqual([[1], [1, 0, 2], [0, 0, 2, 0, 1]]);
  await runtime.close();
});

test("of many images of one turn the first twenty are sent", async () => {
  await using server = await OpenAiServer.start(thanks);
  const runtime = runtimeAt(server);
  const names = Array.from({ length: 21 }, (_, index) => `${index}.png`);
  await show(runtime, await Promise.all(names.map((name) => upload(runtime, name, "image/png", PNG))));
  expect(imagesIn(server, 0)[0]).toHaveLength(20);
  await runtime.close();
});

test("an interrupted turn asks again with its image, whose bytes are not in the log", async () => {
  const asked = Promise.withResolvers<void>();
  await using server = await OpenAiServer.start(() => asked.resolve(), thanks);
  const log = { ...memoryLog(), close: async () => {} };
  const artifacts = { ...memoryArtifacts(), close: async () => {} };
  const before = runtimeAt(server, {}, { log, artifacts });
  const picture = pngOf(1_000_000);
  const attachments = [await upload(before, "moon.png", "image/png", picture)];
  const { requestId, runId } = await before.process("clerk", {
    type: "ChatRequest",
    input: "See.",
    attachments,
  });
  await asked.promise;
  await before.close({ drainMs: 0 });

  const after = runtimeAt(server, {}, { log, artifacts });
  const feed = await after.follow(await after.resolve(requestId), { after: 0 });
  let last = "";
  for await (const { events } of feed.pages) last = events.at(-1) ?? last;
  expect(JSON.parse(last)).toMatchObject({ finish_reason: "success", result: "Thank you." });
  expect(imagesIn(server, 1)).toEqual([[urlOf("image/png", picture)]]);
  expect(server.requests[1]).toEqual(server.requests[0]);
  expect(await log.size(runId ?? undefined)).toBeLessThan(10_000);
  await after.close();
});

const PDF = Buffer.from("%PDF-1.4\n%%EOF");
const WAV = Buffer.from("RIFF\x24\x00\x00\x00WAVEfmt ", "latin1");

test("PDF documents and sounds are sent to the model as files, with the name of a document", async () => {
  await using server = await OpenAiServer.start(thanks);
  const runtime = runtimeAt(server);
  const pdf = await upload(runtime, "bill.pdf", "application/pdf", PDF);
  const wav = await upload(runtime, "call.wav", "audio/wav", WAV);
  const events = await show(runtime, [pdf, wav]);
  expect(events.at(-1)).toMatchObject({ result: "Thank you." });
  expect(server.requests[0]?.messages).toEqual([
    {
      role: "user",
      content: [
        {
          type: "text",
          text: `See.\n\nAttached: bill.pdf (application/pdf) /artifacts/${pdf}\n\nAttached: call.wav (audio/wav) /artifacts/${wav}`,
        },
        { type: "file", file: { filename: "bill.pdf", file_data: urlOf("application/pdf", PDF) } },
        { type: "input_audio", input_audio: { data: WAV.toString("base64"), format: "wav" } },
      ],
    },
  ]);
  await runtime.close();
});

test("a model that takes no such files fails with an error that says so, or gets their names only", async () => {
  const refusal = Object.assign(new Error("'audio media type audio/ogg' functionality not supported."), {
    name: "AI_UnsupportedFunctionalityError",
  });
  const model = specifiedModel("v3", refusal, saying("I cannot hear."));
  const plain = { purpose: "Hears.", instructions: "" };
  const hears = llmAgent({ ...plain, name: "clerk", model });
  const reads = llmAgent({ ...plain, name: "reader", model: aiSdkModel(model, { files: false }) });
  const runtime = createRuntime({ agents: [hears, reads] });
  const ogg = await upload(runtime, "call.ogg", "audio/ogg", Buffer.from("OggS"));
  const failed = await show(runtime, [ogg]);
  expect(failed.at(-1)).toMatchObject({
    finish_reason: "error",
    error: {
      code: "model_rejected",
      message: expect.stringContaining(
        "audio media type audio/ogg' functionality not supported.; it was sent audio/ogg: if it takes no such files, " +
          "give it their names only with { files: false }",
      ) as unknown,
    },
  });
  const named = await collect(runtime, "reader", { type: "ChatRequest", input: "?", attachments: [ogg] });
  expect(named.at(-1)).toMatchObject({ result: "I cannot hear." });
  const text = `?\n\nAttached: call.ogg (audio/ogg) /artifacts/${ogg}`;
  expect(model.calls[1]?.prompt).toEqual([{ role: "user", content: [{ type: "text", text }] }]);
  await runtime.close();
});

test("a conversation continues without a removed image", async () => {
  await using server = await OpenAiServer.start(thanks, thanks);
  const artifacts = memoryArtifacts();
  const runtime = runtimeAt(server, {}, { artifacts });
  const events = await show(runtime, [await upload(runtime, "moon.png", "image/png", PNG)]);
  // Somebody removes the file from the store.
  await artifacts.removeRun(runOf(events));
  expect((await show(runtime, [], runOf(events))).at(-1)).toMatchObject({ result: "Thank you." });
  expect(imagesIn(server, 1)).toEqual([[], [], []]);
  expect(JSON.stringify(server.requests[1])).toContain("Attached: moon.png");
  await runtime.close();
});

test("for a model without image input, images are only named", async () => {
  await using server = await OpenAiServer.start(thanks);
  const runtime = runtimeAt(server, { TROUPE_MODEL_IMAGES: "no" });
  const id = await upload(runtime, "moon.png", "image/png", PNG);
  await show(runtime, [id]);
  expect(server.requests[0]?.messages).toEqual([
    { role: "user", content: `See.\n\nAttached: moon.png (image/png) /artifacts/${id}` },
  ]);
  await runtime.close();
});

test("a custom model gets references to the images, and can read them", async () => {
  const seen: unknown[] = [];
  const script = scriptedModel(["Thank you."]);
  const agent = llmAgent({
    name: "clerk",
    purpose: "Looks.",
    instructions: "",
    model: {
      name: "mine",
      async *generate(input, context) {
        const [message] = (input as unknown as Prompt).messages;
        for (const image of (message?.role === "user" && message.files) || []) {
          seen.push(image, Buffer.from(await context.readArtifact(image.artifactId)));
        }
        yield* script.generate(input, context);
      },
    },
  });
  const runtime = createRuntime({ agents: [agent] });
  const id = await upload(runtime, "moon.png", "image/png", PNG);
  await show(runtime, [id]);
  const file = { artifactId: id, name: "moon.png", mediaType: "image/png", sizeBytes: PNG.length };
  expect(seen).toEqual([file, PNG]);
  await runtime.close();
});
