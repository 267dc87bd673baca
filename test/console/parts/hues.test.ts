import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { hueOf } from "../../../src/console/parts/agent-hue.ts";

const tokens = readFileSync("src/console/styles/tokens.css", "utf8");
const parts = readFileSync("src/console/styles/parts.css", "utf8");

test("the colour of every agent is readable on the page in both themes", () => {
  const colours = [
    ...(tokens + parts).matchAll(/--agent: light-dark\(oklch\((\S+) (\S+) [^)]*\)\), oklch\((\S+) (\S+) /g),
  ];
  expect(colours.length).toBeGreaterThan(1);
  for (const [, ...numbers] of colours) {
    const [lightL = 0, lightC = 0, darkL = 0, darkC = 0] = numbers.map(Number);
    for (let hue = 0; hue < 360; hue += 5) {
      expect(contrast(luminance(lightL, lightC, hue), ofHex("#f1f1ee"))).toBeGreaterThan(4.5);
      expect(contrast(luminance(darkL, darkC, hue), ofHex("#31332f"))).toBeGreaterThan(4.5);
    }
  }
});

test("an agent has the same hue at every place, and most have different ones", () => {
  const names = ["assistant", "calculator", "echo", "order", "payments", "team", "ticker", "summarizer"];
  expect(names.map(hueOf)).toEqual(names.map(hueOf));
  expect(new Set(names.map(hueOf)).size).toBeGreaterThan(4);
});

/** The relative luminance of an OKLCH colour, cut to what a screen shows. */
function luminance(lightness: number, chroma: number, hue: number): number {
  const angle = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  const green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  const blue = -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s;
  const [r = 0, g = 0, bl = 0] = [red, green, blue].map((part) => Math.min(1, Math.max(0, part)));
  return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
}

function ofHex(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}
