/** @module-tag long */
import { expect, test } from "vitest";
import { ServerProcess } from "../../flows/server.ts";
import { saidIn, parseFrames, Thread } from "./server.ts";

test("a server that is killed in the middle of a run continues with the same bytes", async () => {
  await using server = await ServerProcess.create();
  let url = await server.start();
  const ask = { id: "1", role: "user", content: "3 1000" } as const;
  const answer = await fetch(`${url}/ag-ui/ticker`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "thread-1", runId: "run-1", messages: [ask] }),
  });
  let seen = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of answer.body ?? [])
      seen += decoder.decode(bytes as Uint8Array, { stream: true });
  })();
  const broken = reading.catch((thrown: unknown) => thrown);
  await expect.poll(() => seen).toContain('"delta":"1\\n"');
  url = await server.restart();
  expect(await broken).toBeInstanceOf(TypeError);
  const thread = new Thread(() => `${url}/ag-ui/ticker`, "thread-1");
  const whole = await thread.reread("?runId=run-1");
  expect(whole.startsWith(seen)).toBe(true);
  expect(saidIn(parseFrames(whole))).toBe("1\n2\n3\n");
  // The other way back is the same input again, with what the client has seen so far: it has everything once.
  const begun = parseFrames(seen).find((event) => event.type === "TEXT_MESSAGE_START");
  const partial = { id: begun?.messageId ?? "", role: "assistant", content: "1\n" } as const;
  thread.client.messages = [ask, partial];
  await thread.run({ runId: "run-1" });
  expect(thread.client.messages.map(({ content }) => content)).toEqual([ask.content, "1\n", "2\n", "3\n"]);
});
