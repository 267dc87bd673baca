import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { statusOf, textOf } from "./peers/client.ts";
import { start } from "./peers/start.ts";

test.each([
  [
    "11 a session that does not begin with START_QUEST",
    { session_status: 1 },
    3,
    "First message must be START_QUEST",
  ],
  ["12 a session without an id", { session_id: "" }, 3, "Missing session_id in START_QUEST"],
  ["14 a session with an unknown receiver", { receiver_id: "nobody" }, 5, "Receiver not found"],
])("%s is refused", async (_name, change, code, details) => {
  await using started = await start([echo]);
  const session = started.client.session();
  session.start("hi", change);
  expect(await session.status).toMatchObject({ code, details });
});

test("13 an empty stream is refused", async () => {
  await using started = await start([echo]);
  const session = started.client.session();
  session.halfClose();
  expect(await session.status).toMatchObject({ code: 10, details: "Empty request stream" });
});

test("15 START and STOP sent at once are answered in order, then the stream ends", async () => {
  await using started = await start([echo]);
  const session = started.client.session();
  session.start("hello");
  session.stop("GoodBye!");
  const messages = await session.all();
  expect(messages.map((message) => [statusOf(message), textOf(message)])).toEqual([
    ["holdResponse FINISH", "hello"],
    ["stopResponse FINISH", ""],
  ]);
  expect(await session.status).toMatchObject({ code: 0 });
});

test("16 each quest gets one answer, in order and addressed to it", async () => {
  await using started = await start([echo]);
  const session = started.client.session({ sender_id: "caller" });
  const ids = [
    session.start("0"),
    ...Array.from({ length: 5 }, (_, index) => session.hold(String(index + 1))),
  ];
  const stop = session.stop();
  const messages = await session.all();
  expect(messages.map(textOf)).toEqual(["0", "1", "2", "3", "4", "5", ""]);
  expect(messages.map(({ reply_to_message_id: id }) => id)).toEqual([...ids, stop]);
  for (const message of messages)
    expect(message).toMatchObject({
      sender_id: "echo",
      receiver_id: "caller",
      session_id: session.ids.session_id,
    });
  expect(new Set(messages.map(({ message_id: id }) => id)).size).toBe(7);
  const { runs } = await started.runtime.runs({ agent: "echo", limit: 10 });
  expect(runs).toMatchObject([{ turns: 6 }]);
});

test("18 a live session id is refused, and can be used again afterwards", async () => {
  await using started = await start([echo]);
  const first = started.client.session({ session_id: "same" });
  first.start("a");
  expect(textOf(await first.next())).toBe("a");
  const second = started.client.session({ session_id: "same" });
  second.start("b");
  expect(await second.status).toMatchObject({
    code: 3,
    details: "Session_id [same] is already registered in server",
  });
  first.hold("c");
  expect(textOf(await first.next())).toBe("c");
  first.stop();
  await first.status;
  const third = started.client.session({ session_id: "same" });
  third.start("d", { message_id: "other" });
  third.stop();
  expect((await third.all()).map(textOf)).toEqual(["d", ""]);
  const { runs } = await started.runtime.runs({ agent: "echo", limit: 10 });
  expect(runs).toMatchObject([{ turns: 3 }]);
});

test("18 a hundred sessions at once get no message of another", { tags: "long" }, async () => {
  await using started = await start([echo]);
  const sessions = Array.from({ length: 100 }, () => started.client.session());
  const answers = sessions.map(async (session) => {
    const name = session.ids.session_id;
    const ids = [session.start(`${name} 0`)];
    for (let quest = 1; quest < 5; quest += 1) ids.push(session.hold(`${name} ${quest}`));
    ids.push(session.stop());
    const messages = await session.all();
    expect(messages.map(textOf)).toEqual([0, 1, 2, 3, 4].map((quest) => `${name} ${quest}`).concat(""));
    expect(messages.map(({ reply_to_message_id: id }) => id)).toEqual(ids);
    expect(new Set(messages.map(({ session_id: id }) => id))).toEqual(new Set([name]));
  });
  await Promise.all(answers);
});

test("26 a wait is asked with WAITING, answered by the next quest, and the turn ends once", async () => {
  await using started = await start([payments]);
  const session = started.client.session({ receiver_id: "payments" });
  session.start("pay 30 to bob", { task_info: { task_id: "task-7", task_status: 0 } });
  const asked = await session.next();
  expect([statusOf(asked), textOf(asked)]).toEqual(["holdResponse WAITING", "Pay 30 to bob?"]);
  expect(asked?.task_info?.task_id).toBe("task-7");
  session.hold("yes");
  session.stop();
  expect((await session.all()).map((message) => [statusOf(message), textOf(message)])).toEqual([
    ["holdResponse FINISH", "Paid 30 to bob."],
    ["stopResponse FINISH", ""],
  ]);
  const { runs } = await started.runtime.runs({ agent: "payments", limit: 10 });
  const [run] = runs;
  const page = await started.runtime.read(
    { kind: "run", runId: run?.run_id ?? "", agent: "payments" },
    { after: 0 },
  );
  const types = page.events.map((text) => (JSON.parse(text) as { readonly type: string }).type);
  expect(types.filter((type) => type === "RequestStarted" || type === "RequestCompleted")).toEqual([
    "RequestStarted",
    "RequestCompleted",
  ]);
});

test.each([
  ["in the order of its questions", ["Ada", "green"], "What is your favourite colour?"],
  ["in the other order", ['{"colour": "green"}', "Ada"], "What is your name?"],
])("26 an agent that asks two things at once is answered %s", async (_name, answers, second) => {
  await using started = await start([interviewer]);
  const session = started.client.session({ receiver_id: "interviewer" });
  session.start("hello");
  expect(textOf(await session.next())).toBe("What is your name?");
  session.hold(answers[0]);
  expect(textOf(await session.next())).toBe(second);
  session.hold(answers[1]);
  expect(textOf(await session.next())).toBe("Ada likes green.");
});
