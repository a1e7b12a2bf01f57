// Public exports of the oauth room. oauth4webapi loads with the first login.

export type { LoginPage, OpenLoginPage } from "./login/login-page.ts";
export type { DeviceCode, ShowDeviceCode } from "./grants/device-code.ts";
export type { AuthHeaders, AuthorizedRequest, OnSecrets, Refusal, RequestAuth } from "./request-auth.ts";
export { ExchangedLogin, type ExchangedLoginOptions } from "./exchanged-login.ts";
export { ServerLogin, type ServerLoginOptions } from "./server-login.ts";
export { type RegisteredClients, signIn, type SignInOptions } from "./sign-in.ts";
export { createLoopbackPage, type LoopbackPageOptions } from "./login/loopback-page.ts";
export type { FileStore } from "./store/file-store.ts";
export { createLoginStore, type LoginStoreOptions } from "./store/login-store.ts";
export {
  createMemoryStore,
  type Credential,
  type CredentialChange,
  type CredentialKey,
  type CredentialStore,
} from "./store/credential.ts";
