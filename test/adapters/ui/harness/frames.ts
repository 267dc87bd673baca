import { asSchema, uiMessageChunkSchema } from "ai";
import type { UIMessageChunk } from "ai";

/** The chunks of the frames of an answer, each checked by the schema of the AI SDK. */
async function chunksOf(text: string): Promise<readonly UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  const schema = asSchema(uiMessageChunkSchema);
  for (const data of dataIn(text)) {
    if (data === "[DONE]") continue;
    const checked = await schema.validate?.(JSON.parse(data));
    if (checked?.success !== true) throw new Error(`no chunk of a UI message stream: ${data}`);
    chunks.push(checked.value);
  }
  return chunks;
}

/** Checks that an answer is whole: valid frames, one start, each text opened and closed once, one finish, then `[DONE]`. */
export async function checkFrames(text: string): Promise<void> {
  const chunks = await chunksOf(text);
  const types = chunks.map(({ type }) => type);
  const fail = (fact: string): never => {
    throw new Error(`the answer ${fact}:\n${text}`);
  };
  if (dataIn(text).at(-1) !== "[DONE]") fail("does not end with [DONE]");
  if (types[0] !== "start" || types.filter((type) => type === "start").length !== 1)
    fail("has not one start");
  if (types.at(-1) !== "finish" || types.filter((type) => type === "finish").length !== 1)
    fail("has not one finish");
  const open = new Set<string>();
  let isInStep = false;
  for (const chunk of chunks) {
    if (chunk.type === "start-step" || chunk.type === "finish-step") {
      if (isInStep === (chunk.type === "start-step")) fail("has steps that are not one after the other");
      isInStep = chunk.type === "start-step";
    }
    if (chunk.type === "reset-step") open.clear();
    const [, kind = "", what = ""] = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type) ?? [];
    if (kind === "") continue;
    const name = `${kind} ${(chunk as { readonly id: string }).id}`;
    if (what === "start" ? open.has(name) : !open.has(name)) fail(`has a wrong ${chunk.type}`);
    if (what === "start") open.add(name);
    if (what === "end") open.delete(name);
  }
  if (isInStep) fail("has an open step");
  if (open.size > 0) fail("has open texts");
}

function dataIn(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length));
}
