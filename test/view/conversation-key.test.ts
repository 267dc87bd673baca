import { conversationKey } from "troupe/projection";
import { expect, test } from "vitest";

test("names of the letters of keys are in the key of a conversation as they are", async () => {
  expect(await conversationKey("chat", "ada", "c-1")).toBe("chat:ada:c-1");
});

test("any other names fit a key, and different ones have different keys", async () => {
  const names = [
    ["c-1"],
    ["", "c-1"],
    ["c", "1"],
    ["c:1"],
    ["c", "1", ""],
    [""],
    ["你好".repeat(30)],
    ["你好".repeat(31)],
    ["a".repeat(200)],
    ["\uD800"],
    ["\uFFFD"],
    ["a/b?c=d#e"],
  ];
  const keys = await Promise.all(names.map((given) => conversationKey("chat", ...given)));
  expect(new Set(keys).size).toBe(names.length);
  for (const key of keys) expect(key).toMatch(/^chat[:-][\w\-.:@]{1,122}$/);
  expect(await conversationKey("chat", "你好")).toBe(await conversationKey("chat", "你好"));
  expect(await conversationKey("chat", "你好")).not.toBe(await conversationKey("mail", "你好"));
});
