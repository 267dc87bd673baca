import { defineAgent, fromMachine } from "troupe";
import { expect, test } from "vitest";
import { setup } from "xstate";
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

/** A machine whose states and events are named like code of a page. A dot would separate two states. */
const [STATE, NEXT] = ["<script>hacked = 1</script>", '<img src=x onerror="hacked = 1">'] as const;
const machine = fromMachine({
  name: "machine",
  purpose: "Has hostile names.",
  machine: setup({}).createMachine({
    initial: STATE,
    states: {
      [STATE]: { on: { chat: NEXT }, description: NEXT },
      [NEXT]: { on: { '"><iframe srcdoc="<script>parent.hacked=1</script>">': STATE } },
    },
  }),
});

/** Says, asks, returns and throws what would run in a page that trusted it. */
const hostile = defineAgent({
  name: "hostile",
  purpose: CORPUS[1] ?? "",
  async chat(input, turn) {
    for (const text of CORPUS) await turn.text(`${text}\n\n`);
    const [script = "", image = ""] = CORPUS;
    await turn.effect(image, () => ({ [script]: CORPUS }));
    const data = new TextEncoder().encode(script);
    await turn.artifact({ name: image.replaceAll("/", " "), mimeType: "text/html", data });
    await turn.waitForInput(
      z.object({
        [CORPUS[0] ?? ""]: z.string().describe(CORPUS[1] ?? ""),
        choice: z.enum(CORPUS as [string]),
      }),
    );
    throw new Error(input);
  },
});

test(
  "nothing that an agent or a client says runs in the page, or is fetched by it",
  { tags: "long" },
  async ({ skip }) => {
    await using server = await startConsole([hostile, machine]);
    const { run_id: runId } = await server.start("hostile", CORPUS.join("\n"), { wait: "completed" });
    await using tab = await open(skip, `${server.url}/#/agents/hostile`);
    const { page } = tab;
    await page.getByText("onerror").first().waitFor();
    for (const place of [
      "",
      "/timeline",
      "/sequence",
      "/actors",
      "/events",
      "/state",
      "/statechart",
      "/files",
    ]) {
      await page.evaluate(`location.hash = "#/runs/${runId}${place}"`);
      await page.getByRole("log").getByText("<script>").first().waitFor();
      await page.getByRole("button", { name: "Answer", exact: true }).waitFor();
    }
    const { run_id: moved } = await server.start("machine", "go");
    for (const place of ["statechart", "state", "events"]) {
      await page.evaluate(`location.hash = "#/runs/${moved}/${place}"`);
      const texts = page.getByRole("tabpanel").getByText("hacked").filter({ visible: true });
      await texts.first().waitFor();
    }
    await page.evaluate('location.hash = "#/agents/machine"');
    await page.getByText("Has hostile names").first().waitFor();
    await page.evaluate('location.hash = "#/runs"');
    await page.getByText("<script>").first().waitFor();
    await page.evaluate('location.hash = "#/inbox"');
    await page.getByRole("region", { name: "Question" }).getByText("onerror").first().waitFor();
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    const made =
      'document.querySelectorAll("#console script, #console iframe, #console a[href^=javascript], #console a[href^=data]").length';
    expect(await page.evaluate(made)).toBe(0);
  },
);

/** Each of them nests thousands of levels deep as markdown. */
const DEEP = [
  ">".repeat(8_000),
  "- ".repeat(4_000) + "a",
  "1. ".repeat(2_600),
  `${"*".repeat(4_000)}a${"*".repeat(4_000)}`,
];

const deep = defineAgent({
  name: "deep",
  purpose: "Says a text that nests very deep.",
  async chat(input, turn) {
    await turn.text(DEEP[Number(input)] ?? "");
  },
});

test(
  "a text that nests very deep is shown as it is, and the page works on",
  { tags: "long" },
  async ({ skip }) => {
    await using server = await startConsole([deep]);
    await using tab = await open(skip, server.url);
    for (const [at, text] of DEEP.entries()) {
      const { run_id: runId } = await server.start("deep", String(at), { wait: "completed" });
      await tab.page.evaluate(`location.hash = "#/runs/${runId}"`);
      const log = tab.page.getByRole("log");
      await log.getByText("done").waitFor();
      await expect.poll(() => log.textContent()).toContain(text);
    }
  },
);
