import { expect, test } from "vitest";
import { createReplacedSecrets } from "./replaced-secrets.ts";

const MINUTE = 60_000;

function setUp(maxValues?: number) {
  const known = new Set<string>();
  let time = 0;
  const secrets = createReplacedSecrets({
    add: (value) => void known.add(value),
    forget: (value) => void known.delete(value),
    now: () => time,
    maxValues,
  });
  return { known, secrets, pass: (ms: number) => (time += ms) };
}

test("a replaced value is remembered for about thirty minutes, and then forgotten", () => {
  const { known, secrets, pass } = setUp();
  secrets.replace("login", ["a1", "r1"]);
  secrets.replace("login", ["a2", "r1"]);
  pass(29 * MINUTE);
  secrets.replace("other", ["b"]);
  expect([...known]).toEqual(["a1", "r1", "a2", "b"]);
  pass(2 * MINUTE);
  secrets.replace("other", ["b"]);
  expect([...known]).toEqual(["r1", "a2", "b"]);
});

test("a value of two owners is remembered until both replaced it; a value in use again stays", () => {
  const { known, secrets, pass } = setUp();
  secrets.replace("one", ["shared", "back"]);
  secrets.replace("two", ["shared"]);
  secrets.replace("one", []);
  pass(MINUTE);
  secrets.replace("one", ["back"]);
  pass(60 * MINUTE);
  secrets.replace("two", ["shared"]);
  expect([...known]).toEqual(["shared", "back"]);
  secrets.replace("two", []);
  pass(31 * MINUTE);
  secrets.replace("one", ["back"]);
  expect([...known]).toEqual(["back"]);
});

test("a full set forgets replaced values first, then those of the owner that changed least recently", () => {
  const { known, secrets } = setUp(3);
  secrets.replace("one", ["1"]);
  secrets.replace("two", ["2"]);
  secrets.replace("two", ["2b"]);
  secrets.replace("three", ["3"]);
  expect([...known]).toEqual(["1", "2b", "3"]);
  secrets.replace("four", ["4"]);
  expect([...known]).toEqual(["2b", "3", "4"]);
});
