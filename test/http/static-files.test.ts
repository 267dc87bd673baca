import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "troupe";
import { createApp } from "troupe/http";
import { staticFiles } from "troupe/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";

const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const runtime = createRuntime({ agents: [echo] });
let folder = "";
let app: ReturnType<typeof createApp>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "troupe-static-"));
  const files = {
    "secret.txt": "outside",
    "web/index.html": "<!doctype html><title>the page</title>",
    "web/assets/main.js": "0;",
    "web/two words.txt": "two words",
    "web/echo/index.html": "hidden by the agent",
    "web/docs/index.html": "hidden by a reserved name",
    "web/about/index.html": "about",
    "web/.env": "KEY=1",
    "web/.well-known/security.txt": "Contact: us",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await symlink(join(folder, "secret.txt"), join(folder, "web/link.txt"));
  await symlink(folder, join(folder, "web/up"));
  await symlink(".env", join(folder, "web/hidden.txt"));
  await symlink("assets", join(folder, "web/inside"));
  app = createApp(runtime, { files: staticFiles(join(folder, "web")), token: "secret" });
});
afterAll(() => rm(folder, { recursive: true }));

async function get(path: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const response = await app.request(path, { headers });
  return [response.status, await response.text()];
}

test("files need no token, and what belongs to the protocol or to an agent stays theirs", async () => {
  expect(await get("/", browser)).toEqual([200, expect.stringContaining("the page")]);
  expect(await get("/assets/main.js")).toEqual([200, "0;"]);
  expect(await get("/two%20words.txt")).toEqual([200, "two words"]);
  expect(await get("/about", browser)).toEqual([200, "about"]);
  expect(await get("/.well-known/security.txt")).toEqual([200, "Contact: us"]);
  for (const path of ["/", "/runs", "/echo", "/echo/describe", "/docs/"])
    expect((await get(path))[0]).toBe(401);
  expect((await get("/echo", browser))[0]).toBe(401);
});

test("a link is followed within the directory, not out of it, and the directory itself may be one", async () => {
  const authorization = "Bearer secret";
  expect(await get("/inside/main.js")).toEqual([200, "0;"]);
  for (const path of ["/link.txt", "/up/secret.txt", "/hidden.txt"])
    expect((await get(path, { authorization }))[0]).toBe(404);

  const linked = join(folder, "linked");
  await symlink(join(folder, "web"), linked);
  const other = createApp(runtime, { files: staticFiles(linked), token: "secret" });
  expect(await (await other.request("/assets/main.js")).text()).toBe("0;");
  // A deployment may have the link lead elsewhere.
  await rm(linked);
  await symlink(join(folder, "web/about"), linked);
  expect(await (await other.request("/index.html")).text()).toBe("about");
});

test("a path without a file is the page for a browser that opens it, and not found for anything else", async () => {
  expect(await get("/orders/7", browser)).toEqual([200, expect.stringContaining("the page")]);
  for (const headers of [{}, { authorization: "Bearer secret" }])
    expect((await get("/assets/old.js", headers))[0]).toBe("authorization" in headers ? 404 : 401);
  const posted = await app.request("/assets/main.js", { method: "POST" });
  expect(posted.status).toBe(401);
});

test.each([
  "/.env",
  "/%2eenv",
  "/..%2fsecret.txt",
  "/assets/..%2f..%2fsecret.txt",
  "/%5c..%5csecret.txt",
  "/assets%00",
  "/%",
  "/assets/main.js/x",
  "/.well-known",
])("nothing outside and nothing hidden is at %s", async (path) => {
  expect((await get(path, { authorization: "Bearer secret" }))[0]).toBe(404);
});

test("a browser asks whether a file has changed, and gets a part of it", async () => {
  const first = await app.request("/assets/main.js");
  expect(first.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(first.headers.get("cache-control")).toBe("no-cache");
  expect(first.headers.get("content-security-policy")).toBe("frame-ancestors 'self'");
  const changed = first.headers.get("last-modified") ?? "";
  expect(await get("/assets/main.js", { "if-modified-since": changed })).toEqual([304, ""]);
  expect(await get("/assets/main.js", { range: "bytes=1-1" })).toEqual([206, ";"]);
  await utimes(join(folder, "web/assets/main.js"), 1, 1);
  expect((await get("/assets/main.js", { "if-modified-since": changed }))[0]).toBe(200);
  const head = await app.request("/assets/main.js", { method: "HEAD" });
  expect([head.headers.get("content-length"), await head.text()]).toEqual(["2", ""]);
});

test("with the console, the root is the console's and the page is index.html", async () => {
  const console = { page: "the console", files: new Map() };
  const both = createApp(runtime, { files: staticFiles(join(folder, "web")), console });
  expect(await (await both.request("/", { headers: browser })).text()).toBe("the console\n");
  expect(await (await both.request("/index.html")).text()).toContain("the page");
});

test("a directory that does not exist is refused", () => {
  expect(() => staticFiles(join(folder, "none"))).toThrow(/there is no directory .*none of static files/);
});
