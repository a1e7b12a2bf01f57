// Origin of a package: who signed it, as the check of its provenance reports it.

export interface Proof {
  readonly kind: "npm-provenance" | "npm-signature" | "mcpb-signature";
  readonly signer: string;
}

export type OriginCheck =
  | { readonly state: "verified"; readonly proofs: readonly Proof[] }
  | { readonly state: "unsigned" }
  | { readonly state: "invalid"; readonly reason: string };
