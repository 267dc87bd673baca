import { expect } from "vitest";
import type {
  AgentScopeObject,
  ContentObject,
  MessageObject,
  ResponseObject,
} from "../../../../src/adapters/agentscope/index.ts";

/** Matches any text and any number in an expected value. */
export const anyText: string = expect.any(String) as string;
export const anyNumber: number = expect.any(Number) as number;

const ENDS = ["completed", "canceled", "failed", "rejected", "unknown"];

export function responsesOf(objects: readonly AgentScopeObject[]): ResponseObject[] {
  return objects.filter((object) => object.object === "response");
}

export function messagesOf(objects: readonly AgentScopeObject[]): MessageObject[] {
  return objects.filter((object) => object.object === "message");
}

export function contentsOf(objects: readonly AgentScopeObject[]): ContentObject[] {
  return objects.filter((object) => object.object === "content");
}

/** The last object of a whole response. */
export function lastOf(objects: readonly AgentScopeObject[]): ResponseObject {
  const last = objects.at(-1);
  if (last?.object !== "response") throw new Error("the last object is no response");
  return last;
}

/** The texts of a response, one for each message with text. */
export function textsOf(response: ResponseObject): string[] {
  return (response.output ?? []).flatMap(({ type, content }) =>
    type === "message" ? (content ?? []).flatMap((item) => (item.type === "text" ? item.text : [])) : [],
  );
}

/** The data of the messages of a type. */
export function dataOf(response: ResponseObject, type: string): Record<string, unknown>[] {
  return (response.output ?? [])
    .filter((message) => message.type === type)
    .flatMap(({ content }) => (content ?? []).flatMap((item) => (item.type === "data" ? [item.data] : [])));
}

/** A value without its sequence numbers, at any depth. */
export function unnumbered(value: unknown): unknown {
  const text = JSON.stringify(value, (key, item: unknown) => (key === "sequence_number" ? undefined : item));
  return JSON.parse(text) as unknown;
}

/** Checks everything that holds for the objects of every whole response: assertions 2 to 7. */
export function checkResponse(objects: readonly AgentScopeObject[]): void {
  checkFrame(objects);
  checkNumbers(objects);
  checkContents(objects);
  checkMessages(objects);
}

/** Assertion 2: created, in progress, one end, and nothing behind it. */
export function checkFrame(objects: readonly AgentScopeObject[]): void {
  const responses = responsesOf(objects);
  expect(objects[0]).toMatchObject({ object: "response", status: "created" });
  expect(objects[1]).toMatchObject({ object: "response", status: "in_progress" });
  expect(objects.at(-1)?.object).toBe("response");
  expect(ENDS).toContain(objects.at(-1)?.status);
  expect(responses).toHaveLength(3);
  expect(new Set(responses.map(({ id }) => id)).size).toBe(1);
}

/** Assertion 3: one counter from 0 for all kinds. */
export function checkNumbers(objects: readonly AgentScopeObject[]): void {
  expect(objects.map(({ sequence_number }) => sequence_number)).toEqual(objects.map((_, index) => index));
}

/** Assertions 4 and 5: a message comes before its contents, and the deltas of a content are its text. */
export function checkContents(objects: readonly AgentScopeObject[]): void {
  const announced = new Set<string>();
  const joined = new Map<string, string>();
  const whole = new Map<string, string>();
  for (const object of objects) {
    if (object.object === "message") {
      announced.add(object.id);
      for (const item of object.content ?? []) {
        if (item.type !== "text") continue;
        expect(whole.get(`${item.msg_id} ${item.index}`)).toBe(item.text);
      }
    }
    if (object.object !== "content") continue;
    expect(announced).toContain(object.msg_id);
    if (object.type !== "text") continue;
    const key = `${object.msg_id} ${object.index}`;
    if (object.delta) joined.set(key, (joined.get(key) ?? "") + object.text);
    else if (object.status === "completed") whole.set(key, object.text);
  }
  expect(joined).toEqual(whole);
}

/** Assertions 6 and 7: each message ends once, and the output is all messages in their order. */
export function checkMessages(objects: readonly AgentScopeObject[]): void {
  const states = new Map<string, string[]>();
  for (const object of objects) {
    if (object.object === "response") continue;
    const id = object.object === "message" ? object.id : object.msg_id;
    const state = states.get(id) ?? [];
    expect(ENDS).not.toContain(state.at(-1));
    if (object.object === "message") states.set(id, [...state, object.status]);
  }
  for (const state of states.values()) {
    expect(state).toEqual(["in_progress", expect.stringMatching(/^(completed|canceled|failed|unknown)$/)]);
  }
  const ended = messagesOf(objects).filter(({ status }) => ENDS.includes(status));
  const order = [...states.keys()];
  ended.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
  expect(unnumbered(lastOf(objects).output)).toEqual(unnumbered(ended));
}
