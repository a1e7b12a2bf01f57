/** Questions of the modern era: `input_required` results, and the sealed state that lets the next request go on. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { CODE, RpcError } from "../../fixtures/lib/rpc.mjs";
import { isAnswerTo } from "./questions.mjs";
import { Interruption } from "./surface.mjs";

/** Ends a request whose handler will be run again, from its start, by the retry. */
export class InputRequired extends Interruption {
  constructor(result) {
    super("input required");
    this.result = { resultType: "input_required", ...result };
  }
}

/**
 * `ask` returns at once for rounds that were answered before, and throws at the first that was not.
 * An unsealed question has no state: its answers may come with any request, even the first.
 * `allow` throws when the client cannot be asked this.
 */
export function createAsk({ method, params }, allow) {
  const origin = JSON.stringify([method, params.name ?? params.uri, params.arguments ?? {}]);
  const earlier = params.requestState === undefined ? undefined : unseal(params.requestState, origin);
  const answered = [...(earlier ?? [])];
  let given = params.inputResponses ?? undefined;
  let round = 0;

  return async function ask(questions, { sealed = false } = {}) {
    const index = round++;
    if (index < answered.length) return answered[index];
    const usable = sealed && earlier === undefined ? undefined : given;
    given = undefined;
    if (answersAll(questions, usable)) {
      const answer = Object.fromEntries(Object.keys(questions).map((key) => [key, usable[key]]));
      answered.push(answer);
      return answer;
    }
    allow(questions);
    throw new InputRequired({
      inputRequests: questions,
      ...(sealed && { requestState: seal({ origin, answered }) }),
    });
  };
}

const answersAll = (questions, given) =>
  typeof given === "object" &&
  Object.entries(questions).every(([key, question]) => isAnswerTo(question, given[key]));

const KEY = randomBytes(32);
const sign = (payload) => createHmac("sha256", KEY).update(payload).digest();

function seal(state) {
  const payload = Buffer.from(JSON.stringify(state)).toString("base64url");
  return `${payload}.${sign(payload).toString("base64url")}`;
}

/** The answers of earlier rounds. A state of another call is as bad as a forged one. */
function unseal(text, origin) {
  const [payload, signature] = String(text).split(".");
  const expected = Buffer.from(sign(payload).toString("base64url"));
  const found = Buffer.from(signature ?? "");
  const genuine = found.length === expected.length && timingSafeEqual(found, expected);
  const state = genuine ? JSON.parse(Buffer.from(payload, "base64url").toString()) : undefined;
  if (state?.origin !== origin) {
    throw new RpcError(CODE.invalidParams, "requestState is not the one that was given for this request", {
      status: 400,
    });
  }
  return state.answered;
}
