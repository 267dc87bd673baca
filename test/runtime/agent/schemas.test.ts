import { createRuntime, defineAgent, operation } from "troupe";
import type { Schema } from "troupe";
import { createApp } from "troupe/http";
import type { ConfigureRequest, RequestId, ResumeWithInput, TurnRequest } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";

type Validate = (value: unknown) => unknown;

const fits: Validate = (value) => ({ value });
/** A thrown value that is not an Error. */
const thrown = (value: unknown): Error => value as Error;
const never: Validate = () => new Promise(() => {});

/** A schema whose behavior a test sets. */
class TestSchema {
  validate: Validate = fits;

  get schema(): Schema<unknown> {
    const validate = (value: unknown): unknown => this.validate(value);
    return { "~standard": { version: 1, vendor: "test", validate } } as Schema<unknown>;
  }
}

/** An agent whose input, answer and configuration use one schema. */
function agentWith(test: TestSchema) {
  return defineAgent({
    name: "checked",
    purpose: "Has everything checked.",
    config: test.schema,
    operations: {
      take: operation({
        description: "Takes it.",
        input: test.schema,
        output: z.unknown(),
        run: () => "taken",
      }),
      ask: operation({
        description: "Asks for it.",
        input: z.object({}),
        output: z.unknown(),
        run: async (_input, turn) => {
          await turn.waitForInput(test.schema);
          return "answered";
        },
      }),
    },
  });
}

const id = "asked" as RequestId;
const take: TurnRequest = { type: "OperationRequest", operation: "take", input: "x" };
const ask: TurnRequest = { type: "OperationRequest", operation: "ask", input: {}, request_id: id };
const answer: ResumeWithInput = { type: "ResumeWithInput", request_id: id, request_keys: { a: 1 } };
const configure: ConfigureRequest = { type: "ConfigureRequest", args: { a: 1 } };

const ODD: readonly (readonly [string, Validate])[] = [
  [
    "throws an error",
    () => {
      throw new SyntaxError("Unexpected token 'x'");
    },
  ],
  [
    "throws a text",
    () => {
      throw thrown("x");
    },
  ],
  [
    "throws undefined",
    () => {
      throw thrown(undefined);
    },
  ],
  ["rejects", () => Promise.reject(new Error("later"))],
  ["gives nothing", () => undefined],
  [
    "gives issues that cannot be read",
    () => ({
      get issues(): never {
        throw new Error("no");
      },
    }),
  ],
  ["gives an issue that is null", () => ({ issues: [null] })],
  [
    "gives a path that cannot be text",
    () => ({ issues: [{ message: "no", path: [Symbol("a"), { key: { toString: null } }] }] }),
  ],
  ["gives a message that is no text", () => ({ issues: [{ message: 7n }] })],
  ["gives no message", () => ({ issues: [{}] })],
  ["gives no issues in the list", () => ({ issues: [] })],
];

test.each(ODD)(
  "a value that a schema refuses because it %s is unprocessable, and nothing is written",
  async (_, validate) => {
    const checker = new TestSchema();
    const host = new TestHost({ agents: [agentWith(checker)] });
    await host.ask("checked", ask);
    const before = await host.events(id);
    checker.validate = validate;
    for (const request of [take, answer, configure]) {
      const error: unknown = await host.ask("checked", request).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "unprocessable" });
      expect(JSON.stringify(error)).toContain("unprocessable");
    }
    expect(await host.events(id)).toEqual(before);
    expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
    checker.validate = fits;
    await host.ask("checked", answer);
    expect((await host.events(id)).at(-1)).toMatchObject({ type: "RequestCompleted", result: "answered" });
  },
);

test("a transformation that throws gives a 422 with its message", async () => {
  const parser = defineAgent({
    name: "parser",
    purpose: "Parses.",
    operations: {
      parse: operation({
        description: "Parses JSON.",
        input: z.object({ text: z.string().transform((text) => JSON.parse(text) as unknown) }),
        output: z.unknown(),
        run: ({ text }) => text,
      }),
    },
  });
  const runtime = createRuntime({ agents: [parser] });
  const app = createApp(runtime);
  const post = async (text: string): Promise<Response> =>
    app.request("/parser/process?wait=completed", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: "OperationRequest", operation: "parse", input: { text } }),
    });
  const refused = await post("{");
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({
    code: "unprocessable",
    detail: expect.stringMatching(/^the input of parser\.parse does not fit: .*JSON/) as unknown,
  });
  expect(await (await post('{"a":1}')).json()).toMatchObject({ output: { a: 1 } });
  await runtime.close();
});

test.each([
  ["never settles", never],
  ["settles too late", undefined],
])("a schema that %s is refused in time, and leaves nothing behind", async (_, validate) => {
  const checker = new TestSchema();
  const host = new TestHost({ agents: [agentWith(checker)], limits: { idleRuns: 0 } });
  await host.ask("checked", ask);
  const before = await host.events(id);
  const late = Promise.withResolvers<unknown>();
  checker.validate = validate ?? (() => late.promise);
  const named = { ...take, request_id: "named" as RequestId };
  const requests = [take, named, named, named, answer, configure].map(async (request) =>
    host.runtime.process("checked", request).then(
      () => "taken",
      ({ code }: { readonly code: string }) => code,
    ),
  );
  await host.environment.advance(30_000);
  expect(await Promise.all(requests)).toEqual(requests.map(() => "timeout"));
  late.resolve({ value: {} });
  await host.environment.idle();
  expect(host.environment.timers).toBe(0);
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });
  expect(await host.events(id)).toEqual(before);
  expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);

  checker.validate = fits;
  await host.ask("checked", named);
  expect((await host.events("named")).at(-1)).toMatchObject({
    type: "RequestCompleted",
    output: "taken",
  });
  await host.ask("checked", answer);
  expect((await host.events(id)).at(-1)).toMatchObject({ type: "RequestCompleted", output: "answered" });
});

test("a slow schema within the limit is awaited", async () => {
  const checker = new TestSchema();
  const host = new TestHost({ agents: [agentWith(checker)] });
  const settled = Promise.withResolvers<unknown>();
  checker.validate = () => settled.promise;
  const receipt = host.runtime.process("checked", take);
  await host.environment.advance(5_000);
  settled.resolve({ value: "x" });
  expect((await receipt).kind).toBe("turn");
});
