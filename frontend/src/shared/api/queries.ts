/**
 * Reads kept by TanStack Query under their address: ["/clusters/{cluster}/topics/", params, query].
 *
 *     const topics = useGet("/clusters/{cluster}/topics/", { params: { cluster }, query });
 *     await refresh(client, "/clusters/{cluster}/topics/");       after a write: whatever began with that path
 */
import {
  keepPreviousData,
  QueryClient,
  queryOptions,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { type Answer, type Arguments, get, type PathOf, type Request } from "./client";
import { asProblem, type ProblemError } from "./problem";

type Asked<P extends string> = Omit<Request<P, "get">, "signal" | "body" | "idempotencyKey">;
type AskedArguments<P extends string> =
  Partial<Asked<P>> extends Asked<P> ? [asked?: Asked<P>] : [asked: Asked<P>];

export interface ReadOptions {
  /** False: not asked yet. */
  enabled?: boolean;
  /** How often it is asked again; live channels make that needless (shared/live). */
  refetchInterval?: number | false;
  /** Shows the last page until the next one is there. */
  keepPrevious?: boolean;
  staleTime?: number;
}

const TRIES = 2;

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: shouldRetry, staleTime: 5_000, refetchOnWindowFocus: true, throwOnError: false },
      mutations: { retry: false },
    },
  });
}

/** Only what may be different the next time: no answer, or a broker that did not answer. */
export function shouldRetry(count: number, error: unknown): boolean {
  const { status } = asProblem(error);
  return count < TRIES && (status === 0 || status === 502 || status === 503 || status === 504);
}

export function keyOf<P extends PathOf<"get">>(path: P, ...[asked]: AskedArguments<P>) {
  return [path, asked?.params ?? {}, plain(asked?.query ?? {})] as const;
}

export function read<P extends PathOf<"get">>(path: P, ...asked: AskedArguments<P>) {
  return queryOptions<Answer<P>, ProblemError>({
    queryKey: keyOf(path, ...asked),
    queryFn: async ({ signal }) => {
      const request = [{ ...asked[0], signal }] as unknown as Arguments<P, "get">;
      return get(path, ...request);
    },
  });
}

export function useGet<P extends PathOf<"get">>(
  path: P,
  asked: Asked<P>,
  options: ReadOptions = {},
): UseQueryResult<Answer<P>, ProblemError> {
  const { keepPrevious, ...rest } = options;
  const args = [asked] as unknown as AskedArguments<P>;
  return useQuery({
    ...read(path, ...args),
    ...rest,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

/** Everything that was read from these paths is read anew where it is shown. */
export async function refresh(client: QueryClient, ...paths: PathOf<"get">[]) {
  await Promise.all(paths.map((path) => client.invalidateQueries({ queryKey: [path] })));
}

/** Without what is not asked for: two ways to ask for the same are one key. */
function plain(query: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== null),
  );
}
