// Grants of secrets: checks access before any value is fetched, and audits both outcomes.

import { missingSecrets, PortolanError } from "../../errors/index.ts";
import { envOfSlug, findSecret, slugOfEnv } from "../../formats/driver/index.ts";
import {
  type Contract,
  type Driver,
  parseReferences,
  type SecretEntry,
  type SecretGrant,
  type SecretOperation,
} from "../../model/index.ts";
import type { Audit } from "../dispatch/audit.ts";
import { fail, type Failure } from "../dispatch/failure.ts";
import type { CallContext } from "../contract/call-context.ts";

/** The subject of a grant. A field that is absent grants nothing. */
export interface SecretSubject extends CallContext {
  readonly tool?: string;
}

/** Whether a caller may use a secret, and by which grant or for which reason not. */
export type Access =
  | { readonly granted: true; readonly grantedBy: string }
  | { readonly granted: false; readonly reason: string };

/** Fetches the value of a secret; undefined when there is none. Called only after a grant. */
export type FetchSecret = (entry: SecretEntry, name: string) => Promise<string | undefined>;

/** One matching grant is enough; without any there is no access. */
export function checkAccess(entry: SecretEntry, operation: SecretOperation, subject: SecretSubject): Access {
  const grants = entry.access[operation];
  const grant = grants.find((one) => matches(one, subject));
  if (grant !== undefined) return { granted: true, grantedBy: describe(grant) };
  const who = subject.tool === undefined ? "this caller" : `the tool ${subject.tool}`;
  const reason =
    grants.length === 0
      ? `no grant allows ${who} to ${operation} ${entry.slug}`
      : `only ${grants.map(describe).join(", ")} may ${operation} ${entry.slug}; ${who} may not`;
  return { granted: false, reason };
}

function matches(grant: SecretGrant, subject: SecretSubject): boolean {
  if ("role" in grant) return subject.roles?.includes(grant.role) === true;
  if ("userId" in grant) return subject.userId !== undefined && subject.userId === grant.userId;
  if ("cap" in grant) return subject.capabilities?.includes(grant.cap) === true;
  if ("tool" in grant) return subject.tool !== undefined && subject.tool === grant.tool;
  return subject.workflow !== undefined && subject.workflow === grant.workflow;
}

function describe(grant: SecretGrant): string {
  const [[kind, name] = ["", ""]] = Object.entries(grant);
  return `${kind}:${name}`;
}

export class SecretGrants {
  readonly #entries: readonly SecretEntry[];
  readonly #fetch: FetchSecret;
  readonly #audit: Audit | undefined;
  readonly #names = new WeakMap<Driver, readonly string[]>();

  /** Secrets that contracts require themselves, by contract id. */
  readonly #required: Map<string, readonly string[]>;

  /** The `requires.secrets` of `contracts` are enforced. */
  constructor(
    entries: readonly SecretEntry[],
    fetch: FetchSecret,
    audit?: Audit,
    contracts: readonly Pick<Contract, "id" | "requires">[] = [],
  ) {
    this.#entries = entries;
    this.#fetch = fetch;
    this.#audit = audit;
    this.#required = new Map(contracts.map(({ id, requires }) => [id, requires.secrets] as const));
  }

  /** Enforces the `requires.secrets` of one more contract. */
  require({ id, requires }: Pick<Contract, "id" | "requires">): void {
    this.#required.set(id, requires.secrets);
  }

  /**
   * Finds an entry by its slug, by a name that it binds, or by the name that follows from its slug. Contracts may write the slash of
   * a slug as a dot. Entries of other drivers do not count.
   */
  find(name: string, driver?: Pick<Driver, "id">): SecretEntry | undefined {
    const entries = this.#entries.filter(
      (entry) => entry.driver === undefined || entry.driver === driver?.id,
    );
    const bySlug = (wanted: string): SecretEntry | undefined => entries.find(({ slug }) => slug === wanted);
    return findSecret(entries, name) ?? bySlug(name) ?? bySlug(name.replace(".", "/"));
  }

  /** Why `find` found no entry. An entry is not valid if its file has errors, or if two drivers list its name. */
  noEntry(name: string, driver?: Pick<Driver, "id">): string {
    const none = `no SECRETS.md has a valid entry for ${name} (slug: ${slugOfEnv(name)})`;
    const other = driver && this.otherOwner(name, driver);
    if (driver === undefined || other === undefined) return none;
    return `${none} for the driver ${driver.id}. The entry in the SECRETS.md of the driver ${other} applies to ${other} only; to share the secret, move the entry to .secrets/SECRETS.md`;
  }

  /** The other driver whose SECRETS.md has the entry. */
  otherOwner(name: string, driver: Pick<Driver, "id">): string | undefined {
    const owner = findSecret(this.#entries, name)?.driver;
    return owner === driver.id ? undefined : owner;
  }

  /** Names that the config of a driver's server references. */
  namesOf(driver: Driver): readonly string[] {
    let names = this.#names.get(driver);
    if (names === undefined) this.#names.set(driver, (names = secretNames(driver)));
    return names;
  }

  /**
   * The secrets of the driver's server, and the ones that the contract itself requires. Those of a packaged driver are settings of
   * its server, which a person gave when the package was added.
   */
  #neededBy(driver: Driver, tool: string): readonly string[] {
    if (driver.packaged !== undefined) return [];
    const [own, required = []] = [this.namesOf(driver), this.#required.get(tool)];
    return required.length === 0 ? own : [...own, ...required];
  }

  /** Rejects when a secret that the contract requires has no value; undefined when it requires none. */
  requireValues(driver: Driver, tool: string): Promise<void> | undefined {
    const required = driver.packaged === undefined ? (this.#required.get(tool) ?? []) : [];
    return required.length === 0 ? undefined : this.#requireValues(driver, required);
  }

  async #requireValues(driver: Driver, names: readonly string[]): Promise<void> {
    for (const name of names) {
      const entry = this.find(name, driver);
      if (entry !== undefined && (await this.#fetch(entry, name)) === undefined)
        throw missing(entry, driver.id);
    }
  }

  /** Throws unless the contract may use every secret of the driver. Fetches no value. */
  requireBind(driver: Driver, tool: string, context: CallContext): void {
    for (const name of this.#neededBy(driver, tool)) this.#requireBind(name, { ...context, tool }, driver);
  }

  /** Why the contract may not use every secret of the driver. Not audited, since it is no attempt. */
  denial(
    driver: Driver,
    tool: string,
    context: CallContext,
  ): { readonly reason: string; readonly code: "unauthorised" } | undefined {
    for (const name of this.#neededBy(driver, tool)) {
      const { entry, access } = this.#access(name, "bind", { ...context, tool }, driver);
      const slug = entry?.slug ?? slugOfEnv(name);
      if (!access.granted)
        return { reason: `the secret ${slug} is not granted: ${access.reason}`, code: "unauthorised" };
    }
    return undefined;
  }

  /** Values for the start of the driver's server. All grants are checked before the first value is fetched. */
  async bind(driver: Driver, tool: string, context: CallContext): Promise<ReadonlyMap<string, string>> {
    const subject = { ...context, tool };
    const granted = this.namesOf(driver).map(
      (name) => [name, this.#requireBind(name, subject, driver)] as const,
    );
    const values = new Map<string, string>();
    for (const [name, { entry, by }] of granted) {
      const value = await this.#fetch(entry, name);
      if (value === undefined) throw missing(entry, driver.id);
      this.#record("secret.reveal", entry.slug, subject, { driver: driver.id, granted_by: by });
      values.set(name, value);
    }
    return values;
  }

  /** The value of one secret for a subject. */
  async reveal(name: string, subject: SecretSubject): Promise<string> {
    const { entry, access } = this.#access(name, "reveal", subject, undefined);
    if (entry === undefined || !access.granted)
      throw denied(entry?.slug ?? slugOfEnv(name), "reveal", subject, access.granted ? "" : access.reason);
    const value = await this.#fetch(entry, name);
    if (value === undefined) throw missing(entry, undefined);
    return value;
  }

  #requireBind(
    name: string,
    subject: SecretSubject,
    driver: Driver,
  ): { readonly entry: SecretEntry; readonly by: string } {
    const { entry, access } = this.#access(name, "bind", subject, driver);
    if (entry !== undefined && access.granted) return { entry, by: access.grantedBy };
    const reason = access.granted ? "" : access.reason;
    const slug = entry?.slug ?? slugOfEnv(name);
    this.#record("secret.reveal.denied", slug, subject, { reason, driver: driver.id });
    throw denied(slug, "bind", subject, reason);
  }

  #access(
    name: string,
    operation: "bind" | "reveal",
    subject: SecretSubject,
    driver: Driver | undefined,
  ): { readonly entry: SecretEntry | undefined; readonly access: Access } {
    const entry = this.find(name, driver);
    const access: Access =
      entry === undefined
        ? { granted: false, reason: this.noEntry(name, driver) }
        : checkAccess(entry, operation, subject);
    return { entry, access };
  }

  #record(
    type: "secret.reveal" | "secret.reveal.denied",
    slug: string,
    { tool, userId }: SecretSubject,
    more: { readonly driver: string; readonly granted_by?: string; readonly reason?: string },
  ): void {
    this.#audit?.({
      type,
      slug,
      operation: "bind",
      tool,
      user: userId,
      ...more,
      ts: new Date().toISOString(),
    });
  }
}

/** Names that the environment, arguments, headers and URL of a server reference as `${secrets.NAME}`. */
export function secretNames({ endpoint, packaged }: Driver): readonly string[] {
  // Settings of a package are not secrets of single users.
  if (packaged !== undefined) return [];
  const program = endpoint.transport === "stdio" ? endpoint : endpoint.program;
  const texts = [...Object.values(program?.env ?? {}), ...(program?.args ?? [])];
  if (endpoint.transport !== "stdio") {
    const { clientId = "", clientSecret = "", clientKey } = endpoint.auth ?? {};
    texts.push(...Object.values(endpoint.headers ?? {}), endpoint.url);
    texts.push(clientId, clientSecret, clientKey?.pem ?? "");
  }
  const names = new Set<string>();
  for (const text of texts)
    if (text.includes("${"))
      for (const part of parseReferences(text).parts) if (part.kind === "secret") names.add(part.name);
  return [...names];
}

function denied(slug: string, operation: string, { tool }: SecretSubject, reason: string): Failure {
  const grant =
    tool === undefined ? "" : ` Grant it in SECRETS.md: access: { ${operation}: [{ tool: ${tool} }] }.`;
  return fail("unauthorised", `The secret ${slug} is not granted: ${reason}.${grant}`, {
    retryable: false,
  });
}

/** Not a `Failure`, because it passes through the supervision of the server, which looks up the value again later. */
function missing({ slug, name }: SecretEntry, driver: string | undefined): PortolanError {
  const { message, hint } = missingSecrets([{ name: envOfSlug(slug) ?? slug, places: [name] }]);
  return new PortolanError("SECRET_MISSING", message, { server: driver, hint });
}
