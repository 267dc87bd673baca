import { setTimeout as delay } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
import { defineAgent } from "troupe";
import type { Turn } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRandom } from "../../src/testing/event-log/random.ts";
import type { Random } from "../../src/testing/event-log/random.ts";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const open = useBrowser();

/** How many timings are tried; `npm run test:races` tries 1,000. */
const RACES = Number(process.env["CONSOLE_RACES"] ?? 36);
const SEED = Number(process.env["CONSOLE_SEED"] ?? Date.now() % 1_000_000);
/** How many persons race at once, each with a tab and a server. Most of their time is waiting. */
const PERSONS = 6;

/** Asks for both payments at once, so that both questions stand in one run. */
const cashier = defineAgent({
  name: "cashier",
  purpose: "Asks for two payments at once.",
  async chat(input, turn) {
    await Promise.all(input.split(", ").map((payment) => approve(payment, turn)));
  },
});

async function approve(payment: string, turn: Turn): Promise<void> {
  await turn.waitForInput(z.object({ approved: z.boolean().describe(payment) }));
}

/** Also on a loaded machine. */
const timeout = 300_000 + RACES * 3_000;

test(
  "a person who races another client answers no question but the chosen one",
  { timeout },
  async ({ skip }) => {
    let left = RACES;
    const tallies = await Promise.all(
      Array.from({ length: PERSONS }, async (_, person) => {
        const random = createRandom(SEED + person);
        await using server = await startConsole([cashier]);
        // An answer that comes after that of the other client is refused with 409.
        await using tab = await open(skip, `${server.url}/#/inbox`, { expected: /409/ });
        const tally = { answers: 0, wrong: [] as string[] };
        for (; left > 0; left -= 1) await race(server, tab.page, random, tally);
        return tally;
      }),
    );
    expect(
      tallies.flatMap(({ wrong }) => wrong),
      `seed ${SEED}`,
    ).toEqual([]);
    // The persons do get to answer: a page that takes no answer at all would pass otherwise.
    expect(tallies.reduce((sum, { answers }) => sum + answers, 0)).toBeGreaterThan(RACES / 10);
  },
);

interface Tally {
  /** How many answers the page has sent. */
  answers: number;
  /** What was done when the page answered a question that the person had not chosen. */
  readonly wrong: string[];
}

/** An open question of the server. */
interface Wait {
  readonly run_id: string;
  readonly request_id: string;
  readonly wait_id: number;
  readonly request_keys: { readonly approved: string };
}

/**
 * The person aims at Yes of a question and presses once or twice; another client answers the question at some moment
 * before, between or after.
 */
async function race(server: ConsoleServer, page: Page, random: Random, tally: Tally): Promise<void> {
  const isInbox = random.below(2) === 0;
  races += 1;
  const right = `Pay 1 to bob-${races}?`;
  const wrong = `Pay 9999 to mallory-${races}?`;
  const asked = random.below(2) === 0 ? [right, wrong] : [wrong, right];
  const waits = await ask(server, isInbox, asked);
  const chosen = waits.find((wait) => wait.request_keys.approved === right);
  if (chosen === undefined) throw new Error("the question was not asked");
  const yes = await show(page, chosen, isInbox ? undefined : wrong);

  const sent: Pick<Wait, "request_id" | "wait_id">[] = [];
  const note = (request: { postData(): string | null; url(): string }): void => {
    if (request.url().endsWith("/process")) sent.push(JSON.parse(request.postData() ?? "{}") as Wait);
  };
  page.on("request", note);
  // The Inbox hears of an answer within a second, the page of a run within some milliseconds.
  const longest = isInbox ? 1_200 : 700;
  const isSure = random.below(3) === 0;
  if (isSure) await yes.and(page.locator(":not([aria-disabled=true])")).waitFor();
  const press = await aim(page, yes, random);
  const answerAt = isSure ? longest : random.below(longest);
  const pressAt = random.below(isSure ? 50 : longest);
  const gap = random.below(press.longestGap);
  await Promise.all([
    delay(answerAt).then(() => answer(server, chosen)),
    (async () => {
      await delay(pressAt);
      await press.once();
      if (random.below(3) === 0) return;
      await delay(gap);
      await press.once();
    })(),
  ]);
  await page.evaluate("fetch('./healthz')");
  page.off("request", note);

  const isChosen = ({ request_id: request, wait_id: wait }: (typeof sent)[number]): boolean =>
    request === chosen.request_id && wait === chosen.wait_id;
  tally.answers += sent.length;
  if (!sent.every(isChosen)) {
    tally.wrong.push(
      `${isInbox ? "Inbox" : "run"}: ${asked.join(" ")} answered after ${answerAt} ms, ${press.name} after ${pressAt} ms and again after ${gap} ms`,
    );
  }
  for (const { request_id: id } of waits) {
    await server.runtime.process("payments", { type: "CancelRequest", request_id: id }).catch(() => {});
  }
}

/** Makes the questions of each race different. */
let races = 0;

/** Has both questions asked: in two runs, or in one. */
async function ask(server: ConsoleServer, inTwoRuns: boolean, asked: readonly string[]): Promise<Wait[]> {
  if (inTwoRuns) {
    for (const question of asked) {
      const input = question.replace("P", "p").replace("?", "");
      await server.start("payments", input, { wait: "completed" });
    }
  } else await server.start("cashier", asked.join(", "), { wait: "completed" });
  const answer = await fetch(`${server.url}/waits`);
  return (await answer.json()) as Wait[];
}

/** Opens the question that is to be answered, in its run beside another one or in the Inbox; returns its Yes. */
async function show(
  page: Page,
  { run_id: runId, wait_id: waitId, request_keys: { approved: question } }: Wait,
  other: string | undefined,
): Promise<Locator> {
  if (other !== undefined) {
    await page.evaluate(`location.hash = "#/runs/${runId}"`);
    const questions = page.getByRole("log").locator(".question");
    await questions.filter({ hasText: other }).waitFor();
    return questions.filter({ hasText: question }).getByRole("button", { name: "Yes" });
  }
  await page.evaluate(`location.hash = "#/inbox?wait=${runId}.${waitId}"`);
  const region = page.getByRole("region", { name: "Question" });
  await region.getByText(question).waitFor();
  return region.getByRole("button", { name: "Yes" });
}

interface Press {
  readonly name: string;
  /** The longest time between two presses that one hand makes without looking, in milliseconds. */
  readonly longestGap: number;
  once(): Promise<void>;
}

/** Puts the focus or the pointer on a button; what it presses afterwards is whatever is there then. */
async function aim(page: Page, button: Locator, random: Random): Promise<Press> {
  const key = ["Enter", "Space", undefined][random.below(3)];
  if (key !== undefined) {
    await button.focus();
    return { name: key, longestGap: 700, once: () => page.keyboard.press(key) };
  }
  const box = await button.boundingBox();
  if (box === null) throw new Error("the button is not shown");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  return { name: "click", longestGap: 300, once: () => page.mouse.click(x, y) };
}

/** Another client answers a question; the person may have been first. */
async function answer(server: ConsoleServer, { request_id: id, wait_id: waitId }: Wait): Promise<void> {
  const body = {
    type: "ResumeWithInput",
    request_id: id,
    wait_id: waitId,
    request_keys: { approved: true },
  } as const;
  await server.runtime.process("payments", body).catch(() => {});
}
