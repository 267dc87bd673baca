import { defineAgent } from "troupe";

/** Goes on talking after it was canceled, for a minute. */
export const stubborn = defineAgent({
  name: "stubborn",
  purpose: "Does not listen to a cancel.",

  async chat(_input, turn) {
    await turn.text("I shall not stop.\n");
    for (let time = 0; time < 3_000; time += 1) {
      await pause();
      // What is said after the end goes nowhere, and may fail.
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
