/** What every tab of a group's dead letters is given. */
import type { SearchOf } from "@/shared/url/search";
import type { SearchState } from "@/shared/url/use_search";
import type { deadLetterGroupSearch } from "./search";

export type GroupSearch = SearchOf<typeof deadLetterGroupSearch>;

export interface TabProps {
  cluster: string;
  group: string;
  search: GroupSearch;
  setSearch: SearchState<GroupSearch>["setSearch"];
  /** Offset ids; none: all of them. */
  onRedrive: (selection: readonly string[]) => void;
}
