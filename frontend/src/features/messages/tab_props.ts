/** What every tab of the message screen is given. */
import type { SearchState } from "@/shared/url/use_search";
import type { MessagesSearch } from "./find";

export interface TabProps {
  cluster: string;
  search: MessagesSearch;
  setSearch: SearchState<MessagesSearch>["setSearch"];
}
