// Reads an untrusted project's file on a thread of its own.
import { tighteningIn } from "./tighten.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<string>) => void;
  postMessage(value: unknown): void;
};

scope.onmessage = ({ data }) => scope.postMessage(tighteningIn(data));
