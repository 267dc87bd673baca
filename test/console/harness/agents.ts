import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import { z } from "zod";

/** Throws an error with the text that it is sent. */
export const broken: Agent = defineAgent({
  name: "broken",
  purpose: "Fails with the text that it is sent.",
  chat(input) {
    throw new Error(input);
  },
});

/** Handles `N M`: says N texts, each with its number and M characters of filling. */
export const flood: Agent = defineAgent({
  name: "flood",
  purpose: "Says a lot.",
  async chat(input, turn) {
    const [times = 0, length = 0] = input.split(" ").map(Number);
    for (let said = 1; said <= times; said += 1) await turn.text(`${said}${"x".repeat(length)} `);
  },
});

const inner = defineAgent({
  name: "inner",
  purpose: "Is called by middle.",
  chat: (input) => `inner says ${input}`,
});

const middle = defineAgent({
  name: "middle",
  purpose: "Is called by outer.",
  tools: [inner],
  async chat(input, turn) {
    await turn.text((await turn.call(inner, "chat", { input })).output);
  },
});

/** Calls an agent that calls an agent. */
export const outer: Agent = defineAgent({
  name: "outer",
  purpose: "Calls middle, which calls inner.",
  tools: [middle],
  async chat(input, turn) {
    await turn.text((await turn.call(middle, "chat", { input })).output);
  },
});

const LONG_NAME = "a-name-that-has-as-many-letters-as-the-server-lets-an-agent-hav";
const LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapit\u00e4nskaj\u00fctenschl\u00fcsselloch".repeat(5);
const HEBREW =
  "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd, 42 \u05d5\u05de\u05d9\u05dc\u05d4 English \u05d1\u05d0\u05de\u05e6\u05e2.";

/** Its name, texts, question and values are as long as they can be, and some run from right to left. */
export const vast: Agent = defineAgent({
  name: LONG_NAME,
  purpose: `${HEBREW} ${LONG_WORD}`,
  async chat(input, turn) {
    const table = `| ${LONG_WORD} | b |\n| - | - |\n| c | ${HEBREW} |`;
    await turn.text(`${HEBREW}\n\n${LONG_WORD}\n\n- ${LONG_WORD}\n- \`${LONG_WORD}\`\n\n${table}\n\n`);
    await turn.text(`\`\`\`\n${LONG_WORD}\n\`\`\`\n\n# ${LONG_WORD}\n\n`);
    const data = new TextEncoder().encode(LONG_WORD);
    await turn.artifact({ name: `${LONG_WORD.slice(0, 120)}.txt`, mimeType: "text/plain", data });
    await turn.effect(LONG_WORD, () => ({ [LONG_WORD]: { [LONG_WORD]: [LONG_WORD, HEBREW, input] } }));
    const question = z.object({
      [LONG_WORD.slice(0, 60)]: z.string().describe(LONG_WORD),
      answer: z.enum([HEBREW, LONG_WORD, "short"]).describe(HEBREW),
      agreed: z.boolean().describe(LONG_WORD),
    });
    return JSON.stringify(await turn.waitForInput(question));
  },
});
