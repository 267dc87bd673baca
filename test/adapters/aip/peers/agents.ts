import { defineAgent, operation } from "troupe";
import { z } from "zod";

/** Publishes each file of its request again, and says how many there were. */
export const copier = defineAgent({
  name: "copier",
  purpose: "Copies files.",
  async chat(input, turn) {
    const files = await turn.attachments();
    for (const file of files)
      await turn.artifact({
        name: `copy of ${file.name}`,
        mimeType: file.mimeType,
        data: await file.bytes(),
      });
    return `${input}: ${files.map(({ mimeType }) => mimeType).join(", ")}`;
  },
});

/** Has an operation for each way in which a tool can end. */
export const worker = defineAgent({
  name: "worker",
  purpose: "Works.",
  chat(input, turn) {
    if (input === "fail") throw new Error("the chat fails");
    return turn.sleep(3_600_000).then(() => input);
  },
  operations: {
    add: operation({
      description: "Adds.",
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    }),
    fail: operation({
      input: z.object({}),
      run() {
        throw new Error("on purpose");
      },
    }),
    ask: operation({
      input: z.object({}),
      run: (_input, turn) => turn.waitForInput(z.object({ why: z.string() })),
    }),
    sleep: operation({ input: z.object({}), run: (_input, turn) => turn.sleep(3_600_000) }),
    large: operation({ input: z.object({}), run: () => ({ text: "y".repeat(200_000) }) }),
  },
});

/** Says each word of its input as a text of its own. */
export const speaker = defineAgent({
  name: "speaker",
  purpose: "Speaks.",
  async chat(input, turn) {
    for (const word of input.split(" ")) await turn.text(word);
  },
});

/** Publishes a file of as many bytes as its input says. */
export const publisher = defineAgent({
  name: "publisher",
  purpose: "Publishes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "file", mimeType: "audio/wav", data: new Uint8Array(Number(input)) });
    return "published";
  },
});
