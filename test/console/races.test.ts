/** @module-tag long */
import { setTimeout as delay } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
import { AgentError, defineAgent } from "troupe";
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
        const tally: Tally = { answers: 0, others: { payments: 0, cashier: 0 }, wrong: [] };
        for (; left > 0; left -= 1) await race(server, tab.page, random, tally);
        return tally;
      }),
    );
    expect(
      tallies.flatMap(({ wrong }) => wrong),
      `seed ${SEED}`,
    ).toEqual([]);
    // Both do get to answer, in the Inbox and in runs: without that, every page would pass.
    const sum = (count: (tally: Tally) => number): number =>
      tallies.reduce((all, one) => all + count(one), 0);
    expect(sum(({ answers }) => answers)).toBeGreaterThan(RACES / 10);
    expect(sum(({ others }) => others.payments)).toBeGreaterThan(RACES / 10);
    expect(sum(({ others }) => others.cashier)).toBeGreaterThan(RACES / 10);
  },
);

interface Tally {
  /** How many answers the page has sent. */
  answers: number;
  /** How many answers of the other client were taken, by the agent that asked. */
  readonly others: { payments: number; cashier: number };
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
  const agent = isInbox ? "payments" : "cashier";
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
    delay(answerAt).then(async () => {
      if (await answer(server, agent, chosen)) tally.others[agent] += 1;
    }),
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
  for (const id of new Set(waits.map(({ request_id: request }) => request))) {
    const { status } = await server.runtime.status(id);
    if (status === "waiting") await server.runtime.process(agent, { type: "CancelRequest", request_id: id });
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

/** Another client answers a question with No; the person may have been first. Returns whether the answer was taken. */
async function answer(
  server: ConsoleServer,
  agent: string,
  { request_id: id, wait_id: waitId }: Wait,
): Promise<boolean> {
  const body = {
    type: "ResumeWithInput",
    request_id: id,
    wait_id: waitId,
    // An answer that is equal to an earlier one would be taken again.
    request_keys: { approved: false },
  } as const;
  try {
    await server.runtime.process(agent, body);
    return true;
  } catch (thrown) {
    if (thrown instanceof AgentError && thrown.code === "conflict") return false;
    throw thrown;
  }
}
