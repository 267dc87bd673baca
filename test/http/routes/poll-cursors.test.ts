import { expect, test } from "vitest";
import { PollCursors } from "../../../src/http/routes/poll-cursors.ts";

test("each consumer of each request or run has its own position", () => {
  const cursors = new PollCursors();
  cursors.advance("req_1", "a", 5);
  expect(cursors.get("req_1", "a")).toBe(5);
  expect(cursors.get("req_1", "b")).toBe(0);
  expect(cursors.get("req_2", "a")).toBe(0);
});

test("a slow poll does not move its reader back", () => {
  const cursors = new PollCursors();
  cursors.advance("req_1", "", 5);
  cursors.advance("req_1", "", 3);
  expect(cursors.get("req_1", "")).toBe(5);
});

test("above the limit, the reader with the oldest poll is dropped", () => {
  const cursors = new PollCursors(2);
  cursors.advance("req_1", "", 1);
  cursors.advance("req_2", "", 2);
  cursors.advance("req_1", "", 3);
  cursors.advance("req_3", "", 4);
  expect(["req_1", "req_2", "req_3"].map((id) => cursors.get(id, ""))).toEqual([3, 0, 4]);
});
