import { defineAgent } from "troupe";
import type { Agent } from "troupe";

/** Creates an agent that fails a number of times, and then says yes. */
export function createShaky(failures: number): Agent {
  let count = 0;
  return defineAgent({
    name: "shaky",
    purpose: "Fails at first.",
    chat() {
      count += 1;
      if (count <= failures) throw new Error(`no ${count}`);
      return "yes";
    },
  });
}
