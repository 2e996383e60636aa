/** The state of the documents screen in its address. */
import { oneOf, searchShape, text } from "@/shared/url/search";

export const documentsSearch = searchShape({ tab: oneOf(["documents", "plan"], "documents"), name: text() });
