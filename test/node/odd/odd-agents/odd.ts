// Agents that throw every odd value of the list, in places outside calls and in calls.
import { defineAgent } from "troupe";
import { oddValues } from "../odd-values.ts";

export const odd = defineAgent({
  name: "odd",
  purpose: "Throws an odd value: the input names it and the place.",
  async chat(input, turn) {
    const [name = "", place = ""] = input.split(" ");
    const make = oddValues[name];
    if (make === undefined) throw new Error(`there is no value ${name}`);
    const fail = (): never => {
      throw make();
    };
    if (place === "timer") setTimeout(fail, 1);
    else if (place === "rejection") void (async () => fail())();
    else if (place === "tick") process.nextTick(fail);
    else if (place === "effect") await turn.effect("fail", fail);
    else fail();
    await new Promise(() => {});
  },
});

export const sound = defineAgent({
  name: "sound",
  purpose: "Answers.",
  async chat() {
    return "well";
  },
});
