import OpenAI from "openai";
import { expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { ServerProcess } from "../../flows/server.ts";
import { returning } from "../agentscope/harness/agents.ts";
import { OpenAiServer } from "./server.ts";

/** A client whose retries have the key of the first try. */
class RetryingClient extends OpenAI {
  protected override idempotencyHeader = "idempotency-key";
}

const hi = { role: "user", content: "hi" } as const;

test("a request whose answer was lost is sent again by the client and is the same one", async () => {
  await using server = await OpenAiServer.start([returning, payments]);
  let lost = 1;
  const client = new RetryingClient({
    baseURL: `${server.url}/v1`,
    apiKey: "none",
    maxRetries: 2,
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (lost === 0) return answer;
      lost -= 1;
      await answer.text();
      throw new TypeError("the connection was lost");
    },
  });
  const count = async (): Promise<number> =>
    (await server.runtime.runs({ limit: 1, total: true })).total ?? -1;
  const chat = await client.chat.completions.create({ model: "returning", messages: [hi] });
  expect(chat.choices[0]?.message.content).toBe("You said hi.");
  expect(await count()).toBe(1);
  lost = 1;
  const asked = await client.responses.create({ model: "payments", input: "pay 3 to bob" });
  expect(await count()).toBe(2);
  lost = 1;
  const { id: previous_response_id } = asked;
  const paid = await client.responses.create({ model: "payments", input: "yes", previous_response_id });
  expect(paid.output_text).toBe("Paid 3 to bob.");
  expect(await server.runtime.requests(paid.metadata?.["run_id"] ?? "")).toHaveLength(1);
  const headers = { "idempotency-key": "order 1" };
  const body = { model: "returning", messages: [hi] };
  const [one, two] = await Promise.all([1, 2].map(() => server.post("/v1/chat/completions", body, headers)));
  expect(await two?.json()).toEqual(await one?.json());
  const other = { ...body, messages: [{ role: "user", content: "other" }] };
  expect((await server.post("/v1/chat/completions", other, headers)).status).toBe(409);
  expect(
    (await server.post("/v1/chat/completions", body, { "idempotency-key": "x".repeat(300) })).status,
  ).toBe(400);
});

test(
  "a response whose server is killed in the middle is polled and streamed again, whole and once",
  { tags: "long" },
  async () => {
    await using server = await ServerProcess.create();
    const clientOf = (url: string): OpenAI =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
    const stream = await clientOf(await server.start()).responses.create({
      model: "ticker",
      input: "3 1000",
      stream: true,
    });
    const seen: OpenAI.Responses.ResponseStreamEvent[] = [];
    const { promise: said, resolve } = Promise.withResolvers<void>();
    const reading = (async () => {
      for await (const event of stream) {
        seen.push(event);
        if (event.type === "response.output_text.delta") resolve();
      }
    })().catch((thrown: unknown) => thrown);
    await said;
    const client = clientOf(await server.restart());
    expect(await reading).toBeInstanceOf(Error);
    const [first] = seen;
    const id = first?.type === "response.created" ? first.response.id : "";
    const rest = await client.responses.retrieve(id, {
      stream: true,
      starting_after: seen.at(-1)?.sequence_number ?? 0,
    });
    for await (const event of rest) seen.push(event);
    expect(seen.map(({ sequence_number: number }) => number)).toEqual(seen.map((_, index) => index));
    const deltas = seen.map((event) => (event.type === "response.output_text.delta" ? event.delta : ""));
    expect(deltas.join("")).toBe("1\n2\n3\n");
    expect(await client.responses.retrieve(id)).toMatchObject({
      status: "completed",
      output_text: "1\n2\n3\n",
    });
  },
);
