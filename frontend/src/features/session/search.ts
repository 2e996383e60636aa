/** Where somebody wanted to go before they were asked to sign in. */
import { searchShape, text } from "@/shared/url/search";

export const signInSearch = searchShape({ next: text() });

/** Only addresses of this page: nobody is led elsewhere by a link. */
export function safeNext(next: string): string {
  return /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in") ? next : "/";
}
