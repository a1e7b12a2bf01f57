// The universal fields of a driver after the check, under the names that the file has for them.

import type { CheckedRetry } from "./fields.ts";

export interface CheckedHttp {
  readonly method?: "GET" | "POST" | "HEAD";
  readonly url?: string;
  readonly expect_status?: number;
}

export interface CheckedCost {
  readonly cost_class?: "trivial" | "metered" | "expensive";
  readonly cost_units_per_call?: number;
  readonly currency?: string;
}

export interface CheckedBinding {
  readonly tool?: string;
  readonly version?: string;
  readonly schema_narrowing?: {
    readonly drop_inputs?: readonly string[];
    readonly drop_outputs?: readonly string[];
  };
  readonly mapping?: Readonly<
    Record<string, string | { readonly from: string; readonly transform?: string }>
  >;
  readonly cost_override?: CheckedCost;
  readonly timeout_override_ms?: number;
  readonly retry_override?: CheckedRetry;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CheckedAuth {
  readonly ref?: string;
  readonly state?: { readonly paths?: readonly string[]; readonly env?: readonly string[] };
  readonly login?: {
    readonly cmd?: string;
    readonly url?: string;
    readonly interactive: boolean;
    readonly requires_callback_url: boolean;
    readonly completes_when?: {
      readonly cmd?: string;
      readonly exit_code?: number;
      readonly http?: CheckedHttp;
    };
  };
  readonly refresh?: { readonly cmd?: string; readonly url?: string; readonly every?: string };
  readonly expiry?: { readonly detect?: string };
}

export interface CheckedDriver {
  readonly name?: string;
  readonly id?: string;
  readonly description?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly implements?: readonly (CheckedBinding | undefined)[];
  readonly version_check?: {
    readonly cmd?: string;
    readonly parse?: string;
    readonly range?: string;
    readonly timeout_ms?: number;
  };
  readonly auth?: CheckedAuth;
  readonly network?: { readonly egress?: readonly string[]; readonly ingress?: readonly string[] };
  readonly runner?: string | Readonly<Record<string, unknown>>;
  readonly region?: readonly string[];
  readonly policy_tags?: readonly string[];
  readonly cost_override?: CheckedCost;
  readonly timeout_override_ms?: number;
  readonly retry_override?: CheckedRetry;
  readonly health_check?: {
    readonly method?: "ping" | "exec" | "http" | "noop";
    readonly cmd?: string;
    readonly http?: CheckedHttp;
    readonly expect_exit?: number;
    readonly every?: string;
    readonly timeout_ms: number;
  };
  readonly requires?: {
    readonly os?: readonly string[];
    readonly arch?: readonly string[];
    readonly min_disk_mb?: number;
    readonly min_memory_mb?: number;
  };
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
