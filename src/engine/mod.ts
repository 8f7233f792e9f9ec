// The door of this room: other rooms import this file only.
export { createGateway } from "./gateway.ts";
export { abandonHome } from "./leaving.ts";
export { homeInUse, openGateway } from "./open_gateway.ts";
export { watchPossession } from "./possession.ts";
