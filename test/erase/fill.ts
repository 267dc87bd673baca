import type { Runtime } from "troupe";
import type { RunId } from "troupe/protocol";
import { mapConcurrent } from "../../src/shared/map-concurrent.ts";

/** How many runs are made at once. */
const AT_ONCE = 64;

/** Makes runs of an owner that only exist. */
export async function makePlain(runtime: Runtime, owner: string, count: number): Promise<readonly RunId[]> {
  const own = runtime.as({ id: `of-${owner}`, owner, roles: ["user"] });
  return forCount(count, (index) =>
    own.createRun("clerk", { input: `plain ${index}`, metadata: { customer: `plain-${index}` } }),
  );
}

/** Makes runs of an owner with a text each in everything that they have; every tenth waits for a person. */
export async function makeMarked(
  runtime: Runtime,
  owner: string,
  { word, count }: { readonly word: string; readonly count: number },
): Promise<readonly RunId[]> {
  const own = runtime.as({ id: `of-${owner}`, owner, roles: ["user"], name: `${word} of ${owner}` });
  return forCount(count, async (index) => {
    const text = `${word}-${index}`;
    const run_id = await own.createRun("clerk", { input: text, metadata: { customer: text }, key: text });
    await own.process("clerk", { type: "ConfigureRequest", run_id, args: { word: text, password: text } });
    const chat = await own.process("clerk", { type: "ChatRequest", input: text, run_id });
    await own.acknowledgement(chat, { until: "completed", timeoutMs: 600_000 });
    if (index % 10 !== 0) return run_id;
    const body = ReadableStream.from([Buffer.from(text)]);
    await own.upload({ name: text, mimeType: "text/plain", body, limitBytes: 1_000 });
    const input = { text };
    const ask = await own.process("clerk", { type: "OperationRequest", operation: "ask", input, run_id });
    await own.acknowledgement(ask, { until: "completed", timeoutMs: 600_000 });
    return run_id;
  });
}

async function forCount<Made>(
  count: number,
  make: (index: number) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = [];
  for await (const each of mapConcurrent(Array(count).keys(), AT_ONCE, make)) made.push(each);
  return made;
}
