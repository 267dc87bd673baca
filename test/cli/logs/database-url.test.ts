import { expect, test } from "vitest";
import { toConnection, withoutPassword } from "../../../src/cli/logs/connection.ts";

test("no part of a password of a database is shown, also if its URL is written wrongly", () => {
  const shown = {
    "postgres://user:hidden@host:5432/d": "postgres://user:…@host:5432/d",
    "postgres://user:hi@hidden@host/d": "postgres://user:…@host/d",
    "postgres://user:hi/hidden@host/d": "postgres://user:…@host/d",
    "user:hidden@host/d": "user:…@host/d",
    "postgres:/user:hidden@host/d": "postgres:…@host/d",
    "postgres://host/d?user=u&password=hidden": "postgres://host/d?user=u&password=…",
    "postgres://user@host:5432/d?application_name=a@b": "postgres://user@host:5432/d?application_name=a@b",
  };
  for (const [url, text] of Object.entries(shown)) expect(withoutPassword(url)).toBe(text);
  expect(() => toConnection("user:hidden@host/d")).toThrow('the log "user:…@host/d" is not the URL');
});
