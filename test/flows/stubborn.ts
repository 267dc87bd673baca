import { defineAgent } from "troupe";

/** Ignores a cancel and keeps writing texts for a minute. */
export const stubborn = defineAgent({
  name: "stubborn",
  purpose: "Does not listen to a cancel.",

  async chat(_input, turn) {
    await turn.text("I shall not stop.\n");
    for (let time = 0; time < 3_000; time += 1) {
      await pause();
      // Texts after the end are dropped and may fail.
      void Promise.resolve()
        .then(() => turn.text("No.\n"))
        .catch(() => {});
    }
  },
});

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 20).unref();
  });
}
