// What the `gateway` section of portolan.yaml holds after the check of its shape: the file's words, and what was wrong is missing.

import type { ToolTrait } from "../../model/index.ts";

export interface CheckedRules {
  readonly tools?: readonly string[];
  readonly servers?: readonly string[];
  readonly tags?: readonly string[];
  readonly annotations?: readonly ToolTrait[];
}

export interface CheckedCallerLimits {
  readonly rate?: string | { readonly per_second?: number; readonly burst?: number };
  readonly concurrency?: number;
}

export interface CheckedCaller {
  readonly name?: string;
  readonly token?: string;
  readonly token_sha256?: string;
  readonly oauth?: {
    readonly subject?: string;
    readonly scope?: string;
    readonly claim?: Readonly<Record<string, string>>;
  };
  readonly allow?: CheckedRules;
  readonly deny?: CheckedRules;
  readonly limits?: CheckedCallerLimits;
}

export interface CheckedGateway {
  readonly host?: string;
  readonly port?: number;
  readonly allowed_hosts?: readonly (string | undefined)[];
  readonly allowed_origins?: readonly (string | undefined)[];
  readonly tls?: { readonly cert?: string; readonly key?: string };
  readonly auth?: "token" | "none";
  readonly oauth?: {
    readonly issuer?: string;
    readonly audience?: string;
    readonly jwks_url?: string;
    readonly scopes?: readonly (string | undefined)[];
    readonly resource?: string;
  };
  readonly callers?: readonly (CheckedCaller | undefined)[];
  readonly limits?: CheckedCallerLimits & {
    readonly body_bytes?: number;
    readonly sessions?: number;
    readonly session_idle?: number;
    readonly parked?: number;
    readonly parked_for?: number;
  };
  readonly transports?: { readonly sse?: boolean; readonly websocket?: boolean };
  readonly page_size?: number;
  readonly max_result_bytes?: number;
}
