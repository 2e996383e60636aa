/** A screen's state in the address: read by its shape, written by what changes. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Search, SearchOf, SearchShape, Shape } from "./search";

export interface SearchState<T> {
  search: T;
  /** What changes. Going to another page keeps the rest; changing a filter begins at page one. */
  setSearch: (changes: Partial<T>, options?: { replace?: boolean }) => void;
}

export function useSearchState<S extends Shape>(
  shape: SearchShape<S>,
): SearchState<SearchOf<SearchShape<S>>> {
  const raw: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const search = useMemo(() => shape.full(raw as Search<S>), [shape, raw]);
  const setSearch = useCallback(
    (changes: Record<string, unknown>, options: { replace?: boolean } = {}) => {
      const restart = "page" in changes || !("page" in shape.shape) ? {} : { page: undefined };
      void navigate({
        to: ".",
        search: (before: object) => shape({ ...before, ...restart, ...changes } as never) as never,
        replace: options.replace ?? true,
      });
    },
    [navigate, shape],
  );
  return { search, setSearch } as SearchState<SearchOf<SearchShape<S>>>;
}
