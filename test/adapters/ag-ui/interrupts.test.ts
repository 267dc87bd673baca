import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import { createClerk } from "../../agents/clerk.ts";
import { gatedAgent, returning } from "../agentscope/harness/agents.ts";
import { Gates } from "../gates.ts";
import { AgUiServer, endOf, typesOf } from "./server.ts";

/** The status and the event of a refusal. */
async function refusalOf(answer: Response): Promise<object> {
  return { status: answer.status, ...((await answer.json()) as object) };
}

test("an interrupt is answered by an object, by yes or no, by a text, or cancelled", async () => {
  await using server = await AgUiServer.start([payments]);
  const answers: readonly (readonly [unknown, string])[] = [
    [{ approved: true }, "Paid 3 to bob."],
    [true, "Paid 3 to bob."],
    ["yes", "Paid 3 to bob."],
    [false, "declined"],
  ];
  for (const [payload, said] of answers) {
    const thread = server.thread("payments", `thread-${JSON.stringify(payload)}`);
    expect(endOf(await thread.say("pay 3 to bob"))).toMatchObject({ type: "interrupt" });
    expect(endOf(await thread.resume([payload]))).toEqual({ type: "success" });
    expect(thread.said).toBe(said);
  }
  const thread = server.thread("payments", "cancelled");
  const asked = await thread.say("pay 3 to bob", { runId: "first" });
  const bytes = thread.text;
  const events = await thread.resume([], { runId: "second" });
  expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  expect(endOf(events)).toEqual({ type: "cancelled" });
  expect(await server.runtime.status("first")).toMatchObject({ finish_reason: "canceled" });
  // The run that asked is as it was, and the thread takes texts again.
  expect(await thread.reread("?runId=first")).toBe(bytes);
  expect(typesOf(asked)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  await thread.say("pay 4 to bob");
  expect(thread.interrupts).toMatchObject([{ message: "Pay 4 to bob?" }]);
});

test("two questions are answered at once, or one after the other", async () => {
  await using server = await AgUiServer.start([interviewer]);
  const both = server.thread("interviewer", "both");
  await both.say("go");
  expect(both.interrupts.map(({ message }) => message)).toEqual([
    "What is your name?",
    "What is your favourite colour?",
  ]);
  await both.resume([{ name: "Ada" }, "blue"], { runId: "answer" });
  expect(both.said).toBe("Ada likes blue.");
  expect(await both.reread("?runId=answer")).toBe(both.text);
  expect(await both.reread()).toBe(both.text);

  const one = server.thread("interviewer", "one");
  await one.say("go", { runId: "asks" });
  const asks = one.text;
  const [name, colour] = one.interrupts;
  // The client itself answers all of them or none.
  one.client.pendingInterrupts = [];
  const rest = await one.run({
    runId: "half",
    resume: [{ interruptId: colour?.id ?? "", status: "resolved", payload: { colour: "blue" } }],
  });
  expect(endOf(rest)).toMatchObject({ type: "interrupt", interrupts: [{ id: name?.id }] });
  const half = one.text;
  await one.resume(["Ada"], { runId: "end" });
  expect(one.said).toBe("Ada likes blue.");
  expect(await one.reread("?runId=asks")).toBe(asks);
  expect(await one.reread("?runId=half")).toBe(half);
  expect(await one.reread("?runId=end")).toBe(one.text);
});

test("a thread with an open interrupt takes only its answer", async () => {
  await using server = await AgUiServer.start([payments]);
  const thread = server.thread("payments");
  await thread.say("pay 3 to bob");
  const [{ id } = { id: "" }] = thread.interrupts;
  const post = (fields: object): Promise<Response> =>
    server.post("/ag-ui/payments", {
      threadId: "thread-1",
      runId: crypto.randomUUID(),
      messages: [{ id: "1", role: "user", content: "hello?" }],
      ...fields,
    });
  const resume = (entry: object): Promise<Response> =>
    post({ resume: [{ interruptId: id, status: "resolved", ...entry }] });
  expect(await refusalOf(await post({}))).toMatchObject({
    status: 409,
    type: "RUN_ERROR",
    code: "conflict",
    message: expect.stringContaining(id) as string,
  });
  expect(await refusalOf(await resume({}))).toMatchObject({ status: 422 });
  expect(await refusalOf(await resume({ payload: { approved: "perhaps" } }))).toMatchObject({ status: 422 });
  expect(await refusalOf(await resume({ payload: 7 }))).toMatchObject({ status: 422 });
  expect(await refusalOf(await resume({ interruptId: "x~1" }))).toMatchObject({ status: 404 });
  expect(thread.interrupts).toHaveLength(1);
  // Another wire answers it; the late answer changes nothing.
  const { request_id } = await server.runtime.status(id.split("~")[0] ?? "");
  await server.runtime.process("payments", {
    type: "ResumeWithInput",
    request_id,
    request_keys: { approved: false },
  });
  expect(await refusalOf(await resume({ payload: true }))).toMatchObject({ status: 409, type: "RUN_ERROR" });
  expect(await refusalOf(await resume({ payload: false }))).toMatchObject({ status: 409, type: "RUN_ERROR" });
  thread.client.pendingInterrupts = [];
  expect(endOf(await thread.say("pay 5 to bob"))).toMatchObject({ type: "interrupt" });
});

test("the same run, sent twice or at once by two, is one; the same name in another thread is another", async () => {
  await using server = await AgUiServer.start([payments, echo], { durable: true });
  const thread = server.thread("payments");
  await thread.say("pay 3 to bob", { runId: "one" });
  const asked = thread.text;
  const { messages, pendingInterrupts } = thread.client;
  const post = (body: object): Promise<string> =>
    server
      .post("/ag-ui/payments", { threadId: "thread-1", messages, ...body })
      .then((answer) => answer.text());
  expect(await post({ runId: "one" })).toBe(asked);
  const resume = pendingInterrupts.map(({ id: interruptId }) => ({
    interruptId,
    status: "resolved",
    payload: true,
  }));
  const [first, second] = await Promise.all([post({ runId: "two", resume }), post({ runId: "two", resume })]);
  expect(second).toBe(first);
  expect(first).toContain("Paid 3 to bob.");
  await server.restart();
  expect(await post({ runId: "one" })).toBe(asked);
  expect(await post({ runId: "two", resume })).toBe(first);
  expect(await thread.reread()).toBe(first);
  const [{ request_id: id } = { request_id: "" }, ...others] = await server.runtime.requests(
    (await server.runtime.find("payments", "ag-ui:thread-1")) ?? "",
  );
  expect([id, ...others]).toEqual(["one"]);
  const other = server.thread("echo", "thread-2");
  const events = await other.say("hi", { runId: "one" });
  expect(events[0]).toMatchObject({ type: "RUN_STARTED", runId: "one" });
  expect(other.said).toBe("hi");
  // Names that cannot be ids come back as they were.
  const far = server.thread("echo", "день/1 ☀");
  expect((await far.say("hi", { runId: "☀/1" }))[0]).toMatchObject({ threadId: "день/1 ☀", runId: "☀/1" });
  expect(await far.reread(`?runId=${encodeURIComponent("☀/1")}`)).toBe(far.text);
});

test("a reader that leaves in the middle cancels nothing, and sees everything once when it is back", async () => {
  const gates = new Gates();
  await using server = await AgUiServer.start([gatedAgent(gates), returning]);
  const left = new AbortController();
  const answer = await fetch(`${server.url}/ag-ui/gated`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "t", runId: "r", messages: [{ id: "1", role: "user", content: "go" }] }),
    signal: left.signal,
  });
  let seen = "";
  const decoder = new TextDecoder();
  for await (const bytes of answer.body ?? []) {
    seen += decoder.decode(bytes as Uint8Array, { stream: true });
    if (seen.includes('"one "')) break;
  }
  left.abort();
  const thread = server.thread("gated", "t");
  const whole = thread.reread();
  const after = Number(/id: (\d+)\n[^\n]*\n\n$/.exec(seen)?.[1]);
  const rest = thread.reread("?runId=r", { "last-event-id": String(after) });
  gates.get("go").resolve();
  expect(seen + (await rest)).toBe(await whole);
  expect(await whole).toContain('"two"');
  expect(await server.thread("gated", "nobody").reread()).toBe("204");
});

test("a thread is stopped, and a run of another wire is a thread", async () => {
  const gates = new Gates();
  await using server = await AgUiServer.start([gatedAgent(gates), payments]);
  const thread = server.thread("gated");
  const said = thread.say("go");
  await expect.poll(() => thread.text).toContain('"one "');
  expect((await server.post("/ag-ui/gated/thread-1/stop", {})).status).toBe(204);
  expect(endOf(await said)).toEqual({ type: "cancelled" });
  const { runId, requestId } = await server.runtime.process("payments", {
    type: "ChatRequest",
    input: "pay 3 to bob",
  });
  const other = server.thread("payments", runId ?? "");
  const text = await other.reread();
  expect(text).toContain("Pay 3 to bob?");
  const [interruptId = ""] = /[\w-]+~\d+/.exec(text) ?? [];
  expect(interruptId).toContain(requestId);
  await other.run({ resume: [{ interruptId, status: "resolved", payload: true }] });
  expect(other.said).toBe("Paid 3 to bob.");
});

test("a turn that is held asks, takes answers, and goes on when its code is back", async () => {
  const clerk = createClerk();
  await using server = await AgUiServer.start([clerk.agent], { durable: true });
  const thread = server.thread("clerk");
  await thread.say("go");
  const [name, colour] = thread.interrupts.map(({ id }) => id);
  clerk.isChanged = true;
  await server.restart();
  thread.client.pendingInterrupts = [];
  const rest = await thread.run({
    resume: [{ interruptId: name ?? "", status: "resolved", payload: { name: "Ada" } }],
  });
  expect(endOf(rest)).toMatchObject({ type: "interrupt", interrupts: [{ id: colour }] });
  expect(await server.runtime.status(name?.split("~")[0] ?? "")).toMatchObject({ status: "held" });
  const said = thread.resume(["blue"]);
  await expect.poll(() => thread.text).toContain("RUN_STARTED");
  expect(thread.text).not.toContain("RUN_ERROR");
  clerk.isChanged = false;
  await server.runtime.retryHeld();
  expect(endOf(await said)).toEqual({ type: "success" });
  expect(thread.said).toBe("Ada likes blue.");
});
