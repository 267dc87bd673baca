import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";

const open = useBrowser();

const CORPUS = [
  "<script>window.hacked = 1</script>",
  '<img src=x onerror="window.hacked = 1">',
  '<svg onload="window.hacked = 1"></svg>',
  "[a link](javascript:window.hacked=1)",
  "[data](data:text/html,<script>window.hacked=1</script>)",
  "![image](https://elsewhere.test/image.png)",
  '"><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  "</textarea><script>window.hacked = 1</script>",
];

/** Says, asks, returns and throws what would run in a page that trusted it. */
const hostile = defineAgent({
  name: "hostile",
  purpose: CORPUS[1] ?? "",
  async chat(input, turn) {
    for (const text of CORPUS) await turn.text(`${text}\n\n`);
    await turn.waitForInput(
      z.object({
        [CORPUS[0] ?? ""]: z.string().describe(CORPUS[1] ?? ""),
        choice: z.enum(CORPUS as [string]),
      }),
    );
    throw new Error(input);
  },
});

test("nothing that an agent or a client says runs in the page, or is fetched by it", async ({ skip }) => {
  await using server = await startConsole([hostile]);
  const { run_id: runId } = await server.start("hostile", CORPUS.join("\n"), { wait: "completed" });
  await using tab = await open(skip, `${server.url}/#/agents/hostile`);
  const { page } = tab;
  await page.getByText("onerror").first().waitFor();
  for (const place of ["", "/timeline", "/actors", "/events", "/statechart", "/files"]) {
    await page.evaluate(`location.hash = "#/runs/${runId}${place}"`);
    await page.getByRole("log").getByText("<script>").first().waitFor();
    await page.getByRole("button", { name: "Answer", exact: true }).waitFor();
  }
  await page.evaluate('location.hash = "#/runs"');
  await page.getByText("<script>").first().waitFor();
  await page.evaluate('location.hash = "#/inbox"');
  await page.getByRole("region", { name: "Question" }).getByText("onerror").first().waitFor();
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  const made =
    'document.querySelectorAll("#console script, #console iframe, #console a[href^=javascript], #console a[href^=data]").length';
  expect(await page.evaluate(made)).toBe(0);
});
