/** @module-tag long */
import { expect, test } from "vitest";
import { submit, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";

const open = useBrowser();
const token = "a-token-of-this-test";

test("a server with a token is asked once a tab, and the token is in no address and no lasting storage", async ({
  skip,
}) => {
  await using server = await startConsole([], { token });
  // The browser reports each refused request.
  await using tab = await open(skip, server.url, { expected: /401/ });
  const { page } = tab;
  await page.getByLabel("Token").fill("wrong");
  await submit(page.getByLabel("Token"));
  await page.getByText("The server refused this token.").waitFor();
  await page.getByLabel("Token").fill(token);
  await submit(page.getByLabel("Token"));
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: /^echo/ }).click();
  await page.getByLabel("Message to echo").fill("hello");
  await submit(page.getByLabel("Message to echo"));
  await page.getByRole("log").getByText("done").waitFor();
  await page.reload();
  await page.getByRole("log").getByText("done").waitFor();
  expect(page.url()).not.toContain(token);
  const kept: unknown = await page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])");
  expect(kept).not.toContain(token);
  await using other = await open(skip, server.url, { beside: tab, expected: /401/ });
  await other.page.getByLabel("Token").waitFor();
});
