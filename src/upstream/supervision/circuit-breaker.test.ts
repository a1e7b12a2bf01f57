import { expect, it } from "vitest";
import { CircuitBreaker } from "./circuit-breaker.ts";

function setUp(): { breaker: CircuitBreaker; pass: (ms: number) => void } {
  let now = 0;
  return {
    breaker: new CircuitBreaker(() => now),
    pass: (ms) => {
      now += ms;
    },
  };
}

it("opens after five failures in 30 seconds, and allows one request after the pause", () => {
  const { breaker, pass } = setUp();
  for (let i = 0; i < 4; i += 1) breaker.failed();
  expect(breaker.allows()).toBe(true);
  breaker.failed();
  expect(breaker.allows()).toBe(false);
  pass(14_999);
  expect(breaker.allows()).toBe(false);
  pass(1);
  expect(breaker.allows()).toBe(true);
  expect(breaker.allows()).toBe(false);
  breaker.failed();
  expect(breaker.allows()).toBe(false);
  pass(15_000);
  expect(breaker.allows()).toBe(true);
  breaker.succeeded();
  expect(breaker.allows()).toBe(true);
  expect(breaker.closed).toBe(true);
});

it("forgets old failures", () => {
  const { breaker, pass } = setUp();
  for (let i = 0; i < 10; i += 1) {
    breaker.failed();
    pass(10_000);
  }
  expect(breaker.allows()).toBe(true);
});

it("allows the next request if the trial request had no clear result", () => {
  const { breaker, pass } = setUp();
  for (let i = 0; i < 5; i += 1) breaker.failed();
  pass(15_000);
  expect(breaker.allows()).toBe(true);
  breaker.undecided();
  expect(breaker.allows()).toBe(true);
});

it("counts all requests that were in flight when the server died as one failure", () => {
  const { breaker, pass } = setUp();
  pass(1_000);
  for (let i = 0; i < 200; i += 1) breaker.failed(0);
  expect(breaker.allows()).toBe(true);
  for (let i = 0; i < 3; i += 1) {
    pass(10);
    breaker.failed(1_000 + 10 * i);
  }
  expect(breaker.allows()).toBe(true);
  pass(10);
  breaker.failed(1_035);
  expect(breaker.allows()).toBe(false);
});
