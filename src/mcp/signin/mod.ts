// What other files of this room, and its own door, need of signing in to remote servers.
export { type Authorizer, canSignIn, createAuthorizer, signInNeeded } from "./authorizer.ts";
export type { DeviceCode } from "./device.ts";
export { type Revoked, signOut } from "./revoke.ts";
export { keyOf, signIn, signInByDevice } from "./sign_in.ts";
export { openTokenFile, type TokenFile } from "./token_file.ts";
