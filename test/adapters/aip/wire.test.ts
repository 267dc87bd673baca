import { expect, test } from "vitest";
import { loadLibrary } from "../../../src/adapters/aip/wire/load.ts";
import { methodPath, SERVICES } from "../../../src/adapters/aip/rpc/methods.ts";
import { allowManyResets } from "../../../src/adapters/aip/rpc/server.ts";
import type { MessageName, MessageTypes } from "../../../src/adapters/aip/wire/messages.ts";
import { peekSessionStatus } from "../../../src/adapters/aip/wire/peek.ts";
import { readToolArguments } from "../../../src/adapters/aip/wire/tool-arguments.ts";

const { codecs, grpc } = await loadLibrary();

/** Messages with the bytes that Google's Python library writes for them. */
const golden: { readonly [Name in MessageName]?: readonly (readonly [MessageTypes[Name], string])[] } = {
  AgentMessage: [
    [
      {
        sender_id: "a",
        receiver_id: "b",
        session_id: "s",
        session_status: 0,
        task_info: { task_id: "t", parent_task_ids: [], task_status: 1 },
        message_id: "m1",
        reply_to_message_id: "",
        content: [{ text: "hi" }],
      },
      "0a01611201621a01732a050a0174200132026d3142040a026869",
    ],
    [
      {
        sender_id: "b",
        receiver_id: "a",
        session_id: "s",
        session_status: 4,
        task_info: null,
        message_id: "m2",
        reply_to_message_id: "m1",
        content: [{ image: Buffer.from("00ff", "hex") }],
      },
      "0a01621201611a0173200432026d323a026d314204120200ff",
    ],
  ],
  ToolRequest: [
    [
      { sender_id: "a", receiver_id: "tb", session_id: "s", tool_name: "f", arguments: '{"x":1}' },
      "0a0161120274621a01732201662a077b2278223a317d",
    ],
  ],
  AgentInfo: [
    [
      {
        agent_id: "a",
        address: "h:1",
        name: "",
        domain: "",
        input_mode: [0, 1],
        output_mode: [],
        description: "",
        skills: [{ skill_id: "k", capability: "c" }],
        version: "",
      },
      "0a01611203683a312a02000142060a016b120163",
    ],
  ],
};

const cases = Object.entries(golden).flatMap(([name, pairs]) =>
  (pairs as readonly (readonly [unknown, string])[]).map(
    ([message, hex]) => [name as MessageName, hex, message] as const,
  ),
);

test.each(cases)("1 a %s is written as %s", (name, hex, message) => {
  expect(codecs[name].encode(message as never).toString("hex")).toBe(hex);
});

test.each(cases)("1 a %s is read from %s", (name, hex, message) => {
  expect(codecs[name].decode(Buffer.from(hex, "hex"))).toMatchObject(message as object);
});

test("1 an empty text item is written, because the item says that it is a text", () => {
  const { encode, decode } = codecs.ToolResponse;
  const bytes = encode({
    sender_id: "",
    receiver_id: "",
    session_id: "",
    is_error: false,
    error_message: "",
    content: [{ text: "" }],
  });
  expect(bytes.toString("hex")).toBe("32020a00");
  expect(decode(bytes).content).toMatchObject([{ data: "text", text: "" }]);
});

test("1 unknown enum numbers are read, and never written", () => {
  const { encode, decode } = codecs.AgentInfo;
  const read = decode(Buffer.from("2a0300096301", "hex").subarray(0, 5));
  expect(read.input_mode).toEqual([0, 9, 99]);
  expect(encode(read).toString("hex")).toBe("2a0100");
  const message = codecs.AgentMessage.decode(Buffer.from("20092a02202a", "hex"));
  expect(message).toMatchObject({ session_status: 9, task_info: { task_status: 42 } });
  expect(codecs.AgentMessage.encode(message).toString("hex")).toBe("2a00");
});

test("1 the session status is found without decoding the message", () => {
  const { encode } = codecs.AgentMessage;
  const base = codecs.AgentMessage.decode(Buffer.from(golden.AgentMessage?.[1]?.[1] ?? "", "hex"));
  for (const status of [0, 1, 2, 3, 4])
    expect(peekSessionStatus(encode({ ...base, session_status: status }))).toBe(status);
  expect(peekSessionStatus(Buffer.from("ffffffffffffffffff", "hex"))).toBe(0);
});

test("2 the paths are those of the package grpc_service", () => {
  expect(methodPath("GatewayService", "RouteAgentCalling")).toBe(
    "/grpc_service.GatewayService/RouteAgentCalling",
  );
  expect(methodPath("AgentService", "CallAgent")).toBe("/grpc_service.AgentService/CallAgent");
  expect(methodPath("ToolService", "CallTool")).toBe("/grpc_service.ToolService/CallTool");
  expect(Object.keys(SERVICES.GatewayService)).toHaveLength(10);
  expect(grpc.status.UNAVAILABLE).toBe(14);
});

test.each([
  [
    '{"type":"object","properties":{"a":{"type":"integer"}}}',
    { type: "object", properties: { a: { type: "integer" } } },
  ],
  [
    `{'a': "<class 'int'>", 'b': "<class 'str'>"}`,
    {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "string" } },
      required: ["a", "b"],
    },
  ],
  ['{"lang":"str"}', { type: "object", properties: { lang: { type: "string" } }, required: ["lang"] }],
  ["{}", { type: "object", properties: {}, required: [] }],
])("the arguments %s of a tool are a schema", (text, schema) => {
  expect(readToolArguments(text)).toEqual({ schema });
});

test.each(["two numbers", "{'a': 1}", "[1]", "", `{'a': "x`])(
  "the arguments %j of a tool are a text",
  (text) => {
    expect(readToolArguments(text)).toEqual({ text });
  },
);

test("23 a library in which the limit of resets cannot be raised is reported", () => {
  expect(allowManyResets({} as Parameters<typeof allowManyResets>[0])()).toContain("use Node 24 or newer");
});
