/**
 * What went wrong, as one type: the API's problem+json (docs/rest.md), and what never became an answer.
 * `code` is for programs, `detail` for people; `errors` name the fields of a form.
 */
export interface FieldError {
  field: string | null;
  code: string;
  detail: string;
}

export interface ProblemBody {
  status: number;
  code: string;
  detail: string;
  errors?: FieldError[];
  [extra: string]: unknown;
}

/** Codes of our own: no answer came. Status 0 says that nobody knows what happened there. */
export const TIMEOUT = "timeout";
export const OFFLINE = "offline";

export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors: FieldError[];
  readonly extra: Record<string, unknown>;
  readonly retryAfterS: number | null;

  constructor(body: ProblemBody, retryAfterS: number | null = null) {
    super(body.detail);
    this.name = "ProblemError";
    const { status, code, detail, errors, ...extra } = body;
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = errors ?? [];
    this.extra = extra;
    this.retryAfterS = retryAfterS;
  }

  /** What is wrong with that field of the request, if anything. */
  of(field: string): string | undefined {
    return this.errors.find((error) => error.field === field)?.detail;
  }
}

export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ProblemError({ status: 0, code: "page", detail });
}

/** Reads an answer that is not fine; proxies answer in HTML, and that is not shown to anybody. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const wait = Number(response.headers.get("Retry-After"));
  const retryAfterS = Number.isFinite(wait) && wait > 0 ? wait : null;
  try {
    const body = (await response.json()) as Partial<ProblemBody>;
    // A send that was refused is answered with what became of it, which has no code.
    if (typeof body.detail === "string") {
      const said = { code: "http", ...body, status: response.status } as ProblemBody;
      return new ProblemError(said, retryAfterS);
    }
  } catch {
    // Not JSON: said below in our own words.
  }
  return new ProblemError(
    { status: response.status, code: "http", detail: response.statusText },
    retryAfterS,
  );
}
