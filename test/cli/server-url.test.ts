import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { findServerUrl } from "../../src/cli/server-url.ts";

let data = "";
beforeEach(() => {
  vi.stubEnv("TROUPE_URL", "");
  data = mkdtempSync(join(tmpdir(), "troupe-note-"));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(data, { recursive: true });
  });
});

const own = Object.values(networkInterfaces()).flatMap((addresses = []) =>
  addresses.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address)),
);

test.each(["localhost", "127.0.0.1", "0.0.0.0", "[::]", "[::1]", ...own])(
  "a server of this machine is found by its note: %s",
  (host) => {
    const url = `http://${host}:4100`;
    writeFileSync(join(data, "url"), `${url}\n`);
    expect(findServerUrl(undefined, data)).toEqual({ url, source: "note" });
  },
);

test.each([
  "http://example.com",
  "http://192.0.2.1:4100",
  "https://127.0.0.1.example.com",
  "http://127.0.0.1@example.com",
  "http://user@127.0.0.1",
  "file:///etc",
  "no address",
])("a note of another machine is refused, and never used: %s", (note) => {
  writeFileSync(join(data, "url"), note);
  expect(() => findServerUrl(undefined, data)).toThrow(/is not on this machine/);
  expect(findServerUrl("http://example.com", data)).toEqual({ url: "http://example.com", source: "option" });
});

test("an empty note counts as none", () => {
  writeFileSync(join(data, "url"), "\n");
  expect(findServerUrl(undefined, data)).toEqual({ url: "http://127.0.0.1:4100", source: "default" });
});
