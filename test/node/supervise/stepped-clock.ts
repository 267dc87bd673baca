// Loaded before a program: SIGUSR2 sets its clock three hours forward, as a machine that was suspended does.
const real = Date.now;
let steppedMs = 0;
Date.now = () => real() + steppedMs;
process.on("SIGUSR2", () => {
  steppedMs += 3 * 3_600_000;
  console.log("the clock was set forward");
});
