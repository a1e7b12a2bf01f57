// Approvals: calls that wait for a person's yes or no.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { ApiError, call } from "../api.ts";
import { useLoaded } from "../state/loaded.ts";
import type { Json } from "../types.ts";
import { formatTime } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { Badge, Button, Empty, ErrorMessage, Loading, Page } from "../ui/parts.tsx";

interface Waiting {
  readonly id: string;
  readonly time: string;
  readonly caller?: string;
  readonly tool: string;
  readonly arguments?: Json;
  readonly reason?: string;
  readonly expires?: string;
}

export function ApprovalsPage(): JSX.Element {
  const { value, error, load } = useLoaded<{ waiting: Waiting[] }>("approvals");
  const failed = useSignal<unknown>(undefined);
  const isMissing = error.value instanceof ApiError && error.value.code === "NOT_SUPPORTED";
  const decide = async (id: string, decision: "approve" | "deny"): Promise<void> => {
    failed.value = undefined;
    await call("decide", { id, decision }).catch((thrown: unknown) => (failed.value = thrown));
    await load();
  };
  const waiting = value.value?.waiting ?? (isMissing ? [] : undefined);
  return (
    <Page title="Approvals" lead="Calls that wait for your decision. Nothing runs before you approve it.">
      {error.value !== undefined && !isMissing && <ErrorMessage error={error.value} />}
      {failed.value !== undefined && <ErrorMessage error={failed.value} />}
      {waiting === undefined && error.value === undefined && <Loading />}
      {waiting?.length === 0 && <Empty title="No call waits for approval." />}
      {waiting?.map((one) => (
        <section key={one.id} class="card" aria-label={`Call of ${one.tool}`}>
          <div class="card-head">
            <h2>{one.tool}</h2>
            <Badge tone="warn">waits</Badge>
          </div>
          <p class="muted">
            {one.caller && `By ${one.caller} `}at {formatTime(one.time)}
            {one.expires && `, until ${formatTime(one.expires)}`}
          </p>
          {one.reason && <p>{one.reason}</p>}
          {one.arguments !== undefined && <JsonTree value={one.arguments} />}
          <div class="actions">
            <Button kind="primary" onClick={() => decide(one.id, "approve")}>
              Approve once
            </Button>
            <Button kind="danger" onClick={() => decide(one.id, "deny")}>
              Deny
            </Button>
          </div>
        </section>
      ))}
    </Page>
  );
}
