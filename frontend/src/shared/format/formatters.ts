/** Intl's formatters, made once for each locale and options: making one costs as much as hundreds of uses. */
const numbers = new Map<string, Intl.NumberFormat>();
const times = new Map<string, Intl.DateTimeFormat>();

export function numberFormat(locale: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  return kept(numbers, locale, options, () => new Intl.NumberFormat(locale, options));
}

export function timeFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return kept(times, locale, options, () => new Intl.DateTimeFormat(locale, options));
}

function kept<T>(all: Map<string, T>, locale: string, options: object, make: () => T): T {
  const key = locale + JSON.stringify(options);
  const known = all.get(key) ?? make();
  all.set(key, known);
  return known;
}
